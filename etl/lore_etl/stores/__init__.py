"""The stores of an index: chunks, catalogue, keywords, vectors and the embedding cache."""
