"""Read an EPUB book: its chapters in reading order, with their headings."""

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element, fromstring

from lore_etl.core.headings import heading_of
from lore_etl.core.html_markdown import html_blocks
from lore_etl.files.conversion.archive import open_archive, read_xml
from lore_etl.files.conversion.marked_text import NoText, body, joined, titled, whole_heading


def read(data: bytes, suffix: str) -> str:
    with open_archive(data, "an EPUB") as archive:
        root = fromstring(read_xml(archive, "META-INF/container.xml")).find(".//{*}rootfile")
        place = root.attrib["full-path"] if root is not None else ""
        package = fromstring(read_xml(archive, place))
        title = package.find(".//{*}metadata/{*}title")
        return titled((title.text or "") if title is not None else "", list(_chapters(archive, package, place)))


def _chapters(archive: zipfile.ZipFile, package: Element, place: str) -> Iterator[str]:
    names = {item.attrib["id"]: item.attrib["href"] for item in package.iterfind(".//{*}manifest/{*}item")}
    encrypted = set[str]()  # most books only have encrypted fonts
    if "META-INF/encryption.xml" in archive.namelist():
        found = fromstring(read_xml(archive, "META-INF/encryption.xml")).iterfind(".//{*}CipherReference")
        encrypted = {unquote(reference.attrib["URI"]) for reference in found}
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        name = unquote(names[reference.attrib["idref"]])
        chapter = posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
        if chapter in encrypted:
            raise NoText("encrypted")
        blocks = html_blocks(archive.read(chapter).decode("utf-8-sig", "replace"))
        headed = ((heading_of(block), block) for block in blocks)
        yield joined([whole_heading(found[0] + 1, found[1]) if found else body(block) for found, block in headed])
