"""Write converted text: headings begin with `#`, and no other line does."""

from __future__ import annotations

import re

from lore_etl.core.text import clip, encodable, one_line

MAX_HEADING = 200
MAX_ROWS = 1_000  # of a table
MAX_CELLS = 100  # of a row
_PLACE = re.compile(r"#+ (?:(?:Page|Slide) \d+|Sheet .*)")


class NoText(Exception):
    """The error of a reader for a document without readable text; its message is the reason in the report."""


def heading(level: int, title: str) -> str:
    """Return a heading of level 1 to 6, or an empty text if there is no title."""
    title = clip(encodable(title), MAX_HEADING)
    return f"{'#' * min(max(level, 1), 6)} {title}" if title else ""


def whole_heading(level: int, title: str) -> str:
    """Return a heading, with the whole title below it if the title is too long for a heading."""
    short = heading(level, title)
    return f"{short}\n\n{body(title)}" if len(title) > MAX_HEADING else short


def body(text: str) -> str:
    """Return text without control characters whose lines cannot be taken for headings."""
    plain = "".join(char if char in "\n\t" or char.isprintable() else " " for char in encodable(text))
    return "\n".join(f" {line}" if line.startswith("#") else line.rstrip() for line in plain.split("\n"))


def table(rows: list[list[str]]) -> str:
    """Return a table with a line for each row; a long table is cut, with the number of omitted rows."""
    shown = [[clip(cell, MAX_HEADING * 10) for cell in row[:MAX_CELLS]] for row in rows[:MAX_ROWS]]
    lines = [f"| {' | '.join(row)} |" for row in shown if any(row)]
    if len(rows) > MAX_ROWS:
        lines.append(f"({len(rows) - MAX_ROWS:,} more rows are not indexed)")
    return body("\n".join(lines))


def titled(title: str, parts: list[str]) -> str:
    """Return the parts below the title of their document; empty if all pages, slides or sheets are empty."""
    parts = [part for part in parts if part.strip()]
    if all(_PLACE.fullmatch(part) for part in parts):
        return ""
    above = heading(1, title) if one_line(title).isprintable() else ""  # else it is decoded wrongly
    return joined(parts if above.lstrip("# ") == parts[0].lstrip("# ") else [above, *parts])


def joined(parts: list[str]) -> str:
    """Return the parts with an empty line between them."""
    return "\n\n".join(part for part in parts if part.strip())
