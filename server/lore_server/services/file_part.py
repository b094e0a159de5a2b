"""A part of a file, put together again from its chunks, with the chunks that begin in it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from lore_etl.core.model import Chunk
from lore_server.replies import budget

if TYPE_CHECKING:
    from lore_server.replies.records import SourceTextChunksRecord, SourceTextRecord

LEAST_TEXT = 20  # characters of the file that are worth a reply
LONGEST = 120  # characters of a title or heading beside the text


def file_part(
    reply: SourceTextRecord, chunks: Sequence[Chunk], start: int, mark: str, max_tokens: int
) -> SourceTextRecord:
    """The reply with the file from the character `start` on: whole lines, unless a single one is too long.

    Raises:
        InvalidArgument: the budget is too small for the next line's beginning and the chunks that begin there.
    """
    lines = whole_lines(chunks)
    text, begins = "\n".join(lines), list(accumulate((len(line) + 1 for line in lines), initial=0))
    for title, heading in ((LONGEST, LONGEST), (budget.SHORT, budget.SHORT)):
        reply["title"], reply["lines"] = budget.clipped(reply["title"], title), [len(lines)] * 2
        marks = _marks(chunks, begins, heading)
        left = budget.room(max_tokens, reply)
        missing = sum(cost for at, cost, _ in marks if at == start) + 2 * min(LEAST_TEXT, len(text) - start) - left
        if missing <= 0:
            break
    budget.check(missing, "The next line", max_tokens)
    end = _end(text, start, marks, left)
    reply["lines"] = [_line(begins, start), _line(begins, max(start, end - 1))]
    reply["text"] = text[start:end]
    reply["chunks"] = [record for at, _, record in marks if start <= at < end]
    if end < len(text):
        reply["truncated"] = budget.rest(len(text) - end, "characters", max_tokens)
        reply["next_cursor"] = budget.cursor(mark, end)
    return reply


def whole_lines(chunks: Sequence[Chunk]) -> list[str]:
    """The lines of a file from its chunks; what no chunk holds was blank. A cut line is put together again."""
    lines = [""] * max(one.lines[1] for one in chunks)
    for one in chunks:
        if one.columns is not None:
            lines[one.lines[0] - 1] += one.text
        else:
            lines[one.lines[0] - 1 : one.lines[1]] = one.text.split("\n")
    return lines


def _marks(
    chunks: Sequence[Chunk], begins: Sequence[int], heading: int
) -> list[tuple[int, int, SourceTextChunksRecord]]:
    """Where each chunk begins in the text, what its record takes, and the record; in the order of the text."""
    marks = []
    for one in chunks:
        record: SourceTextChunksRecord = {
            "id": one.id,
            "kind": one.kind,
            "heading": budget.clipped(" > ".join(one.heading), heading),
            "lines": list(one.lines),
        }
        at = begins[one.lines[0] - 1] + (one.columns[0] if one.columns else 0)
        marks.append((at, budget.size(record) + 2, record))
    return sorted(marks, key=lambda mark: mark[0])


def _end(text: str, start: int, marks: Sequence[tuple[int, int, SourceTextChunksRecord]], left: int) -> int:
    """Up to where the text from `start` fits beside the chunks that begin in it, at a line's end if there is one."""
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
    """The number of the line that the character belongs to."""
    return max(1, bisect_left(begins, at + 1))
