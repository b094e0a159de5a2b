"""Find the headings of a Markdown text outside code fences. Pure, linear in the text."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.text import one_line

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING = re.compile(r"(?:^| )#+$")
# a fence can begin on the line of a list item; the item's other lines are then indented
_FENCE = re.compile(r"^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*$")
# code, which stays as it is, an image, a link, and tags without a text of their own, such as anchors
_MARKUP = re.compile(
    r"(?P<code>`[^`\n]*`)|(?P<image>!?)\[(?P<text>[^\[\]]*)\]\([^()\s]*\)|</?(?:a|br|img|small|span|sub|sup)\b[^<>]*>"
)


class Heading(NamedTuple):
    """A heading. `line` is 0-based."""

    line: int
    level: int
    title: str


@dataclass(frozen=True)
class Outline:
    """A text's lines with their ends, its headings, the lines of code fences, and the fence that is never closed."""

    lines: list[str]
    headings: list[Heading]
    fenced: frozenset[int] = frozenset()
    open_fence: int | None = None


class _Fence(NamedTuple):
    """An open fence; `indent` is that of the list item around it, whose end closes it too."""

    line: int
    marks: str
    indent: int


def lines_of(text: str) -> list[str]:
    """Split a text into lines with their ends, as in CommonMark: LF, CR LF or CR."""
    return _LINE.findall(text)


def line_end(text: str) -> str:
    """Return the line end of a text's first line, for lines that are added."""
    found = re.search(r"\r\n|\r|\n", text)
    return found[0] if found else "\n"


def outline(text: str, skip: int = 0) -> Outline:
    """Find the headings of a text whose first `skip` lines are front matter."""
    lines = lines_of(text)
    headings: list[Heading] = []
    fenced: set[int] = set()
    fence: _Fence | None = None
    for number in range(skip, len(lines)):
        line = lines[number].rstrip("\r\n").removeprefix("" if number else "\ufeff")
        if fence is not None:
            end = _FENCE_END.match(line)
            is_end = end is not None and end[1].startswith(fence.marks)
            if is_end or not line.strip() or _width(line) >= fence.indent:
                fenced.add(number)
                fence = None if is_end else fence
                continue
        if fence := _fence_at(number, line):
            fenced.add(number)
        elif heading := heading_of(line):
            headings.append(Heading(number, *heading))
    return Outline(lines, headings, frozenset(fenced), fence.line if fence else None)


def without_markup(text: str) -> str:
    """Return Markdown without images, the targets of links, and tags that show nothing; an image alone has its text."""

    def shown(one: re.Match[str]) -> str:
        return one["code"] or (one["text"] or "") * (not one["image"] or one[0] == one.string)

    return _MARKUP.sub(shown, _MARKUP.sub(shown, text))  # an image may be a link


def heading_of(line: str) -> tuple[int, str] | None:
    """Return level and title of an ATX heading, or None. Setext headings do not count: rules look like them."""
    found = _HEADING.match(line)
    return (len(found[1]), _CLOSING.sub("", one_line(found[2] or ""))) if found else None


def heading_line(level: int, title: str) -> str:
    """Return the line for this heading. A closing sequence protects a title that ends with #."""
    line = f"{'#' * level} {title}"
    return line if heading_of(line) == (level, title) else f"{line} {'#' * level}"


def _fence_at(number: int, line: str) -> _Fence | None:
    found = _FENCE.match(line)
    if not found:
        return None
    lead = found[1]
    # at the top level a fence is indented by up to three spaces, its content not necessarily
    is_nested = bool(lead.strip()) or _width(lead) > 3
    return _Fence(number, found[2], len(lead.expandtabs(4)) if is_nested else 0)


def _width(text: str) -> int:
    wide = text.expandtabs(4) if "\t" in text[:40] else text
    return len(wide) - len(wide.lstrip(" "))
