"""Build the text that is embedded for a chunk. Increase RECIPE_VERSION with every change in this module."""

from __future__ import annotations

from lore_etl.core.model import Chunk

RECIPE_VERSION = "2"
HEADER_BYTES = 160  # about 40 tokens; no script takes more than one token per byte, so most of the 256 remain


def embedding_input(chunk: Chunk) -> str:
    """Return the chunk's header and its passage."""
    return below_header(chunk.text, chunk.source, chunk.title, chunk.heading)


def below_header(text: str, source: str, title: str, heading: tuple[str, ...]) -> str:
    place = header(source, title, heading)
    return f"{place}\n{text}" if place else text


def header(source: str, title: str, heading: tuple[str, ...]) -> str:
    """Return the line before the passage: title and headings, or the path for code, which is more informative.

    nDCG@10 on a JavaScript project (benchmarks/results.md): .630 with the path as written, .599 with its words and the
    names around the passage, .588 with the file's name and those names.
    """
    place = title if title in ("", source) else " > ".join((title, *(step for step in heading if step != title)))
    return place.encode()[:HEADER_BYTES].decode(errors="ignore")
