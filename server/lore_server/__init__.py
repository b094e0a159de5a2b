"""Serve the index: queries, answers, and all interfaces. Imports `lore_etl`, never the reverse."""

__version__ = "0.1.0"
