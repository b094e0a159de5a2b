"""Builds the index: extract, transform, load. Never imports `server`."""
