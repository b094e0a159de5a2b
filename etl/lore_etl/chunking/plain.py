"""Split reStructuredText by underlined titles, read tables, and treat other text as one section."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore_etl.chunking.section import HeadingLines, Parsed, Section, below_headings
from lore_etl.core.model import Document
from lore_etl.core.text import one_line

MAX_TITLE = 200
MAX_ROWS = 1_000  # of a table
_SEPARATORS = re.compile(r"[,;\t]\s*")
_UNDERLINES = frozenset("=-~^\"'`#*+.:_")
_MARKUP = re.compile(
    r"(?P<role>:[\w.+:-]{1,60}:)?(?P<quote>``?)(?P<text>[^`]+)(?P=quote)(?P<link>__?)?"
    r"|(?<!\w)(?P<stars>\*\*?)(?P<strong>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?!\w)"
)


def parse_plain(document: Document, warning: str | None = None) -> Parsed:
    """Return the whole text as one section."""
    section = Section(1, len(document.lines), "text", "text", group="text")
    return Parsed([section], warning=warning)


def parse_text(document: Document) -> Parsed:
    """Return the sections between underlined titles, which text often has too, or the whole text as one section."""
    return parse_rst(document) if rst_titles(document.lines) else parse_plain(document)


def parse_table(document: Document) -> Parsed:
    """Return the first rows of a CSV file as one section, with the names of its columns as the heading."""
    lines = document.lines
    columns = one_line(_SEPARATORS.sub(", ", lines[0]).replace('"', ""))[:200]
    section = Section(1, min(len(lines), MAX_ROWS), "table", "table", (columns,) if columns else (), group="text")
    left = len(lines) - MAX_ROWS
    return Parsed([section], warning=f"{left:,} more rows are not indexed" if left > 1 else None)


def parse_rst(document: Document) -> Parsed:
    """Return the sections between titles."""
    lines = document.lines
    return Parsed([
        Section(
            part.first, part.last, "section", "/".join(part.heading), part.heading,
            group="prose", introduces=part.is_bare and bool(part.path),
        )
        for part in below_headings(rst_titles(lines), lines)
    ])  # fmt: skip


def rst_titles(lines: Sequence[str]) -> list[HeadingLines]:
    """Return the titles of a text. A title is underlined with a repeated sign, and may have the same line above it.

    The order in which these styles first appear gives the levels.
    """
    found: list[HeadingLines] = []
    styles: list[tuple[str, bool]] = []
    for number in range(2, len(lines) + 1):
        line, title = lines[number - 1].rstrip(), lines[number - 2].rstrip()
        if not _is_line(line) or len(line) < len(title) or not any(map(str.isalnum, title)):
            continue
        is_free = number > 2 and (not found or found[-1].last < number - 2)
        has_overline = is_free and lines[number - 3].rstrip() == line
        if not has_overline and title.startswith((" ", "\t", ".. ")):
            continue
        if (style := (line[0], has_overline)) not in styles:
            styles.append(style)
        text = one_line(_MARKUP.sub(_unmarked, title))[:MAX_TITLE]
        found.append(HeadingLines(number - 1 - has_overline, number, styles.index(style) + 1, text))
    return found


def _is_line(line: str) -> bool:
    return len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line)


def _unmarked(markup: re.Match[str]) -> str:
    """Return the words of inline markup, without the target of a link."""
    words = markup["text"] or markup["strong"]
    return words.partition(" <")[0].lstrip("!~") if markup["role"] or markup["link"] else words
