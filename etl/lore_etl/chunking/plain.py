"""Split reStructuredText by underlined titles, read tables, and treat other text as one section."""

from __future__ import annotations

import re

from lore_etl.chunking.section import HeadingLines, Parsed, Section, below_headings
from lore_etl.core.model import Document
from lore_etl.core.text import one_line

MAX_ROWS = 1_000  # of a table
_SEPARATORS = re.compile(r"[,;\t]\s*")
_UNDERLINES = frozenset("=-~^\"'`#*+.:_")


def parse_plain(document: Document, warning: str | None = None) -> Parsed:
    """Return the whole text as one section."""
    section = Section(1, len(document.lines), "text", "text", group="text")
    return Parsed([section], warning=warning)


def parse_table(document: Document) -> Parsed:
    """Return the first rows of a CSV file as one section, with the names of its columns as the heading."""
    lines = document.lines
    columns = one_line(_SEPARATORS.sub(", ", lines[0]).replace('"', ""))[:200]
    section = Section(1, min(len(lines), MAX_ROWS), "table", "table", (columns,) if columns else (), group="text")
    left = len(lines) - MAX_ROWS
    return Parsed([section], warning=f"{left:,} more rows are not indexed" if left > 1 else None)


def parse_rst(document: Document) -> Parsed:
    """Return the sections between titles. The order in which underlines first appear gives the levels."""
    lines = document.lines
    underlines = [number for number in range(2, len(lines) + 1) if _is_underline(lines, number)]
    levels = list(dict.fromkeys(lines[number - 1][0] for number in underlines))
    titles = [
        HeadingLines(number - 1, number, levels.index(lines[number - 1][0]) + 1, lines[number - 2].strip()[:200])
        for number in underlines
    ]
    return Parsed([
        Section(
            part.first, part.last, "section", "/".join(part.heading), part.heading,
            group="prose", introduces=part.is_bare and bool(part.path),
        )
        for part in below_headings(titles, lines)
    ])  # fmt: skip


def _is_underline(lines: list[str], number: int) -> bool:
    """Return whether line `number` underlines a title in the line above it."""
    line, above = lines[number - 1].rstrip(), lines[number - 2]
    if len(line) < 3 or line[0] not in _UNDERLINES or line != line[0] * len(line):
        return False
    return bool(above.strip()) and not above[0].isspace() and above[0].isalnum() and len(line) >= len(above.rstrip())
