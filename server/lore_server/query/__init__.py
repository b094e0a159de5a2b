"""From a query to ranked passages: parse, retrieve, fuse, score, group. Values in, values out."""
