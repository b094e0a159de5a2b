"""Read XML files in a ZIP archive, as EPUB books and OpenDocument files contain them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from xml.etree import ElementTree

from lore_etl.files.conversion.marked_text import NoText

MAX_UNPACKED = 100_000_000  # bytes


def from_archive(data: bytes, title: str, read: Callable[[zipfile.ZipFile], str]) -> str:
    """Return the text that `read` finds in an archive. Raises NoText if it is too large, or not such a file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
                raise NoText(f"too large: over {MAX_UNPACKED:,} bytes when unpacked")
            return read(archive)
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, RuntimeError) as error:
        raise NoText(f"damaged, or not {title} file") from error


def xml_of(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Return the root of an XML file; reject declared entities, because they can expand without limit."""
    data = archive.read(name)
    if b"<!ENTITY" in data or b"\0" in data:  # in UTF-16 the check would miss them
        raise NoText("refused: it declares XML entities, or is not UTF-8")
    return ElementTree.fromstring(data)
