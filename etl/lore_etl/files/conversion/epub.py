"""Read an EPUB book: its chapters in reading order, with their headings."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from lore_etl.core.headings import heading_of
from lore_etl.core.html_markdown import html_blocks
from lore_etl.files.conversion.archive import from_archive, xml_of
from lore_etl.files.conversion.marked_text import NoText, body, joined, titled, whole_heading


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
        blocks = html_blocks(archive.read(chapter).decode("utf-8-sig", "replace"))
        yield joined([_marked(block) for block in blocks])


def _marked(block: str) -> str:
    """Return a heading below the title of the book, or another text."""
    heading = heading_of(block)
    return whole_heading(heading[0] + 1, heading[1]) if heading else body(block)


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of encrypted files; most books only have encrypted fonts."""
    if "META-INF/encryption.xml" not in archive.namelist():
        return set()
    found = xml_of(archive, "META-INF/encryption.xml").iterfind(".//{*}CipherReference")
    return {unquote(reference.attrib["URI"]) for reference in found}
