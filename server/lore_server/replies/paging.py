"""Divide results into pages that contain everything once; of passages, show the lines that match the query best."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, NotRequired, TypedDict, TypeVar, cast

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk
from lore_etl.sources.source import syntax_of
from lore_server.replies import budget
from lore_server.replies.records import SourceTextChunksRecord, SourceTextRecord


class Excerpted(TypedDict):
    """A result with an excerpt of its text."""

    excerpt: str
    cut: NotRequired[bool]


Passage = TypeVar("Passage", bound=Excerpted)
Reply = TypeVar("Reply", bound=Mapping[str, object])
Part = str | list[object]
SMALLEST_EXCERPT = 120
LARGEST_EXCERPT = 1_600
MIN_TEXT = 20  # the minimum number of characters of a text in a page
LONGEST_TITLE = 120  # characters
_WORD = re.compile(r"[^\W_]+")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_PLACE = re.compile(r"(?P<path>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


class Page(NamedTuple):
    """The position of the first result among all, and the mark of the listing that a cursor belongs to."""

    start: int
    total: int
    mark: str


def of_rows(reply: Reply, name: str, rows: Sequence[object], page: Page, max_tokens: int) -> Reply:
    """Return the reply, without rows yet, with as many of the rows as fit. Raises InvalidArgument if none does."""
    taken = budget.some(rows, budget.room(max_tokens, reply), f"The next of the {name}", max_tokens)
    return with_rows(reply, name, taken, page, len(rows) - len(taken))


def of_passages(
    reply: Reply, results: Sequence[Passage], texts: Sequence[str], words: Sequence[str], page: Page, max_tokens: int
) -> Reply:
    """Return the reply with as many results as fit, each with an excerpt. Raises InvalidArgument if none does."""
    shown, left = list(results), budget.room(max_tokens, {**reply, "results": []})
    fitting = fit_results(shown, texts, words, left)
    if shown and not fitting:
        shown = [budget.shortened(row, (*budget.TITLES, "name")) for row in shown[:1]]
        budget.check(budget.size(shown[0]) + 2 - left, "The next of the results", max_tokens)
        fitting = fit_results(shown, texts[:1], words, left)
    return with_rows(reply, "results", shown[:fitting], page, len(results) - fitting)


def with_rows(reply: Reply, name: str, shown: Sequence[object], page: Page, omitted: int) -> Reply:
    """Return the reply with the first rows of a page; `omitted` is the number of its other rows."""
    whole, end = {**reply, name: shown}, page.start + len(shown)
    if omitted:
        whole["truncated"] = budget.rest(omitted, name)
    if end < page.total:
        whole["next_cursor"] = budget.cursor(page.mark, end)
    return cast(Reply, whole)


def with_fields(reply: Reply, **fields: object) -> Reply:
    return cast(Reply, {**reply, **{name: value for name, value in fields.items() if value}})


def of_parts(
    reply: Mapping[str, object], parts: Mapping[str, Part], at: Sequence[int], mark: str, max_tokens: int
) -> JSON:
    """Return the reply with the parts that fit from the cursor's (part, offset) on. Raises InvalidArgument if none."""
    (number, offset), names = at, list(parts)
    reply = {**reply, **{name: part[:0] for name, part in parts.items()}}
    left = budget.room(max_tokens, reply)
    for index, name in enumerate(names[number:], start=number):
        part = parts[name][offset if index == number else 0 :]
        taken = reply[name] = _taken(part, left, name, max_tokens, is_first=index == number)
        left -= budget.size(taken) - 2
        if len(taken) < len(part):
            more = " and more" if any(parts[later] for later in names[index + 1 :]) else ""
            what = ("characters" if isinstance(part, str) else name) + more
            reply["truncated"] = budget.rest(len(part) - len(taken), what)
            reply["next_cursor"] = budget.cursor(mark, index, len(parts[name]) - len(part) + len(taken))
            break
    return reply


def _taken(part: Part, left: int, name: str, max_tokens: int, is_first: bool) -> Part:
    if isinstance(part, str):
        if is_first and part:
            budget.check(min(MIN_TEXT, len(part)) * 2 - left, f"The next of the {name}", max_tokens)
        return budget.fitting_lines(part, left)
    if is_first:
        return budget.some(part, left, f"The next of the {name}", max_tokens)
    return budget.fitting(part, left)


