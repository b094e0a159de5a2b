"""Fit sections to the model's input: merge small ones with their neighbours, split long ones at line ends."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from lore_etl.chunking.section import IMPORTS, Cuts, Section, Span, trimmed
from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.model import Chunk, Document, KnowledgeType

RECIPE_VERSION = "2"  # of `embedding_input`: increase it with every change of the text that is embedded for a chunk
HEADER_BYTES = 160  # about 40 tokens; no script takes more than one token per byte, so most of the 256 remain
PROSE_TOKENS = 208  # header and passage: 256 mixes too many subjects, 160 cuts too many passages in two
CODE_TYPES = frozenset({KnowledgeType.SRC, KnowledgeType.EXAMPLE, KnowledgeType.TEST})  # use the whole input
CRUMB_TOKENS = 24  # a smaller piece has too few words to be found by itself
MIN_ROOM = 16  # tokens of a passage, even for models with short inputs and for long headings
BLANK_WEIGHT = 4  # a cut at a blank line is worth one level of indentation
_NAMING_RANK = {"class": 3, "module": 1, IMPORTS: 0}  # the highest names a merged piece; other kinds have rank 2
_QUOTES = ('"', "'", 'r"')  # a piece that begins with a quote describes the module
_COMMENTS = ("//", "/*", "*", "#")
Piece = tuple[Section, Span | None]


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


def fit(sections: list[Section], document: Document, tokens: TokenCounter) -> Iterator[Piece]:
    """Return sections that fit the model's input, with a column range where a single line had to be cut."""
    budget = _Budget(document, tokens)
    parts = [part for section in sections for part in _parted(section, document.lines, budget)]
    for section in _without_bare_imports(_merged(parts, budget), budget):
        if budget.fits(section):
            yield section, None
        else:
            yield from _split(section, document.lines, budget)


class _Budget:
    """Token counts of lines, and the maximum that a section may use after its header."""

    def __init__(self, document: Document, tokens: TokenCounter) -> None:
        self._document, self.tokens = document, tokens
        self._limit = tokens.limit if document.type in CODE_TYPES else min(PROSE_TOKENS, tokens.limit)
        self._totals = [0, *accumulate(tokens.by_line(document.lines))]
        self._headers: dict[str, int] = {}

    def cost(self, first: int, last: int) -> int:
        return self._totals[last] - self._totals[first - 1]

    def room(self, section: Section) -> int:
        text = header(self._document.source, self._document.title, section.heading)
        if text not in self._headers:
            self._headers[text] = self.tokens.count(text)
        return max(MIN_ROOM, self._limit - self._headers[text])

    def fits(self, section: Section) -> bool:
        return self.cost(section.first, section.last) <= self.room(section)

    def is_crumb(self, section: Section) -> bool:
        return self.cost(section.first, section.last) < CRUMB_TOKENS

    def furthest(self, first: int, room: int) -> int:
        """Return the last line up to which the lines from `first` fit."""
        return bisect_right(self._totals, self._totals[first - 1] + room) - 1

    def before(self, last: int, room: int) -> int:
        """Return the last line after which more than this many tokens remain up to `last`."""
        return bisect_right(self._totals, self._totals[last] - room) - 1


def _parted(section: Section, lines: list[str], budget: _Budget) -> Iterator[Section]:
    """Return the section, or its imports and its remainder if it is too long."""
    if section.kind == IMPORTS or not section.imports:
        yield section
        return
    rest = [number for number in range(section.first, section.last + 1) if not section.is_importing(number)]
    opening = next((lines[number - 1].lstrip() for number in rest if lines[number - 1].strip()), "")
    if sum(budget.cost(number, number) for number in rest) < CRUMB_TOKENS and not opening.startswith(_QUOTES):
        yield replace(section, kind=IMPORTS, introduces=True)  # a `let x;` next to them adds little
        return
    if budget.fits(section):
        yield section
        return
    first, cuts = section.first, Cuts(section)
    while first <= section.last:
        last = section.imports_until(first, section.last, lines)
        has_imports = last >= first
        if not has_imports:
            after = bisect_left(section.imports, (first, 0))
            last = section.imports[after][0] - 1 if after < len(section.imports) else section.last
        if kept := trimmed(cuts.cut(first, last), lines):
            yield replace(kept, kind=IMPORTS, anchor=IMPORTS, introduces=True) if has_imports else kept
        first = last + 1


def _merged(sections: list[Section], budget: _Budget) -> list[Section]:
    """Merge each small piece with the next if they belong together and fit, else with the one above."""
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


def _without_bare_imports(sections: list[Section], budget: _Budget) -> list[Section]:
    """Merge imports, which are useless as a result, with the module text above if both fit, else with a neighbour."""
    out = sections[:1]
    for section in sections[1:]:
        above, both = out[-1], _joined(out[-1], section, budget)
        if above.kind == IMPORTS or (
            section.kind == IMPORTS and (section is sections[-1] or (above.kind == "module" and budget.fits(both)))
        ):
            out[-1] = both
        else:
            out.append(section)
    return out


