"""Read OpenDocument files: texts with their headings, presentations by slides, spreadsheets by sheets."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lore_etl.files.conversion.archive import from_archive, xml_of
from lore_etl.files.conversion.marked_text import (
    MAX_CELLS,
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

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_SHOW = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_LEFT_OUT = frozenset(
    {
        f"{_TEXT}tracked-changes",  # deleted text
        f"{_TEXT}note-citation",
        f"{_TEXT}sequence-decls",
        f"{_TEXT}index-title-template",
        f"{_SHOW}notes",  # shown after the slide
        f"{_TABLE}shapes",
    }
)
_GROUPS = frozenset(f"{_TABLE}table-{name}" for name in ("rows", "header-rows", "row-group"))
_SPACES = 200  # that one element may represent
_ALL_ROWS = 1_048_576


def read(data: bytes, suffix: str) -> str:
    """Return the text with a heading for each slide or sheet, and the headings of texts. Raises NoText."""
    return from_archive(data, "an OpenDocument", _text_of)


def _text_of(archive: zipfile.ZipFile) -> str:
    if "META-INF/manifest.xml" in archive.namelist():
        manifest = xml_of(archive, "META-INF/manifest.xml")
        if manifest.find(".//{*}encryption-data") is not None:
            raise NoText("encrypted: it needs a password")
    document = xml_of(archive, "content.xml")
    content = document.find("{*}body/*")
    if content is None:
        raise KeyError("body")
    parts = list[str]()
    kind = content.tag.rpartition("}")[2]
    if kind == "presentation":
        for number, page in enumerate(content.iterfind(f"{_DRAW}page"), start=1):
            parts += _slide(page, number)
    elif kind == "spreadsheet":
        for sheet in content.iterfind(f"{_TABLE}table"):
            parts += _sheet(sheet)
    else:
        _promote_title(document)
        parts += [*_blocks(content), *margins(1, _margins(archive))]
    return titled(_title(archive), parts)


def _promote_title(document: Element) -> None:
    """Turn the first paragraph with the style `Title` into a heading."""
    own = document.iterfind("{*}automatic-styles/{*}style")
    titles = {
        "Title",
        *(style.get(f"{_STYLE}name") for style in own if style.get(f"{_STYLE}parent-style-name") == "Title"),
    }
    styled = (part for part in document.iter(f"{_TEXT}p") if part.get(f"{_TEXT}style-name") in titles)
    if (title := next(styled, None)) is not None:
        title.tag = f"{_TEXT}h"


def _margins(archive: zipfile.ZipFile) -> list[str]:
    """Return the headers and footers of all kinds of pages."""
    if "styles.xml" not in archive.namelist():
        return []
    pages = xml_of(archive, "styles.xml").iterfind("{*}master-styles/{*}master-page/*")
    return [joined(_blocks(part)) for part in pages if part.tag.endswith(("}header", "}footer", "-first", "-left"))]


def _title(archive: zipfile.ZipFile) -> str:
    if "meta.xml" not in archive.namelist():
        return ""
    title = xml_of(archive, "meta.xml").find(".//{http://purl.org/dc/elements/1.1/}title")
    return (title.text or "") if title is not None else ""


def _slide(page: Element, number: int) -> list[str]:
    """Return the heading of a slide, its text and its notes."""
    frames = [frame for frame in page.iterfind(f"{_DRAW}frame") if frame.get(f"{_SHOW}class") == "title"]
    title = " ".join(" ".join(_blocks(frame)) for frame in frames).strip()
    parts = [whole_heading(2, f"Slide {number}: {title}" if title else f"Slide {number}")]
    for element in page:
        if element not in frames and element.tag not in _LEFT_OUT:
            parts += _blocks(element)
    notes = joined([part for frame in page.iterfind(f"{_SHOW}notes/{_DRAW}frame") for part in _blocks(frame)])
    return [*parts, f"Notes: {notes}"] if notes else parts


def _sheet(sheet: Element) -> list[str]:
    """Return the heading of a sheet with its columns, and its rows."""
    rows = _rows(sheet)
    if not rows:
        return []
    columns = ", ".join(filter(None, rows[0]))
    name = sheet.get(f"{_TABLE}name", "")
    return [heading(2, f"Sheet {name}: {columns}" if columns else f"Sheet {name}"), table(rows)]


def _rows(found: Element) -> list[list[str]]:
    """Return the rows with content; beyond the maximum, empty rows represent the rest."""
    rows: list[list[str]] = []
    more = 0
    for row in _table_rows(found):
        count = _number(row, f"{_TABLE}number-rows-repeated", _ALL_ROWS)
        cells = _cells(row) if len(rows) < MAX_ROWS else [""]
        if len(rows) < MAX_ROWS and not any(cells):
            continue
        if len(rows) == MAX_ROWS:
            more += count if count < _ALL_ROWS // 2 and any(_cells(row)) else 0
            continue
        shown = min(count, MAX_ROWS - len(rows))
        rows += [cells] * shown
        more += count - shown
    return rows + [[]] * min(more, _ALL_ROWS)


def _table_rows(part: Element) -> Iterator[Element]:
    """Yield the rows of a table, but not those of tables within its cells."""
    for child in part:
        if child.tag == f"{_TABLE}table-row":
            yield child
        elif child.tag in _GROUPS:
            yield from _table_rows(child)


def _cells(row: Element) -> list[str]:
    cells: list[str] = []
    for cell in row:
        if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = " ".join(_blocks(cell))
            cells += [text] * min(
                _number(cell, f"{_TABLE}number-columns-repeated", MAX_CELLS), MAX_CELLS + 1 - len(cells)
            )
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _blocks(element: Element, depth: int = -1) -> list[str]:
    """Return the paragraphs, headings, lists and tables within an element; `depth` is that of a list."""
    return [block for block in _each_block(element, depth) if block.strip()]


def _each_block(element: Element, depth: int) -> Iterator[str]:
    for child in [element] if element.tag in (f"{_TEXT}p", f"{_TEXT}h", f"{_TABLE}table") else element:
        if child.tag in _LEFT_OUT:
            continue
        if child.tag == f"{_TEXT}h":
            yield whole_heading(_number(child, f"{_TEXT}outline-level", 6), _line(child))
        elif child.tag == f"{_TEXT}p":
            text = body(_line(child).strip())
            yield f"{'  ' * depth}- {text}" if depth >= 0 and text else text
            yield from _boxes(child)
        elif child.tag == f"{_TEXT}list":
            yield "\n".join(block for item in child for block in _blocks(item, depth + 1))
        elif child.tag == f"{_TABLE}table":
            yield table(_rows(child))
        else:
            yield from _each_block(child, depth)


def _boxes(paragraph: Element) -> Iterator[str]:
    """Yield the text of the boxes in a paragraph."""
    for child in paragraph:
        yield from _each_block(child, -1) if child.tag.startswith(_DRAW) else _boxes(child)


def _line(element: Element) -> str:
    """Return the text of a paragraph without its boxes, which are separate paragraphs."""
    parts = [element.text or ""]
    for child in element:
        if child.tag == f"{_TEXT}s":
            parts.append(" " * _number(child, f"{_TEXT}c", _SPACES))
        elif child.tag == f"{_TEXT}tab":
            parts.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif child.tag == f"{_TEXT}note":
            parts.append(f" ({' '.join(_line(part) for part in child.iter(f'{_TEXT}p'))})")
        elif child.tag not in _LEFT_OUT and not child.tag.startswith(_DRAW):
            parts.append(_line(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _number(element: Element, name: str, most: int) -> int:
    """Return the number in an attribute, limited to 1 to `most`; 1 if the attribute is missing."""
    text = element.get(name, "1")
    return max(1, min(int(text), most)) if text.isdecimal() and len(text) < 10 else 1
