"""The document formats that Lore converts to text, and the packages that read them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import NamedTuple

CONVERSION_VERSION = "7"  # increase it with every change that produces a different text for the same document
EXTRA = "documents"
NEEDS_EXTRA = f"needs the extra `{EXTRA}`"
"""The reason for files that are left out because the extra is not installed."""


class DocumentFormat(NamedTuple):
    """A format: its title, the module that reads it, and the package that this module imports, if it is optional."""

    title: str
    reader: str
    module: str | None


_PDF = DocumentFormat("PDF", "pdf", "pypdfium2")
_WORD = DocumentFormat("Word", "office", "office_oxide")
_SLIDES = DocumentFormat("PowerPoint", "office", "office_oxide")
_SHEETS = DocumentFormat("Excel", "office", "office_oxide")
FORMATS = {
    ".pdf": _PDF, ".docx": _WORD, ".doc": _WORD, ".pptx": _SLIDES, ".ppt": _SLIDES, ".xlsx": _SHEETS, ".xls": _SHEETS,
    ".epub": DocumentFormat("EPUB", "epub", None),
}  # fmt: skip


def format_of(path: str) -> DocumentFormat | None:
    """Return the format of a file by its extension; None if it is not converted."""
    return FORMATS.get(PurePosixPath(path).suffix.lower())


def readable() -> frozenset[str]:
    """Return the extensions whose reader is installed."""
    installed = {module: find_spec(module) is not None for _, _, module in FORMATS.values() if module}
    return frozenset(suffix for suffix, kind in FORMATS.items() if not kind.module or installed[kind.module])
