"""Find, read and clean the files to index."""
