"""Knowledge written by agents: projects, documents and chapters, with their history."""
