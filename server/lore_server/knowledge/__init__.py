"""Knowledge that agents write: projects, documents, chapters, with their history."""
