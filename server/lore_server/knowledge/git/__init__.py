"""The git history of the knowledge store."""
