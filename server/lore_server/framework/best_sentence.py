"""Find the sentence of a document that best matches a query."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from lore_etl.core.model import Chunk
from lore_server.answer.pack import Passage
from lore_server.answer.sentences import sentences
from lore_server.query.proximity import stems_of

LONGEST = 200  # characters


def best_sentence(wanted: frozenset[str], chunks: Iterable[Chunk]) -> str:
    """Return the piece with the most wanted stems, the first of equals; at most 200 characters, cut between words."""
    best, best_count = "", -1
    for piece in _pieces(chunks):
        count = len(wanted & stems_of(piece))
        if count > best_count:
            best, best_count = piece, count
    return best


def _pieces(chunks: Iterable[Chunk]) -> Iterator[str]:
    """Yield sentences, or the lines of a text without any. Long ones are split, with `…` at each cut."""
    for chunk in chunks:
        texts = [sentence.text for sentence in sentences(Passage(1, chunk), len(chunk.text))]
        for text in texts or filter(None, map(str.strip, chunk.text.split("\n"))):
            parts = [text] if len(text) <= LONGEST else textwrap.wrap(text, LONGEST - 2)
            for number, part in enumerate(parts):
                yield ("…" if number else "") + part + ("…" if number + 1 < len(parts) else "")
