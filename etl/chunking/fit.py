"""Fit sections to the model's input: merge crumbs with their neighbours, split what is too long at line ends."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from etl.chunking.recipe import header
from etl.chunking.section import Section, Span, trimmed
from etl.chunking.tokens import TokenCounter
from etl.model import Document, KnowledgeType

PROSE_TOKENS = 208  # header and passage: at 256 a passage says too much besides, at 160 too many are cut in two
CODE_TYPES = frozenset({KnowledgeType.SRC, KnowledgeType.EXAMPLE, KnowledgeType.TEST})  # take all the model reads
CRUMB_TOKENS = 24  # a smaller piece says too little to be found by itself
MIN_ROOM = 16  # tokens of a passage, however little a model takes and however long the headings are
BLANK_WEIGHT = 4  # a cut at a blank line is worth one level of indentation
Piece = tuple[Section, Span | None]


def fit(sections: list[Section], document: Document, tokens: TokenCounter) -> Iterator[Piece]:
    """Pieces that the model can read whole: sections, with a column range where a single line had to be cut."""
    budget = _Budget(document, tokens)
    for section in _merged(sections, budget):
        if budget.fits(section):
            yield section, None
        else:
            yield from _split(section, document.lines, budget)


class _Budget:
    """How many tokens lines take, and how many a section may take behind its header."""

    def __init__(self, document: Document, tokens: TokenCounter) -> None:
        self._document, self.tokens = document, tokens
        self._limit = tokens.limit if document.type in CODE_TYPES else min(PROSE_TOKENS, tokens.limit)
        self._totals = [0, *accumulate(tokens.by_line(document.lines))]
        self._headers: dict[tuple[str, ...], int] = {}

    def cost(self, first: int, last: int) -> int:
        return self._totals[last] - self._totals[first - 1]

    def room(self, section: Section) -> int:
        if section.heading not in self._headers:
            text = header(self._document.source, self._document.title, section.heading)
            self._headers[section.heading] = self.tokens.count(text)
        return max(MIN_ROOM, self._limit - self._headers[section.heading])

    def fits(self, section: Section) -> bool:
        return self.cost(section.first, section.last) <= self.room(section)

    def is_crumb(self, section: Section) -> bool:
        return self.cost(section.first, section.last) < CRUMB_TOKENS

    def furthest(self, first: int, room: int) -> int:
        """The last line up to which the lines from `first` on fit."""
        return bisect_right(self._totals, self._totals[first - 1] + room) - 1

    def before_crumb(self, last: int) -> int:
        """The last line behind which more than a crumb is left up to `last`."""
        return bisect_right(self._totals, self._totals[last] - CRUMB_TOKENS) - 1


def _merged(sections: list[Section], budget: _Budget) -> list[Section]:
    """A crumb joins its neighbour below if the two go together and fit, else the one above.

    A crumb that introduces what follows, such as a heading, is never left behind: what is then too long is split.
    """
    upwards: list[Section] = []
    for section in reversed(sections):
        below = upwards[-1] if upwards else None
        if below and budget.is_crumb(section):
            both = _joined(section, below, budget)
            if section.introduces or (_go_together(section, below) and budget.fits(both)):
                upwards[-1] = both
                continue
        upwards.append(section)
    out: list[Section] = []
    for section in reversed(upwards):
        above = out[-1] if out else None
        if above and _go_together(section, above) and budget.is_crumb(section):
            both = _joined(above, section, budget)
            if budget.fits(both):
                out[-1] = both
                continue
        out.append(section)
    return out


def _go_together(crumb: Section, neighbour: Section) -> bool:
    """What a module says between its definitions may stand with any of them."""
    return crumb.group == neighbour.group or crumb.kind == "module"


def _joined(above: Section, below: Section, budget: _Budget) -> Section:
    """Both as one, under the name of the one that says more: a class, a definition, the longer."""

    def weight(section: Section) -> tuple[bool, bool, bool, int]:
        size = budget.cost(section.first, section.last)
        return section.kind == "class", section.kind != "module", not section.introduces, size

    return replace(
        max(above, below, key=weight),
        first=above.first,
        last=below.last,
        symbols=above.symbols + below.symbols,
        solid=above.solid + below.solid,
        introduces=False,
    )


def _split(section: Section, lines: list[str], budget: _Budget) -> Iterator[Piece]:
    room, first = budget.room(section), section.first
    while first <= section.last:
        if budget.cost(first, first) > room:
            yield from _split_line(section.cut(first, first), lines[first - 1], room, budget.tokens)
            first += 1
            continue
        last = _best_end(first, section, lines, room, budget)
        piece = trimmed(section.cut(first, last), lines)
        if piece:
            yield piece, None
        first = last + 1


def _best_end(first: int, section: Section, lines: list[str], room: int, budget: _Budget) -> int:
    """Where to cut: before a solid range that fits by itself, else where the text is least nested.

    Only the second half of what fits is looked at, and no crumb is left over.
    """
    full = budget.furthest(first, room)
    if full >= section.last:
        return section.last
    last = max(first, min(full, budget.before_crumb(section.last)))
    solid = _solid_at(section, last)
    if solid and solid[0] > first:
        is_whole = budget.cost(*solid) <= room
        if is_whole or budget.cost(first, solid[0] - 1) >= CRUMB_TOKENS:
            return solid[0] - 1
    middle = first + (last - first) // 2
    cuts = [line for line in range(middle, last + 1) if _solid_at(section, line) in (None, solid)]
    return min(cuts, key=lambda line: (_nesting(lines, line), -line), default=last)


def _solid_at(section: Section, line: int) -> Span | None:
    """The solid range that a cut behind the line would break."""
    index = bisect_left(section.solid, (line + 1, 0)) - 1
    found = section.solid[index] if index >= 0 else None
    return found if found and found[0] <= line < found[1] else None


def _nesting(lines: list[str], line: int) -> float:
    """How deep in the structure a cut behind the line would be: by indentation, blank lines and brackets."""
    below = lines[line]
    text = below.lstrip()
    if not text:
        return float("inf") if lines[line - 1].strip() else -BLANK_WEIGHT
    if text[0] in ")]}":
        return float("inf")
    return len(below) - len(text) - (0 if lines[line - 1].strip() else BLANK_WEIGHT)


def _split_line(section: Section, line: str, room: int, tokens: TokenCounter) -> Iterator[Piece]:
    """Cut one over-long line between words, after a sentence where there is one."""
    offsets = tokens.offsets(line)
    starts = [start for start, _ in offsets]
    start, index = 0, 0
    while start < len(line):
        full = index + room
        end = len(line) if full >= len(offsets) else _word_end(line, start, starts[full])
        # the rest of a cut word may take more tokens than it did within the word
        while tokens.count(line[start:end]) > room and end > start + 1:
            end -= (end - start + 7) // 8
        yield section, (start, end)
        start, index = end, bisect_left(starts, end)


def _word_end(line: str, start: int, limit: int) -> int:
    """The best cut in the last third before `limit`."""
    floor = start + 2 * (limit - start) // 3
    for mark in (". ", "; ", ", ", " "):
        found = line.rfind(mark, floor, limit)
        if found > start:
            return found + len(mark)
    return limit
