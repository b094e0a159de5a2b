"""What is served beside questions: documents, the class tree, building, the database, health."""
