"""Split Jupyter notebooks by the headings in their Markdown cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lore_etl.chunking.headed import by_heading
from lore_etl.chunking.section import HeadingLines, Parsed, parse_plain
from lore_etl.core.headings import outline
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Document
from lore_etl.core.text import storable

MAX_OUTPUT = 2_000  # characters of an output


def parse(document: Document) -> Parsed:
    cells = _cells(document.text)
    if cells is None:
        return parse_plain(document, "not a notebook; indexed as plain text")
    shown = [(cell, text) for cell in cells if (text := _shown(cell))]
    text = "\n\n".join(text for _, text in shown)
    return replace(by_heading(document, text.split("\n"), _headings(shown)), text=text)


def first_heading(text: str) -> str | None:
    shown = [(cell, _shown(cell)) for cell in _cells(text) or ()]
    return next((heading.title for heading in _headings(shown)), None)


def _cells(text: str) -> list[JSON] | None:
    """Return the cells of a notebook; None if the text is not a notebook."""
    try:
        return [cell for cell in json.loads(text)["cells"] if isinstance(cell, dict)]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


def _headings(shown: list[tuple[JSON, str]]) -> Iterator[HeadingLines]:
    """Yield the headings of Markdown cells by their lines in the notebook; a comment in code is not a heading."""
    above = 0
    for cell, text in shown:
        if cell.get("cell_type") in ("markdown", None):
            for heading in outline(text).headings:
                if heading.title:
                    number = above + heading.line + 1
                    yield HeadingLines(number, number, heading.level, heading.title[:200])
        above += text.count("\n") + 2


def _shown(cell: JSON) -> str:
    parts = [_joined(cell.get("source"))]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = _joined(data.get("text/plain")) if isinstance(data, dict) else _joined(output.get("text"))
        if output.get("output_type") == "error":
            text = ": ".join(filter(None, (_joined(output.get("ename")), _joined(output.get("evalue")))))
        if text:
            parts.append("Output:\n" + text[:MAX_OUTPUT])
    return "\n".join(storable(line) for part in parts for line in part.split("\n")).strip()


def _joined(value: Any) -> str:
    """Return the text of a notebook's field, which is a string or a list of lines."""
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else str(value or "")