def excerpt(text: str, words: Sequence[str], characters: int) -> str:
    """Return whole lines around the densest matches, at most `characters` long; `…` marks omitted text."""
    if len(text) <= characters:
        return text
    lines = text.split("\n")
    wanted = {word[:5] for word in words}
    hits = [len(wanted & {token.casefold()[:5] for token in _WORD.findall(line)}) for line in lines]
    first = last = max(range(len(lines)), key=lambda n: (hits[n] + 0.5 * sum(hits[n + 1 : n + 3]), -n))
    size = len(lines[first])
    if size > characters:
        return _within_line(lines[first], wanted, characters)
    while True:
        below = last + 1 < len(lines) and size + len(lines[last + 1]) + 1 <= characters - 4
        above = first > 0 and size + len(lines[first - 1]) + 1 <= characters - 4
        if below and (not above or hits[last + 1] >= hits[first - 1]):
            last += 1
            size += len(lines[last]) + 1
        elif above:
            first -= 1
            size += len(lines[first]) + 1
        else:
            break
    return ("…\n" if first else "") + "\n".join(lines[first : last + 1]) + ("\n…" if last + 1 < len(lines) else "")


def _within_line(line: str, wanted: set[str], characters: int) -> str:
    start = next((m.start() for m in _WORD.finditer(line) if m.group().casefold()[:5] in wanted), 0)
    start = max(0, start - characters // 4)
    end = start + characters - 2
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def fit_results(results: Sequence[Passage], texts: Sequence[str], words: Sequence[str], characters: int) -> int:
    """Give each result an excerpt, and `cut` if that is not all; return how many fit into so many characters."""
    left = characters
    for number, (result, text) in enumerate(zip(results, texts, strict=True)):
        before, left = left, left - budget.size({**result, "excerpt": "", "cut": True}) - 2
        if left < (SMALLEST_EXCERPT if number else 0):
            return number
        others = len(results) - number - 1
        # the first results get up to twice an equal share
        share = left if not others else 2 * before // (others + 2) - (before - left)
        room = min(left, LARGEST_EXCERPT, max(SMALLEST_EXCERPT, share))
        result["excerpt"] = fitting_excerpt(text, words, room)
        if result["excerpt"] != text:
            result["cut"] = True
        left -= budget.size(result["excerpt"]) - 2
    return len(results)


def fitting_excerpt(text: str, words: Sequence[str], characters: int) -> str:
    """Return an excerpt of at most `characters` characters as JSON."""
    shown, asked = excerpt(text, words, characters), characters
    while (taken := budget.size(shown)) > characters + 2 and asked > SMALLEST_EXCERPT:
        asked = min(asked * 9 // 10, asked * characters // taken)
        shown = excerpt(text, words, asked)
    return budget.prefix(shown, characters)


def without_gaps(source: str, text: str) -> str:
    """Return text of a file without the lines that the tags of an HTML page left blank."""
    return _BLANK_LINES.sub("\n\n", text).strip("\n") if syntax_of(source) == "html" else text


def whole_lines(chunks: Sequence[Chunk]) -> list[str]:
    """Return the lines of a file from its chunks. Lines without a chunk were blank; split lines are joined."""
    lines = [""] * max((chunk.lines[1] for chunk in chunks), default=0)
    for chunk in chunks:
        if chunk.columns is not None:
            lines[chunk.lines[0] - 1] += chunk.text
        else:
            lines[chunk.lines[0] - 1 : chunk.lines[1]] = chunk.text.split("\n")
    return lines


def place_of(text: str) -> tuple[str, tuple[int, int] | None]:
    """Return the path and the lines of a place such as `src/a.py:10-40`, as results name it."""
    found = _PLACE.fullmatch(text)
    if found is None:
        return text, None
    return found["path"], (max(1, int(found["first"])), max(1, int(found["last"] or found["first"])))


def file_part(
    reply: SourceTextRecord,
    chunks: Sequence[Chunk],
    lines: Sequence[str],
    asked: tuple[int, int | None],  # the first line, from 1, and the last; None is that of the file
    at: int,
    mark: str,
    max_tokens: int,
) -> SourceTextRecord:
    """Return the reply with the text from `at` on, cut after a line if possible. Raises InvalidArgument."""
    (first, last), hint = asked, f"Its lines are 1 to {len(lines):,}."
    if last is not None and last < first:
        raise InvalidArgument(f"Lines {first} to {last} of {reply['source']} end before they begin.", hint)
    if first > len(lines):
        raise InvalidArgument(f"{reply['source']} has no such lines.", hint)
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    text, start = "\n".join(lines[:last]), max(at, begins[first - 1])
    for longest in (LONGEST_TITLE, budget.SHORT):
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
