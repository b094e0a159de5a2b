"""The headings of a Markdown text, line by line: what stands in a code fence is none. Pure, linear in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.text import one_line

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*$")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+$")
# a fence may begin on the line of a list item; then the lines of the item are indented
_FENCE = re.compile(r"^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*$")


class Heading(NamedTuple):
    """A heading over the lines that follow it; `line` counts from 0."""

    line: int
    level: int
    title: str


@dataclass(frozen=True)
class Outline:
    """The lines of a text with their ends, the headings among them, which lines are code in a fence (its marks
    included), and the fence that is never closed, if any."""

    lines: list[str]
    headings: list[Heading]
    fenced: frozenset[int] = frozenset()
    open_fence: int | None = None


class _Fence(NamedTuple):
    line: int
    marks: str
    indent: int

    def ends_with(self, text: str) -> bool:
        """Whether the line closes it."""
        end = _FENCE_END.match(text)
        return bool(end) and end is not None and end[1].startswith(self.marks)

    def is_left_by(self, text: str) -> bool:
        """Whether the line is outside of the list item that holds it: that closes it too."""
        return bool(text.strip()) and _width(text) < self.indent


def lines_of(text: str) -> list[str]:
    """The lines with their ends, as CommonMark has them: LF, CR LF or CR."""
    return _LINE.findall(text)


def line_end(text: str) -> str:
    """How the first line of a text ends: what is added to it ends so too."""
    found = re.search(r"\r\n|\r|\n", text)
    return found[0] if found else "\n"


def outline(text: str, skip: int = 0) -> Outline:
    """The headings of a text; the first `skip` lines are front matter."""
    lines = lines_of(text)
    headings: list[Heading] = []
    fenced: set[int] = set()
    fence: _Fence | None = None
    for number in range(skip, len(lines)):
        line = lines[number].rstrip("\r\n").removeprefix("" if number else "\ufeff")
        if fence is not None:
            if fence.ends_with(line):
                fenced.add(number)
                fence = None
                continue
            if not fence.is_left_by(line):
                fenced.add(number)
                continue
            fence = None
        fence = _fence_at(number, line)
        if fence is not None:
            fenced.add(number)
        elif heading := heading_of(line):
            headings.append(Heading(number, *heading))
    return Outline(lines, headings, frozenset(fenced), fence.line if fence else None)


def heading_of(line: str) -> tuple[int, str] | None:
    """Level and title of an ATX heading. Setext headings are none: a rule below a line is too easily one."""
    found = _HEADING.match(line)
    if not found:
        return None
    return len(found[1]), one_line(_CLOSING.sub("", found[2] or ""))


def heading_line(level: int, title: str) -> str:
    """The line that reads as this heading: a title that ends with # is protected by a closing sequence."""
    line = f"{'#' * level} {title}"
    return line if heading_of(line) == (level, title) else f"{line} {'#' * level}"


def _fence_at(number: int, line: str) -> _Fence | None:
    found = _FENCE.match(line)
    if not found:
        return None
    lead = found[1]
    # at the top level a fence is indented by up to three blanks, and what it holds need not be
    is_nested = bool(lead.strip()) or _width(lead) > 3
    return _Fence(number, found[2], len(lead.expandtabs(4)) if is_nested else 0)


def _width(text: str) -> int:
    wide = text.expandtabs(4) if "\t" in text[:40] else text
    return len(wide) - len(wide.lstrip(" "))
