"""Read an EPUB book: its chapters in reading order, with their headings."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from lore_etl.files.conversion.archive import from_archive, xml_of
from lore_etl.files.conversion.marked_text import NoText, body, joined, titled, whole_heading

_HIDDEN = frozenset({"head", "script", "style", "svg"})
_BLOCKS = frozenset("p div li tr pre blockquote section article table ul ol dl dt dd br hr figure aside".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read(data: bytes, suffix: str) -> str:
    """Return the title and the chapters. Raises NoText."""
    return from_archive(data, "an EPUB", _text_of)


def _text_of(archive: zipfile.ZipFile) -> str:
    root = xml_of(archive, "META-INF/container.xml").find(".//{*}rootfile")
    place = root.attrib["full-path"] if root is not None else ""
    package = xml_of(archive, place)
    title = package.find(".//{*}metadata/{*}title")
    chapters = list(_chapters(archive, package, place))
    return titled((title.text or "") if title is not None else "", chapters)


def _chapters(archive: zipfile.ZipFile, package: Element, place: str) -> Iterator[str]:
    names = {item.attrib["id"]: item.attrib["href"] for item in package.iterfind(".//{*}manifest/{*}item")}
    encrypted = _encrypted(archive)
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        chapter = posixpath.normpath(
            posixpath.join(posixpath.dirname(place), unquote(names[reference.attrib["idref"]]))
        )
        if chapter in encrypted:
            raise NoText("encrypted")
        page = _Page()
        page.feed(archive.read(chapter).decode("utf-8-sig", "replace"))
        yield page.text()


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of encrypted files; most books only have encrypted fonts."""
    if "META-INF/encryption.xml" not in archive.namelist():
        return set()
    found = xml_of(archive, "META-INF/encryption.xml").iterfind(".//{*}CipherReference")
    return {unquote(reference.attrib["URI"]) for reference in found}


class _Page(HTMLParser):
    """Collects the text of a page, in which headings begin with `#`."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._current: list[str] = []
        self._hidden = 0
        self._is_preformatted = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS or tag in _HEADINGS:
            self._end_block()
        elif tag in ("td", "th"):
            self._current.append(" | ")
        self._is_preformatted = self._is_preformatted or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _HEADINGS:
            self._end_block(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self._end_block()
        self._is_preformatted = self._is_preformatted and tag != "pre"

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._current.append(data if self._is_preformatted else re.sub(r"\s+", " ", data))

    def text(self) -> str:
        self.close()
        self._end_block()
        return joined(self._parts)

    def _end_block(self, level: int = 0) -> None:
        text = "".join(self._current)
        text = text.strip("\n") if self._is_preformatted else text.strip()
        self._current = []
        if text.strip():
            self._parts.append(whole_heading(level + 1, text) if level else body(text))
