"""Build the text that is embedded for a chunk. Increase RECIPE_VERSION with every change in this module."""

from lore_etl.core.model import Chunk

RECIPE_VERSION = "2"
HEADER_BYTES = 160  # about 40 tokens; no script takes more than one token per byte, so most of the 256 remain


def embedding_input(chunk: Chunk) -> str:
    return below_header(chunk.text, chunk.source, chunk.title, chunk.heading)


def below_header(text: str, source: str, title: str, heading: tuple[str, ...]) -> str:
    place = header(source, title, heading)
    return f"{place}\n{text}" if place else text


def header(source: str, title: str, heading: tuple[str, ...]) -> str:
    """Return the line before the passage: title and headings, or for code the path.

    nDCG@10 on JavaScript (benchmarks/results.md): path .630, its words and names around .599, file name and names .588.
    """
    place = title if title in ("", source) else " > ".join((title, *(step for step in heading if step != title)))
    return place.encode()[:HEADER_BYTES].decode(errors="ignore")
