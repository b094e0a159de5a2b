"""Read Office files: Word, PowerPoint and Excel, of both generations."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from office_oxide import Document, OfficeOxideError

from lore_etl.core.text import one_line
from lore_etl.files.conversion.archive import title_of
from lore_etl.files.conversion.marked_text import (
    MAX_ROWS,
    NoText,
    body,
    heading,
    joined,
    margins,
    table,
    titled,
    whole_heading,
)

Node = Mapping[str, Any]
_ZIP = b"PK\x03\x04"
_TEMPLATE = "Slide Master"  # the text of a template, which is not a slide
_SEPARATE = frozenset({"paragraph", "heading", "list", "table", "footnote", "endnote", "text_box"})


def read(data: bytes, suffix: str) -> str:
    """Return the text with a heading for each sheet or slide, and the headings of texts. Raises NoText."""
    family = suffix[:3]
    format_: Any = f"{family}x" if data.startswith(_ZIP) else suffix
    try:
        with Document.from_bytes(data, format_) as document:
            content = document.to_ir()
    except OfficeOxideError as error:
        encrypted = "encrypted: it needs a password" if "password" in str(error) else ""
        raise NoText(encrypted or "damaged, or not a file of its type") from error
    sections = [section for section in content["sections"] if suffix != "ppt" or section.get("title") != _TEMPLATE]
    title = content["metadata"].get("title") or ""
    if sections and title == sections[0].get("title"):
        title = ""
    above = 0
    if family == "doc" and data.startswith(_ZIP):
        with suppress(NoText):  # the package that reads the text accepts more files
            if styled := title_of(data):
                title, above = "" if _is_promoted(styled, sections) else styled, 1
    parts = [part for number, section in enumerate(sections, 1) for part in _section(section, family, number, above)]
    return titled(title, [*parts, *margins(above + 1, _margins(sections))])


def _is_promoted(title: str, sections: Sequence[Node]) -> bool:
    """Turn the paragraph with the title of the document into a heading above all others, if it is found."""
    for section in sections:
        for number, element in enumerate(section["elements"]):
            if element["type"] in ("paragraph", "heading") and one_line(_text(element)) == title:
                section["elements"][number] = {**element, "type": "heading", "level": 0}
                return True
    return False


def _margins(sections: Sequence[Node]) -> list[str]:
    return [
        _text(section[key])
        for section in sections
        for key in sorted(section, reverse=True)  # headers first
        if key.endswith(("header", "footer")) and isinstance(section[key], Mapping)
    ]


def _section(section: Node, family: str, number: int, above: int) -> list[str]:
    """Return the parts of a slide, a sheet, or a section of a text; `above` are the levels of headings above a text."""
    title, elements = (section.get("title") or "").strip(), section["elements"]
    parts, levels = [], 2
    if family == "ppt":
        place = f"Slide {number}"
        parts = [whole_heading(2, f"{place}: {title}" if title not in ("", place) else place)]
        elements = [
            element for element in elements if not (element["type"] == "heading" and _text(element).strip() == title)
        ]
    elif family == "xls":
        rows = [row for element in elements if element["type"] == "table" for row in element["rows"][:1]]
        cells = rows[0]["cells"] if rows else []
        columns = ", ".join(filter(None, (_text(cell).strip() for cell in cells)))
        parts = [heading(2, f"Sheet {title}: {columns}" if columns else f"Sheet {title}")]
    else:
        levels = above
    parts += [_block(element, levels) for element in elements]
    if notes := section.get("speaker_notes"):
        parts.append("Notes: " + body(_text({"content": notes} if isinstance(notes, list) else notes)).strip())
    return parts


def _block(element: Node, levels: int) -> str:
    """Return an element as text; `levels` are the levels of headings above it."""
    kind = element["type"]
    if kind == "heading":
        return whole_heading(levels + element["level"], _text(element))
    if kind == "table":
        rows = element["rows"]
        cells = [[_text(cell) for cell in row["cells"]] for row in rows[:MAX_ROWS]]
        return table(cells + [[]] * (len(rows) - len(cells)))
    if kind == "list":
        return _list(element, 0)
    if kind == "text_box":
        return joined([_block(part, levels) for part in element["content"]])
    return body(_text(element).strip())


def _list(found: Node, depth: int) -> str:
    items = (_item(item, depth) for item in found["items"])
    return "\n".join(item for item in items if item.strip(" -"))


def _item(item: Node, depth: int) -> str:
    lines = [
        _list(part, depth + 1) if part.get("type") == "list" else "  " * depth + f"- {body(_text(part)).strip()}"
        for part in item["content"]
    ]
    return "\n".join((*lines, _list(item["nested"], depth + 1)) if item.get("nested") else lines)


def _text(node: Node) -> str:
    if node.get("type") == "text":
        return str(node["text"])
    if node.get("type") == "line_break":
        return "\n"
    if node.get("type") == "image":
        return str(node.get("alt_text") or "")
    text = ""
    for name in ("content", "items", "nested", "rows", "cells", "elements"):
        inner = node.get(name) or ()
        for part in (inner,) if isinstance(inner, Mapping) else inner:
            part_text = _text(part)
            is_apart = part.get("type") in _SEPARATE or name in ("items", "rows", "cells")
            text += ("\n" if is_apart and text else "") + part_text
    return text
