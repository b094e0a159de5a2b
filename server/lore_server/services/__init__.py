"""Services behind operations: search, documents, jobs, database, health, projects, knowledge and memories."""
