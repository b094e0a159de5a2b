"""Describe the citations of an answer: passages with their place, state and date, and definitions in code."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore_etl.core.model import Chunk
from lore_etl.core.text import last_part
from lore_etl.sources.source import origin_of_file
from lore_server.query.outdated import outdated
from lore_server.query.ranking import Ranked
from lore_server.replies.paging import with_fields

if TYPE_CHECKING:
    from lore_server.replies.records import CitationRecord, ReferenceRecord

MAX_QUOTE = 2_000  # characters


def passage_citation(number: int, chunk: Chunk, today: datetime.date) -> CitationRecord:
    """Return the citation of a passage with its whole text, or the first lines that are not too long."""
    text, lines = chunk.text, chunk.lines
    if len(text) > MAX_QUOTE:
        text = text[:MAX_QUOTE].rpartition("\n")[0] or text[:MAX_QUOTE]
        lines = (lines[0], lines[0] + text.count("\n"))
    facts = {"state": chunk.state, "library": chunk.library, "date": chunk.day, "outdated": outdated(chunk, today)}
    return with_fields(_citation(number, chunk, " > ".join(chunk.heading), lines, text), **facts)


def definition_citation(
    number: int, name: str, span: tuple[int, int], chunks: Sequence[Chunk], lines: Sequence[str]
) -> CitationRecord:
    """Return the citation of the line that defines a class or member, in a file given by its chunks and lines."""
    first, last = span
    line = next((n for n in range(first, min(last, len(lines)) + 1) if last_part(name) in lines[n - 1]), first)
    holder = next((chunk for chunk in chunks if chunk.lines[0] <= line <= chunk.lines[1]), chunks[0])
    return _citation(number, holder, name, (line, line), lines[line - 1][:MAX_QUOTE])


def _citation(number: int, chunk: Chunk, heading: str, lines: tuple[int, int], quote: str) -> CitationRecord:
    return {
        "n": number,
        "id": chunk.id,
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "heading": heading,
        "lines": list(lines),
        "quote": quote,
    }


def reference(ranked: Ranked, today: datetime.date) -> ReferenceRecord:
    chunk = ranked.chunk
    record: ReferenceRecord = {
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "title": chunk.title,
        "lines": list(chunk.lines),
        "score": round(ranked.score, 3),
    }
    return with_fields(record, outdated=outdated(chunk, today))
