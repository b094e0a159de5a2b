"""Fit sections to the model's input: merge crumbs with their neighbours, split what is too long at line ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from etl.chunking.recipe import header
from etl.chunking.section import Section, trimmed
from etl.chunking.tokens import TokenCounter
from etl.model import Document

CRUMB_TOKENS = 24  # a smaller piece says too little to be found by itself
Piece = tuple[Section, tuple[int, int] | None]


def fit(sections: list[Section], document: Document, tokens: TokenCounter) -> Iterator[Piece]:
    """Pieces that the model can read whole: sections, with a column range where a single line had to be cut."""
    lines = document.lines
    costs = tokens.by_line(lines)
    budget = _Budget(document, tokens, costs)
    for section in _merged(sections, budget):
        room = budget.room(section)
        if budget.cost(section) <= room:
            yield section, None
        else:
            yield from _split(section, lines, costs, room, tokens)


class _Budget:
    """How many tokens a section takes, and how many it may take behind its header."""

    def __init__(self, document: Document, tokens: TokenCounter, costs: list[int]) -> None:
        self._document, self._tokens, self._costs = document, tokens, costs
        self._headers: dict[tuple[str, ...], int] = {}

    def cost(self, section: Section) -> int:
        return sum(self._costs[section.first - 1 : section.last])

    def room(self, section: Section) -> int:
        if section.heading not in self._headers:
            text = header(self._document.source, self._document.title, section.heading)
            self._headers[section.heading] = self._tokens.count(text)
        return self._tokens.limit - self._headers[section.heading]


def _merged(sections: list[Section], budget: _Budget) -> list[Section]:
    """A crumb joins its neighbour of the same group, below if possible, if both fit together."""
    out: list[Section] = []
    for section in sections:
        above = out[-1] if out else None
        if above and above.group == section.group and _is_crumb(above, section, budget):
            both = _joined(above, section, keep_below=budget.cost(above) < budget.cost(section))
            if budget.cost(both) <= budget.room(both):
                out[-1] = both
                continue
        out.append(section)
    return out


def _is_crumb(above: Section, below: Section, budget: _Budget) -> bool:
    return min(budget.cost(above), budget.cost(below)) < CRUMB_TOKENS


def _joined(above: Section, below: Section, keep_below: bool) -> Section:
    base = below if keep_below else above
    symbols = tuple(dict.fromkeys((*above.symbols, *below.symbols)))
    solid = (*above.solid, *below.solid)
    return replace(base, first=above.first, last=below.last, symbols=symbols, solid=solid)


def _split(section: Section, lines: list[str], costs: list[int], room: int, tokens: TokenCounter) -> Iterator[Piece]:
    first = section.first
    while first <= section.last:
        if costs[first - 1] > room:
            yield from _split_line(section.cut(first, first), lines[first - 1], room, tokens)
            first += 1
            continue
        last = _furthest(first, section.last, costs, room)
        last = _best_end(first, last, section, lines)
        piece = trimmed(section.cut(first, last), lines)
        if piece:
            yield piece, None
        first = last + 1


def _furthest(first: int, last: int, costs: list[int], room: int) -> int:
    """The last line up to which the lines fit; at least the first."""
    used, line = 0, first
    while line <= last and used + costs[line - 1] <= room:
        used += costs[line - 1]
        line += 1
    return max(first, line - 1)


def _best_end(first: int, last: int, section: Section, lines: list[str]) -> int:
    """Where to cut: before a solid range, else at a blank line in the second half, else where it is full."""
    if last >= section.last:
        return section.last
    for start, end in section.solid:
        if first < start <= last < end:
            return start - 1
    inside = [span for span in section.solid if span[0] <= last < span[1]]
    if not inside:
        middle = first + (last - first) // 2
        for line in range(last, middle, -1):
            is_solid = any(start <= line <= end for start, end in section.solid)
            if not lines[line - 1].strip() and not is_solid:
                return line
    return last


def _split_line(section: Section, line: str, room: int, tokens: TokenCounter) -> Iterator[Piece]:
    """Cut one over-long line between words, after a sentence where there is one."""
    offsets = tokens.offsets(line)
    start, index = 0, 0
    while index < len(offsets):
        end_index = min(index + room, len(offsets))
        end = len(line) if end_index == len(offsets) else _word_end(line, start, offsets[end_index][0])
        yield section, (start, end)
        while index < len(offsets) and offsets[index][0] < end:
            index += 1
        start = end


def _word_end(line: str, start: int, limit: int) -> int:
    """The best cut in the last third before `limit`."""
    floor = start + 2 * (limit - start) // 3
    for mark in (". ", "; ", ", ", " "):
        found = line.rfind(mark, floor, limit)
        if found > start:
            return found + len(mark)
    return limit
