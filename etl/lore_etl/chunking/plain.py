"""Split reStructuredText by underlined titles, read tables, and treat other text as one section."""

from __future__ import annotations

import re

from lore_etl.chunking.section import Parsed, Section
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
    titles = [n for n in range(2, len(lines) + 1) if _is_underline(lines, n)]
    starts = [number - 1 for number in titles]
    levels: list[str] = []
    path: list[tuple[int, str]] = []
    first_start = starts[0] if starts else len(lines) + 1
    sections = [Section(1, first_start - 1, "section", "", group="prose")] if first_start > 1 else []
    for index, first in enumerate(starts):
        mark = lines[first][0]
        if mark not in levels:
            levels.append(mark)
        level = levels.index(mark)
        path = [*(step for step in path if step[0] < level), (level, lines[first - 1].strip()[:200])]
        last = starts[index + 1] - 1 if index + 1 < len(starts) else len(lines)
        heading = tuple(step[1] for step in path)
        is_bare = not any(line.strip() for line in lines[first + 1 : last])
        anchor = "/".join(heading)
        sections.append(Section(first, last, "section", anchor, heading, group="prose", introduces=is_bare))
    return Parsed(sections or parse_plain(document).sections)


def _is_underline(lines: list[str], number: int) -> bool:
    """Return whether line `number` underlines a title in the line above it."""
    line, above = lines[number - 1].rstrip(), lines[number - 2]
    if len(line) < 3 or line[0] not in _UNDERLINES or line != line[0] * len(line):
        return False
    return bool(above.strip()) and not above[0].isspace() and above[0].isalnum() and len(line) >= len(above.rstrip())
