"""What the parsers produce: the structure of a file as ranges of lines, whatever their size."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lore_etl.core.model import FileFacts

MAX_NAMES = 100
IMPORTS = "imports"
"""The kind of a piece that does nothing but import."""
Span = tuple[int, int]


class Symbol(NamedTuple):
    """A name that lines of a file define."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Section:
    """A structural piece of a file.

    Lines are 1-based and inclusive. `anchor` names the piece within its file and stays the same when lines move.
    `solid` are ranges that are cut only if they alone exceed the limit (code fences, tables).
    `group` says which neighbours a small piece may be merged with. A piece that `introduces` what follows (a heading,
    the head of a class) is joined with it if it is small. `imports` are the ranges of statements that import.
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
        """The same piece over other lines."""
        return replace(self, first=first, last=last)

    def imports_until(self, first: int, last: int, lines: list[str]) -> int:
        """The last line of the imports that begin at line `first`, looking up to `last`; the line before if none."""
        found = first - 1
        for number in range(first, min(last, self.last) + 1):
            if self.is_importing(number):
                found = number
            elif lines[number - 1].strip():
                break
        return found

    def is_importing(self, line: int) -> bool:
        """Whether a statement that imports takes the line."""
        at = bisect_right(self.imports, line, key=lambda one: one[0]) - 1
        return at >= 0 and self.imports[at][1] >= line

    def names(self) -> tuple[str, ...]:
        """What these very lines define, each once."""
        found: dict[str, None] = {}
        for one in self.symbols:
            if one.first <= self.last and one.last >= self.first:
                found[one.name] = None
                if len(found) == MAX_NAMES:
                    break
        return tuple(found)


@dataclass(frozen=True)
class Parsed:
    """The sections of a file, top to bottom, what the class tree needs of it, and a warning if any.

    `text` takes the place of a text that only programs read; the lines of the sections are its lines.
    """

    sections: list[Section]
    facts: FileFacts = field(default_factory=FileFacts)
    warning: str | None = None
    text: str | None = None


def trimmed(section: Section, lines: list[str]) -> Section | None:
    """The section without blank lines at either end; None if nothing is left."""
    first, last = section.first, min(section.last, len(lines))
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    return section.cut(first, last) if first <= last else None
