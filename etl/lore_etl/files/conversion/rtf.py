"""Read an RTF file as paragraphs. The format has no slides or sheets, and its headings are only a matter of style."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text

from lore_etl.files.conversion.marked_text import NoText, body

_PAGES = (437, 850, 874, 932, 936, 949, 950, *range(1250, 1259))
CODECS = ("latin-1", "mac_roman", "utf-16-le", *(f"cp{page}" for page in _PAGES))
"""The code pages that files name."""
_CELL = re.compile(r"\s*\|[ \t]*")
_BEGIN = b"{\\rtf"


def read(data: bytes, suffix: str) -> str:
    """Return the paragraphs. Raises NoText."""
    if not data.lstrip().startswith(_BEGIN):
        raise NoText("damaged, or not an RTF file")
    text = rtf_to_text(data.decode("latin-1"), errors="replace")
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # pairs of surrogates
    plain = _CELL.sub(" | ", joined.replace("\N{SOFT HYPHEN}", ""))
    paragraphs = (line.strip(" |\t") for line in plain.split("\n"))
    return body("\n\n".join(paragraph for paragraph in paragraphs if paragraph))
