"""From a question to ranked passages: parse, retrieve, fuse, score, group, excerpt. Values in, values out."""
