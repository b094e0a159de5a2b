"""Build small documents: PDF by hand, Office files by their library, EPUB by zipfile."""

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


def pdf(*pages: str, chapters: tuple[str, ...] = (), is_encrypted: bool = False, title: str = "") -> bytes:
    """Return a PDF file with these lines on each page; each chapter begins on the page of the same number.

    `title` is in the metadata.
    """
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
    for number, chapter in enumerate(chapters):
        following = b" /Next %d 0 R" % (outline + number + 2) if number + 1 < len(chapters) else b""
        objects.append(
            b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>"
            % (chapter.encode("latin-1"), outline, 4 + 2 * number, following)
        )
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode("latin-1").replace(b"(", b"\\(").replace(b")", b"\\)"))
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    extra = _ENCRYPTED if is_encrypted else b""
    extra += b" /Info %d 0 R" % len(objects) if title else b""
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF" % (size, extra, len(data))
    return data + head + trailer


def docx(markdown: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.docx")
        create_from_markdown(markdown, "docx", file)
        return file.read_bytes()


def word(body: str, **margins: str) -> bytes:
    """Return a Word file with paragraphs, `Style: text` each, and a part for each header and footer, such as `header1`.

    As in a German Word, the identifiers of styles are translated, and their names are not.
    """
    names = {"Titel": "Title", "berschrift1": "heading 1"}
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    word_ = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="' + office + '"'
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = {name: name.rstrip("0123456789") for name in margins} | {"styles": "styles"}
    mime = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    types = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{mime}.{kind}+xml"/>'
        for name, kind in {"document": "document.main", **kinds}.items()
    )
    links = "".join(
        f'<Relationship Id="{name}" Type="{office}/{kind}" Target="{name}.xml"/>' for name, kind in kinds.items()
    )
    used = "".join(
        f'<w:{kinds[name]}Reference w:type="{"first" if name.endswith("2") else "default"}" r:id="{name}"/>'
        for name in margins
    )
    section = f"<w:sectPr>{used}<w:titlePg/></w:sectPr>"
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{id_}"><w:name w:val="{name}"/></w:style>'
        for id_, name in names.items()
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType='
        f'"application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" Type="{office}'
        '/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        "word/styles.xml": f"<w:styles {word_}>{styles}</w:styles>",
        "word/document.xml": f"<w:document {word_}><w:body>{_paragraphs(body)}{section}</w:body></w:document>",
    }
    for name, text in margins.items():
        tag = "hdr" if kinds[name] == "header" else "ftr"
        files[f"word/{name}.xml"] = f"<w:{tag} {word_}>{_paragraphs(text)}</w:{tag}>"
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def _paragraphs(text: str) -> str:
    parts = (line.rpartition(": ")[::2] for line in text.split("\n"))
    return "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>' for style, words in parts
    )


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
