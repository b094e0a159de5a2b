"""Answers: everything that runs while someone asks. Imports `lore_etl`, never the reverse."""

__version__ = "0.1.0"
