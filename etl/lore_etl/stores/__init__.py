"""What an index keeps: chunks, catalogue, keywords, vectors."""
