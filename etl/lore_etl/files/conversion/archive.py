"""Read XML files in a ZIP archive, as EPUB books and Word files contain them."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from xml.etree import ElementTree

from lore_etl.core.text import one_line
from lore_etl.files.conversion.marked_text import NoText

MAX_UNPACKED = 100_000_000  # bytes
FIRST = 50  # paragraphs that may contain the title
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


@contextmanager
def open_archive(data: bytes, title: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Raises NoText if it is too large, or turns out not to be such a file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
                raise NoText(f"too large: over {MAX_UNPACKED:,} bytes when unpacked")
            yield archive
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, RuntimeError) as error:
        raise NoText(f"damaged, or not {title} file") from error


def title_of(data: bytes) -> str:
    """Return a Word file's first paragraph of style `Title`, by name: its id is translated (`Titel`). Raises NoText."""
    with open_archive(data, "a Word") as archive:
        styles = ElementTree.fromstring(read_xml(archive, "word/styles.xml")).iterfind(f"{_WORD}style")
        named = ((style.get(f"{_WORD}styleId"), style.find(f"{_WORD}name")) for style in styles)
        titles = {id_ for id_, name in named if name is not None and name.get(f"{_WORD}val") == "Title"}
        events = ElementTree.iterparse(io.BytesIO(read_xml(archive, "word/document.xml")))
        for _, paragraph in islice((event for event in events if event[1].tag == f"{_WORD}p"), FIRST):
            style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
            if style is not None and style.get(f"{_WORD}val") in titles:
                return one_line("".join(part.text or "" for part in paragraph.iter(f"{_WORD}t")))
    return ""


def read_xml(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an XML file; reject declared entities, because they can expand without limit. Raises NoText."""
    data = archive.read(name)
    if b"<!ENTITY" in data or b"\0" in data:  # in UTF-16 the check would miss them
        raise NoText("refused: it declares XML entities, or is not UTF-8")
    return data
