"""What the parsers produce: the structure of a file as ranges of lines, whatever their size."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from etl.model import FileFacts

MAX_NAMES = 100
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
    the head of a class) is joined with it if it is small.
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

    def cut(self, first: int, last: int) -> Section:
        """The same piece over other lines."""
        return replace(self, first=first, last=last)

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
