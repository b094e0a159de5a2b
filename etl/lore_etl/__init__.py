"""Builds the index: extract, transform, load. Never imports `lore_server`."""
