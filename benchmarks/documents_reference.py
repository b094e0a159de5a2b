"""Read a document with other programs: `python documents_reference.py FILE …`.

`benchmarks.documents` runs this file with the interpreter of another environment, so it imports nothing of Lore. It
prints a line of JSON for each file: a list of [place, text], where a place is a page, slide or sheet, and empty in
other formats; or null if the file cannot be read.
"""

from __future__ import annotations

import csv
import importlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SECONDS = 120
SLIDE, SLIDE_LIST = 1006, 4080  # containers of records in PowerPoint files
TEXTS = {4000: "utf-16-le", 4008: "latin-1"}
Parts = Iterator[tuple[str, str]]


def printed(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS)
    return done.stdout.decode("utf-8", "replace")


def pages(file: Path) -> Parts:
    for number, text in enumerate(printed("pdftotext", "-enc", "UTF-8", file, "-").split("\f"), 1):
        yield f"Page {number}", text


def prose(file: Path) -> Parts:
    """Read a document with pandoc."""
    kinds = {".tex": "latex", ".htm": "html", ".xhtml": "html"}
    kind = kinds.get(file.suffix.lower(), file.suffix.lower().removeprefix("."))
    yield "", printed("pandoc", "--from", kind, "--to", "plain", "--wrap", "none", file)


def word(file: Path) -> Parts:
    yield "", printed("antiword", "-m", "UTF-8.txt", "-w", "0", file).replace("[pic]", "")


def old_slides(file: Path) -> Parts:
    """Read the texts in the records of slides, without those of templates and notes; catppt misses most texts."""
    stream = importlib.import_module("olefile").OleFileIO(file).openstream("PowerPoint Document")
    yield "", "\n".join(dict.fromkeys(records(stream.read())))  # some are stored twice


def records(data: bytes, slide: bool = False) -> Iterator[str]:
    start = 0
    while start + 8 <= len(data):
        version, kind, size = struct.unpack_from("<HHI", data, start)
        content = data[start + 8 : start + 8 + size]
        if version & 0xF == 0xF:
            yield from records(content, slide or kind == SLIDE or (kind == SLIDE_LIST and version >> 4 == 0))
        elif slide and kind in TEXTS:
            yield content.decode(TEXTS[kind], "replace")
        start += 8 + size


def slides(file: Path) -> Parts:
    for number, slide in enumerate(importlib.import_module("pptx").Presentation(file).slides, 1):
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        yield f"Slide {number}", "\n".join((*shapes(slide.shapes), notes.text if notes else ""))


def shapes(found: Any) -> Iterator[str]:
    for shape in found:
        if hasattr(shape, "shapes"):
            yield from shapes(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from (cell.text for row in shape.table.rows for cell in row.cells)


def sheets(file: Path) -> Parts:
    book = importlib.import_module("openpyxl").load_workbook(file, read_only=False, data_only=True)
    for sheet in book.worksheets:
        yield f"Sheet {sheet.title}", cells([] if cell is None else cell for row in sheet.values for cell in row)


def old_sheets(file: Path) -> Parts:
    for sheet in importlib.import_module("xlrd").open_workbook(file, logfile=sys.stderr).sheets():
        yield f"Sheet {sheet.name}", cells(sheet.cell_value(*at) for at in every_cell(sheet.nrows, sheet.ncols))


def every_cell(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    return ((row, column) for row in range(rows) for column in range(columns))


def cells(values: Iterator[Any]) -> str:
    """Return the cells that are text, because programs write numbers and dates differently."""
    return "\n".join(value for value in values if isinstance(value, str))


def rows(file: Path) -> Parts:
    with file.open(encoding="utf-8", newline="") as lines:
        yield "", "\n".join(" ".join(row) for row in csv.reader(lines))


def plain(file: Path) -> Parts:
    yield "", file.read_text(encoding="utf-8")


READERS: dict[str, Callable[[Path], Parts]] = {
    ".pdf": pages, ".doc": word, ".ppt": old_slides, ".pptx": slides, ".xlsx": sheets, ".xls": old_sheets,
    ".csv": rows, ".txt": plain, ".adoc": plain,
}  # fmt: skip


def main() -> None:
    for name in sys.argv[1:]:
        file = Path(name)
        try:
            found = [(place, text) for place, text in READERS.get(file.suffix.lower(), prose)(file) if text.strip()]
        except Exception as error:  # noqa: BLE001 - any reader may fail on a strange file
            print(f"{name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
            found = None
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