def _go_together(crumb: Section, neighbour: Section) -> bool:
    """Return whether two pieces may be merged: module text between definitions can join any of them."""
    return crumb.group == neighbour.group or crumb.kind in ("module", IMPORTS)


def _joined(above: Section, below: Section, budget: _Budget) -> Section:
    """Merge two pieces under the more informative name: a class, then a definition, then the longer piece."""

    def weight(section: Section) -> tuple[int, bool, int]:
        size = budget.cost(section.first, section.last)
        return _NAMING_RANK.get(section.kind, 2), not section.introduces, size

    return replace(
        max(above, below, key=weight),
        first=above.first,
        last=below.last,
        symbols=above.symbols + below.symbols,
        solid=above.solid + below.solid,
        imports=above.imports + below.imports,
        introduces=False,
    )


def _split(section: Section, lines: list[str], budget: _Budget) -> Iterator[Piece]:
    room, first, cuts = budget.room(section), section.first, Cuts(section)
    while first <= section.last:
        if budget.cost(first, first) > room:
            yield from _split_line(cuts.cut(first, first), lines[first - 1], room, budget.tokens)
            first += 1
            continue
        last = _best_end(first, section, lines, room, budget)
        piece = trimmed(cuts.cut(first, last), lines)
        if piece:
            is_bare = bool(section.imports) and section.imports_until(piece.first, piece.last, lines) >= piece.last
            yield replace(piece, kind=IMPORTS, anchor=IMPORTS) if is_bare else piece, None
        first = last + 1


def _best_end(first: int, section: Section, lines: list[str], room: int, budget: _Budget) -> int:
    """Choose the last line before a cut in the second half: before a solid range that fits alone, else least nested."""
    full = budget.furthest(first, room)
    if full >= section.last:
        return section.last
    imports = section.imports_until(first, full + 1, lines) if section.imports else first - 1
    if imports > full:
        return full
    if imports >= first and budget.cost(first, imports) + CRUMB_TOKENS > room:
        return max(first, min(full, budget.before(imports, room // 2)))  # the other imports go with the next piece
    last = max(first, min(full, budget.before(section.last, CRUMB_TOKENS)))
    solid = _solid_at(section, last)
    if solid and solid[0] > first:
        is_whole = budget.cost(*solid) <= room
        if is_whole or budget.cost(first, solid[0] - 1) >= CRUMB_TOKENS:
            return solid[0] - 1
    middle = first + (last - first) // 2
    if imports >= first:
        middle = max(middle, min(last, _first_statement(imports + 1, last, lines, budget)))
    cuts = [line for line in range(middle, last + 1) if _solid_at(section, line) in (None, solid)]
    return min(cuts, key=lambda line: (_nesting(lines, line), -line), default=last)


def _first_statement(first: int, last: int, lines: list[str], budget: _Budget) -> int:
    """Return the first line that is not a comment and leaves more than a minimum piece after `first`."""
    code = (number for number in range(first, last + 1) if not lines[number - 1].lstrip().startswith(_COMMENTS))
    opening = next((number for number in code if lines[number - 1].strip()), first)
    return max(opening, budget.furthest(first, CRUMB_TOKENS) + 1)


def _solid_at(section: Section, line: int) -> Span | None:
    index = bisect_left(section.solid, (line + 1, 0)) - 1
    found = section.solid[index] if index >= 0 else None
    return found if found and found[0] <= line < found[1] else None


def _nesting(lines: list[str], line: int) -> float:
    """Rate how deeply nested a cut after this line would be, by indentation, blank lines and brackets."""
    below = lines[line]
    text = below.lstrip()
    if not text:
        return float("inf") if lines[line - 1].strip() else -BLANK_WEIGHT
    if text[0] in ")]}":
        return float("inf")
    return len(below) - len(text) - (0 if lines[line - 1].strip() else BLANK_WEIGHT)


def _split_line(section: Section, line: str, room: int, tokens: TokenCounter) -> Iterator[Piece]:
    """Cut a line that is too long between words, preferably after a sentence."""
    starts = tokens.starts(line)
    start, index = 0, 0
    while start < len(line):
        full = index + room
        end = len(line) if full >= len(starts) else _word_end(line, start, starts[full])
        # the rest of a cut word may take more tokens than it took within the word
        while tokens.count(line[start:end]) > room and end > start + 1:
            end -= (end - start + 7) // 8
        yield section, (start, end)
        start, index = end, bisect_left(starts, end)


def _word_end(line: str, start: int, limit: int) -> int:
    floor = start + 2 * (limit - start) // 3
    for mark in (". ", "; ", ", ", " "):
        found = line.rfind(mark, floor, limit)
        if found > start:
            return found + len(mark)
    return limit
