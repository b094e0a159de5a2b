"""Which files belong to the index."""
