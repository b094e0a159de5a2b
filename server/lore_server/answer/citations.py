"""Describe the citations of an answer: passages with their place, state and date, and definitions in code."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lore_etl.core.model import Chunk
from lore_etl.core.text import last_part
from lore_etl.sources.source import origin_of_file
from lore_server.query.outdated import outdated
from lore_server.query.query_service import SearchOutcome

if TYPE_CHECKING:
    from lore_server.replies.records import CitationRecord, ReferenceRecord

MAX_QUOTE = 2_000  # characters


def passage_citation(number: int, chunk: Chunk, today: datetime.date) -> CitationRecord:
    """Return the citation of a passage with its whole text, or the first lines that are not too long."""
    text, lines = chunk.text, chunk.lines
    if len(text) > MAX_QUOTE:
        text = text[:MAX_QUOTE].rpartition("\n")[0] or text[:MAX_QUOTE]
        lines = (lines[0], lines[0] + text.count("\n"))
    cited: CitationRecord = {
        "n": number,
        "id": chunk.id,
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "heading": " > ".join(chunk.heading),
        "lines": list(lines),
        "quote": text,
    }
    if chunk.state:
        cited["state"] = chunk.state
    if chunk.library:
        cited["library"] = chunk.library
    if chunk.day:
        cited["date"] = chunk.day
    if warning := outdated(chunk, today):
        cited["outdated"] = warning
    return cited


def definition_citation(
    number: int, name: str, span: tuple[int, int], chunks: Sequence[Chunk], lines: Sequence[str]
) -> CitationRecord:
    """Return the citation of the line that defines a class or member, in a file given by its chunks and lines."""
    first, last = span
    line = next((n for n in range(first, min(last, len(lines)) + 1) if last_part(name) in lines[n - 1]), first)
    holder = next((chunk for chunk in chunks if chunk.lines[0] <= line <= chunk.lines[1]), chunks[0])
    return {
        "n": number,
        "id": holder.id,
        "source": holder.source,
        "origin": origin_of_file(holder.source),
        "type": holder.type.value,
        "heading": name,
        "lines": [line, line],
        "quote": lines[line - 1][:MAX_QUOTE],
    }


def marked(citation: CitationRecord, is_changed: bool, is_brief: bool) -> CitationRecord:
    """Return a citation marked if its file has changed, without its quote if the reply must be brief."""
    shown: CitationRecord = {**citation, "quote": "" if is_brief else citation["quote"]}
    if is_changed:
        shown["changed"] = True
    return shown


def reference(found: SearchOutcome, position: int) -> ReferenceRecord:
    ranked = found.ranked[position]
    record: ReferenceRecord = {
        "source": ranked.chunk.source,
        "origin": origin_of_file(ranked.chunk.source),
        "type": ranked.chunk.type.value,
        "title": ranked.chunk.title,
        "lines": list(ranked.chunk.lines),
        "score": round(ranked.score, 3),
    }
    if warning := outdated(ranked.chunk, found.today):
        record["outdated"] = warning
    return record
