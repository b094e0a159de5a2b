"""Sync: extract, resolve, diff, load, embed."""
