"""Read a PDF file page by page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import dropwhile, takewhile

import pypdfium2

from lore_etl.core.text import one_line
from lore_etl.files.conversion.marked_text import MAX_HEADING, NoText, body, heading, real_title, titled

MAX_PAGES = 5_000
SHOWN_TITLES = 3
FIRST = 3_000  # characters of the first page that may contain the title
LARGER = 1.15  # times the usual height of letters: that of a title
_LETTERS = re.compile(r"[^\W\d_]{3}")
_TITLE = re.compile(r"(?!Page\b|Dear\b)[^\W\d_a-z](?=.*[^\W\d_]{3}).{0,78}[^\s.,:;!?-]")
"""A line that reads like a title: it is short, begins with a capital letter, and is no sentence."""
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
    for number, text in enumerate(_pages(document)):
        begun = chapters.get(number, [])
        title = "; ".join(begun[:SHOWN_TITLES]) or chapter
        chapter = begun[-1] if begun else chapter
        if text.strip():
            parts += [heading(2, f"Page {number + 1}: {title}" if title else f"Page {number + 1}"), body(text)]
    if not parts:
        raise NoText("it contains no text, only pictures")
    declared = str(document.get_metadata_dict().get("Title", ""))
    return titled(declared if real_title(declared) else _title(document[0]), parts)


def _title(page: pypdfium2.PdfPage) -> str:
    """Return the first lines in letters that are larger than most, or a first line that reads like a title."""
    lines = _lines(page)
    if not lines:
        return ""
    sizes = sorted(size for text, size in lines for _ in text)
    usual, largest = sizes[len(sizes) // 2], sizes[-1]
    if largest > LARGER * usual:
        large = takewhile(
            lambda line: line[1] > 0.99 * largest, dropwhile(lambda line: line[1] <= 0.99 * largest, lines)
        )
        title = one_line(" ".join(text for text, _ in large))
        return title if _LETTERS.search(title) and len(title) <= MAX_HEADING else ""
    first = one_line(lines[0][0])
    return first if len(lines) > 1 and _TITLE.fullmatch(first) else ""


def _lines(page: pypdfium2.PdfPage) -> list[tuple[str, float]]:
    """Return the first lines of a page, with the height of the highest letter of each."""
    text = page.get_textpage()
    found, line, height = list[tuple[str, float]](), "", 0.0
    for number in range(min(text.count_chars(), FIRST)):
        character = text.get_text_range(number, 1)
        if character in ("\r", "\n", "\r\n"):
            found.append((line, height))
            line, height = "", 0.0
        elif character.strip():
            _, bottom, _, top = text.get_charbox(number, loose=True)
            line, height = line + character, max(height, top - bottom)
        else:
            line += " "
    return [(line, height) for line, height in (*found, (line, height)) if line.strip()]


def _pages(document: pypdfium2.PdfDocument) -> Iterator[str]:
    for page in document:
        text = page.get_textpage().get_text_bounded()
        page.close()
        yield _HYPHEN.sub(_rejoined, text.replace("\r\n", "\n").replace("\r", "\n"))


def _rejoined(hyphen: re.Match[str]) -> str:
    """Return the second half of a word; a capital letter begins another word, as in `Anglo-Saxon`."""
    return hyphen[1] if hyphen[1].islower() else f"-{hyphen[1]}"


def _chapters(document: pypdfium2.PdfDocument) -> dict[int, list[str]]:
    """Return the titles in the outline by the number of their page."""
    found: dict[int, list[str]] = defaultdict(list)
    for entry in document.get_toc():
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            found[page].append(entry.get_title())
    return found
