"""Write converted text: headings begin with `#`, and no other line does."""

import re
from collections.abc import Iterable

from lore_etl.core.text import clip, encodable, one_line

MAX_HEADING = 200
MAX_ROWS = 1_000  # of a table
MAX_CELLS = 100  # of a row
MAX_CELL = 2_000  # characters
_CUT = re.compile(r"\((?:([\d,]+) more rows|(columns after .+|the ends of cells .+)) are not indexed\)")
_PLACE = re.compile(r"#+ (?:(?:Page|Slide) \d+|Sheet .*)")
_WORD = re.compile(r"\b(?!page\b)[^\W\d_]{3}", re.IGNORECASE)
_PROGRAM = re.compile(r"^Microsoft (?:Word|Excel|PowerPoint) - ")
_INVENTED = re.compile(
    r"(?i)\W*(?:anonymous|unspecified|unknown|no title|title|none|null|(?:untitled|document)(?: document)?[ -]?\d*)?\W*"
)
"""Titles of documents that nobody has given a title, such as `(anonymous)`."""


class NoText(Exception):
    """The error of a reader for a document without readable text; its message is the reason in the report."""


def heading(level: int, title: str) -> str:
    title = clip(encodable(title), MAX_HEADING)
    return f"{'#' * min(max(level, 1), 6)} {title}" if title else ""


def whole_heading(level: int, title: str) -> str:
    short = heading(level, title)
    return f"{short}\n\n{body(title)}" if len(title) > MAX_HEADING else short


def body(text: str) -> str:
    """Return text without control characters whose lines cannot be taken for headings."""
    plain = "".join(char if char in "\n\t" or char.isprintable() else " " for char in encodable(text))
    return "\n".join(f" {line}" if line.startswith("#") else line.rstrip() for line in plain.split("\n"))


def table(rows: list[list[str]]) -> str:
    """Return a table with a line for each row; a table that is cut ends with what is missing."""
    shown = [[clip(cell, MAX_CELL) for cell in row[:MAX_CELLS]] for row in rows[:MAX_ROWS]]
    lines = [f"| {' | '.join(row)} |" for row in shown if any(row)]
    if len(rows) > MAX_ROWS:
        lines.append(f"({len(rows) - MAX_ROWS:,} more rows are not indexed)")
    if any(len(row) > MAX_CELLS for row in rows[:MAX_ROWS]):
        lines.append(f"(columns after the first {MAX_CELLS} are not indexed)")
    if any(len(cell) > MAX_CELL for row in rows[:MAX_ROWS] for cell in row[:MAX_CELLS]):
        lines.append(f"(the ends of cells with more than {MAX_CELL:,} characters are not indexed)")
    return body("\n".join(lines))


def cuts(lines: Iterable[str]) -> str | None:
    """Return what the lines say about tables that were cut; None if none was."""
    found = [match for match in map(_CUT.fullmatch, lines) if match]
    rows = sum(int(match[1].replace(",", "")) for match in found if match[1])
    others = dict.fromkeys(match[2] for match in found if match[2])
    parts = [f"{rows:,} more rows" if rows else "", *others]
    return f"{', '.join(filter(None, parts))} are not indexed" if found else None


def titled(title: str, parts: list[str]) -> str:
    """Return the parts below the title of their document; empty if all pages, slides or sheets are empty."""
    parts = [part for part in parts if part.strip()]
    if all(_PLACE.fullmatch(part) for part in parts):
        return ""
    title = _PROGRAM.sub("", one_line(title))
    is_real = not _INVENTED.fullmatch(title) and title.isprintable()  # other titles are decoded wrongly
    above = heading(1, title) if is_real else ""
    return joined(parts if above.lstrip("# ") == parts[0].lstrip("# ") else [above, *parts])


def margins(level: int, texts: Iterable[str]) -> list[str]:
    """Return a section with the headers and footers of pages, once each, without page numbers."""
    found = [text for text in dict.fromkeys(map(str.strip, texts)) if _WORD.search(text)]
    return [heading(level, "Header and footer"), *map(body, found)] if found else []


def joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part.strip())
