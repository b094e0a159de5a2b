"""Build small documents: PDF by hand, Office files by their library, EPUB by zipfile."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from pathlib import Path

from office_oxide import PptxWriter, XlsxWriter, create_from_markdown

_ENCRYPTED = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]" % (
    b"41" * 32,
    b"42" * 32,
)


def pdf(*pages: str, chapters: tuple[str, ...] = (), is_encrypted: bool = False) -> bytes:
    """Return a PDF file with these lines on each page; each chapter begins on the page of the same number."""
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(count))
    outline = 4 + 2 * count
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % outline,
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        lines = text.encode("latin-1").replace(b"\n", b") Tj 0 -14 Td (")
        content = b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % lines
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    last = outline + len(chapters)
    objects.append(
        b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (outline + 1, last, len(chapters)) if chapters else b"<< >>"
    )
    for number, title in enumerate(chapters):
        following = b" /Next %d 0 R" % (outline + number + 2) if number + 1 < len(chapters) else b""
        objects.append(
            b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>"
            % (title.encode("latin-1"), outline, 4 + 2 * number, following)
        )
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    extra = _ENCRYPTED if is_encrypted else b""
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (size, extra, len(data))
    return data + head + trailer


def docx(markdown: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.docx")
        create_from_markdown(markdown, "docx", file)
        return file.read_bytes()


def xlsx(sheets: dict[str, list[list[str]]]) -> bytes:
    writer = XlsxWriter()
    for name, rows in sheets.items():
        sheet = writer.add_sheet(name)
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                writer.set_cell(sheet, row, column, cell)
    return bytes(writer.to_bytes())


def pptx(slides: dict[str, str]) -> bytes:
    writer = PptxWriter()
    for title, text in slides.items():
        slide = writer.add_slide()
        writer.set_slide_title(slide, title)
        writer.add_slide_text(slide, text)
    return bytes(writer.to_bytes())


def with_bullets(slides: bytes, *bullets: tuple[int, str]) -> bytes:
    """Return a presentation in which each text is replaced by bullets, given by their level and text."""
    paragraphs = "".join(
        f'<a:p><a:pPr lvl="{level}"><a:buChar char="-"/></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'
        for level, text in bullets
    )
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(slides)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.startswith("ppt/slides/slide"):
                data = re.sub(r"<a:p>.*?</a:p>", paragraphs, data.decode(), flags=re.DOTALL).encode()
            new.writestr(name, data)
    return target.getvalue()


def epub(chapters: dict[str, str], package: str = "", more: dict[str, bytes] | None = None) -> bytes:
    """Return a book; `package` replaces the whole package file, and `more` adds files."""
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = package or (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>Manual</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    files = {"META-INF/container.xml": container.encode(), "OEBPS/book.opf": package.encode(), **(more or {})}
    for number, (title, text) in enumerate(chapters.items()):
        page = f"<html><head><title>x</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
        files[f"OEBPS/c{number}.xhtml"] = page.encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def opendocument(content: str, more: dict[str, bytes] | None = None) -> bytes:
    """Return an OpenDocument file with this content below `office:body`."""
    spaces = "office text table draw:drawing presentation".split()
    names = " ".join(
        f'xmlns:{name.split(":")[0]}="urn:oasis:names:tc:opendocument:xmlns:{name.split(":")[-1]}:1.0"'
        for name in spaces
    )
    document = f"<office:document-content {names}><office:body>{content}</office:body></office:document-content>"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ({"content.xml": document.encode()} | (more or {})).items():
            archive.writestr(name, data)
    return target.getvalue()
