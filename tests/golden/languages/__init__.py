"""Samples of every language that has a query file, and the outline that is found in each."""
