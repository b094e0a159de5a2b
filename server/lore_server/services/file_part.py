"""Assemble a part of a file from its chunks, and list the chunks that begin in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.model import Chunk
from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import SourceTextChunksRecord, SourceTextRecord

MIN_TEXT = 20  # the minimum number of characters of the file in a reply
_PLACE = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
LONGEST = 120  # the maximum length of a title or heading, in characters


class LineRange(NamedTuple):
    """The requested lines of a file, from 1; without a last line, those to the end."""

    first: int = 1
    last: int | None = None


def place_of(text: str) -> tuple[str, LineRange | None]:
    """Return the path and the lines of a place such as `src/a.py:10-40`, as results name it."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return text, None
    first = max(1, int(found["first"]))
    return found["path"], LineRange(first, max(first, int(found["last"] or first)))


def file_part(
    reply: SourceTextRecord,
    chunks: Sequence[Chunk],
    lines: Sequence[str],
    asked: LineRange,
    at: int,
    mark: str,
    max_tokens: int,
) -> SourceTextRecord:
    """Return the reply with the text from `at` on, cut after a line if possible. Raises InvalidArgument."""
    if not asked.first <= (asked.last or len(lines)) or asked.first > len(lines):
        raise InvalidArgument("There are no such lines.", f"The file has {len(lines):,} lines; start counts from 1.")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text, start = "\n".join(lines[: asked.last]), max(at, begins[asked.first - 1])
    for longest in (LONGEST, budget.SHORT):
        reply["title"], reply["lines"] = budget.clipped(reply["title"], longest), [len(lines)] * 2
        marks = [mark for mark in _marks(chunks, begins, longest) if mark[0] < len(text)]
        left = budget.room(max_tokens, reply)
        missing = sum(cost for at, cost, _ in marks if at == start) + 2 * min(MIN_TEXT, len(text) - start) - left
        if missing <= 0:
            break
    budget.check(missing, "The next line", max_tokens)
    end = _end(text, start, marks, left)
    reply["lines"] = [_line(begins, start), _line(begins, max(start, end - 1))]
    reply["text"] = text[start:end]
    reply["chunks"] = [record for at, _, record in marks if start <= at < end]
    if end < len(text):
        reply["truncated"] = budget.rest(len(text) - end, "characters")
        reply["next_cursor"] = budget.cursor(mark, end)
    return reply


def _marks(
    chunks: Sequence[Chunk], begins: Sequence[int], heading: int
) -> list[tuple[int, int, SourceTextChunksRecord]]:
    """Return where each chunk begins in the text, the size of its record, and the record, in text order."""
    marks = []
    for chunk in chunks:
        record: SourceTextChunksRecord = {
            "id": chunk.id,
            "kind": chunk.kind,
            "heading": budget.clipped(" > ".join(chunk.heading), heading),
            "lines": list(chunk.lines),
        }
        at = begins[chunk.lines[0] - 1] + (chunk.columns[0] if chunk.columns else 0)
        marks.append((at, budget.size(record) + 2, record))
    return sorted(marks, key=lambda mark: mark[0])


def _end(text: str, start: int, marks: Sequence[tuple[int, int, SourceTextChunksRecord]], left: int) -> int:
    """Return the offset up to which the text and the records of its chunks fit; the end of a line if possible."""
    end, at, spent = start, bisect_left(marks, start, key=lambda mark: mark[0]), 0
    while True:
        border = marks[at][0] if at < len(marks) else len(text)
        reach = end + len(budget.prefix(text[end:border], left - spent))
        spent += budget.size(text[end:reach]) - 2
        end = reach
        if end < border or at == len(marks) or spent + marks[at][1] >= left:
            break
        spent += marks[at][1]
        at += 1
    if end == len(text) and at == len(marks):
        return end
    line_end = text.rfind("\n", start, end) + 1
    return line_end if line_end else end


def _line(begins: Sequence[int], at: int) -> int:
    return max(1, bisect_left(begins, at + 1))
