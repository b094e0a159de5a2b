"""The git history of the knowledge folder."""
