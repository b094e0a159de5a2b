"""Code shared by all packages: errors, the model of documents and chunks, and text and file utilities."""
