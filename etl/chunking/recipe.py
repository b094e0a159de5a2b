"""The input recipe: what the model reads of a chunk. Raise RECIPE_VERSION with any change here."""

from __future__ import annotations

from etl.model import Chunk

RECIPE_VERSION = "1"
HEADER_BYTES = 160  # some 40 tokens, and no script takes more than one a byte: most of 256 is for the passage


def embedding_input(chunk: Chunk) -> str:
    """Where the passage stands, then the passage."""
    return f"{header(chunk.source, chunk.title, chunk.heading)}\n{chunk.text}"


def header(source: str, title: str, heading: tuple[str, ...]) -> str:
    """The line before the passage: the title, or for code the path, and the headings above it."""
    name = title if title != source else source.replace("/", " ").rsplit(".", 1)[0]
    steps = [name, *(step for step in heading if step != name)]
    return " > ".join(steps).encode()[:HEADER_BYTES].decode(errors="ignore")
