"""Shared by everything: errors, the model of documents and chunks, safe file access."""
