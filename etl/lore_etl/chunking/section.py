"""The structure of a file as line ranges of any size, as the parsers produce it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lore_etl.core.model import Document, FileFacts
from lore_etl.core.text import first_distinct

MAX_NAMES = 100
IMPORTS = "imports"  # the kind of a piece that contains only imports
CLASS_KINDS = frozenset("class struct interface trait enum object module protocol impl extension".split())
"""The kinds of definitions that have a place in the class tree."""
KEYED_KINDS = frozenset({"key", "table"})  # they contain names but are not classes
Span = tuple[int, int]


def counted_uses(uses: Iterable[tuple[str, int]]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for name, line in uses:
        places, first = found.get(name, (0, line))
        found[name] = places + 1, min(first, line)
    return found


class Symbol(NamedTuple):
    """A name that a file defines, with its lines."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Section:
    """A structural piece of a file; its lines are 1-based and inclusive.

    `anchor` identifies it in its file even if lines move. `solid` ranges (code fences, tables) are cut only if they
    alone exceed the limit. Small pieces are merged only within their `group`; one that `introduces` the next (a
    heading, the head of a class) joins it. `imports` are the ranges of import statements.
    """

    first: int
    last: int
    kind: str
    anchor: str
    heading: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    class_name: str | None = None
    created: str | None = None
    solid: tuple[Span, ...] = ()
    group: str = ""
    introduces: bool = False
    imports: tuple[Span, ...] = ()

    def cut(self, first: int, last: int) -> Section:
        is_same = (first, last) == (self.first, self.last)
        return self if is_same else replace(self, first=first, last=last)

    def imports_until(self, first: int, last: int, lines: list[str]) -> int:
        """Return the last line of the imports that begin at `first`, up to `last`; `first - 1` if there are none."""
        found = first - 1
        for number in range(first, min(last, self.last) + 1):
            if self.is_importing(number):
                found = number
            elif lines[number - 1].strip():
                break
        return found

    def is_importing(self, line: int) -> bool:
        at = bisect_right(self.imports, line, key=lambda span: span[0]) - 1
        return at >= 0 and self.imports[at][1] >= line

    def names(self) -> tuple[str, ...]:
        own = (symbol.name for symbol in self.symbols if symbol.first <= self.last and symbol.last >= self.first)
        return first_distinct(own, MAX_NAMES)


class Cuts:
    """Cut pieces from a section from top to bottom, each with the symbols and imports in its lines, in linear time."""

    def __init__(self, section: Section) -> None:
        self._section, self._open = section, list[Symbol]()
        self._coming = deque(sorted(section.symbols, key=lambda symbol: symbol.first))

    def cut(self, first: int, last: int) -> Section:
        self._open = [symbol for symbol in self._open if symbol.last >= first][:MAX_NAMES]
        while self._coming and self._coming[0].first <= last:
            self._open.append(self._coming.popleft())
        imports, symbols = self._section.imports, tuple(self._open)
        start = bisect_left(imports, first, key=lambda span: span[1])
        end = bisect_right(imports, last, key=lambda span: span[0])
        return replace(self._section, first=first, last=last, symbols=symbols, imports=imports[start:end])


@dataclass(frozen=True)
class Parsed:
    """The sections of a file in order, its facts and a warning; `text` replaces a text that only machines can read."""

    sections: list[Section]
    facts: FileFacts = field(default_factory=FileFacts)
    warning: str | None = None
    text: str | None = None


def parse_plain(document: Document, warning: str | None = None) -> Parsed:
    return Parsed([Section(1, len(document.lines), "text", "text", group="text")], warning=warning)


class HeadingLines(NamedTuple):
    """A heading of a text, over its lines. Level 1 is the highest."""

    first: int
    last: int
    level: int
    title: str


class HeadedPart(NamedTuple):
    """The lines from a heading to the next, its path of headings, and whether the heading has no text below it."""

    first: int
    last: int
    path: tuple[HeadingLines, ...]
    is_bare: bool

    @property
    def heading(self) -> tuple[str, ...]:
        return tuple(step.title for step in self.path)


def below_headings(headings: Sequence[HeadingLines], lines: list[str], first: int = 1) -> Iterator[HeadedPart]:
    """Yield the parts of a text from line `first` on; the part before the first heading has an empty path."""
    starts = [*headings]
    if not starts or starts[0].first > first:
        starts.insert(0, HeadingLines(first, first, 0, ""))
    path: tuple[HeadingLines, ...] = ()
    for index, start in enumerate(starts):
        last = starts[index + 1].first - 1 if index + 1 < len(starts) else len(lines)
        path = (*(step for step in path if step.level < start.level), *([start] if start.level else []))
        yield HeadedPart(start.first, last, path, not any(line.strip() for line in lines[start.last : last]))


def whole_lines(span: Span, column: int, lines: list[str]) -> range:
    """Return the lines of a comment that begins at this column, unless code precedes it on its first line."""
    first, last = span
    return range(first, first if column and lines[first - 1].encode()[:column].strip() else last + 1)


def trimmed(section: Section, lines: list[str]) -> Section | None:
    first, last = section.first, min(section.last, len(lines))
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    return section.cut(first, last) if first <= last else None
