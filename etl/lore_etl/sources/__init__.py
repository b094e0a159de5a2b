"""The sources of a project: which files belong to it, and as what."""
