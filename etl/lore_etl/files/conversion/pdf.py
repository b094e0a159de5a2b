"""Read a PDF file page by page."""

import re
from collections import defaultdict

import pypdfium2

from lore_etl.files.conversion.marked_text import NoText, body, heading, titled

MAX_PAGES = 5_000
SHOWN_TITLES = 3
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_HYPHEN = re.compile("[\x02\ufffe]\n?(.?)")  # how versions of PDFium mark a word that is divided at the end of a line


def read(data: bytes, suffix: str) -> str:
    """Return a heading for each page, with the chapters that begin on it, and its text. Raises NoText."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        is_encrypted = getattr(error, "err_code", None) == _PASSWORD
        raise NoText("encrypted: it needs a password" if is_encrypted else "damaged, or not a PDF file") from error
    if len(document) > MAX_PAGES:
        raise NoText(f"too large: {len(document):,} pages, the limit is {MAX_PAGES:,}")
    parts = list[str]()
    chapters, chapter = _chapters(document), ""
    for number, page in enumerate(document):
        raw = page.get_textpage().get_text_bounded()
        page.close()
        text = _HYPHEN.sub(_rejoined, raw.replace("\r\n", "\n").replace("\r", "\n"))
        begun = chapters.get(number, [])
        title = "; ".join(begun[:SHOWN_TITLES]) or chapter
        chapter = begun[-1] if begun else chapter
        if text.strip():
            parts += [heading(2, f"Page {number + 1}: {title}" if title else f"Page {number + 1}"), body(text)]
    if not parts:
        raise NoText("it contains no text, only pictures")
    return titled(str(document.get_metadata_dict().get("Title", "")), parts)


def _rejoined(hyphen: re.Match[str]) -> str:
    """Return the second half of a word; a capital letter begins another word, as in `Anglo-Saxon`."""
    return hyphen[1] if hyphen[1].islower() else f"-{hyphen[1]}"


def _chapters(document: pypdfium2.PdfDocument) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for entry in document.get_toc():
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            found[page].append(entry.get_title())
    return found
