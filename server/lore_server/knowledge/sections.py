"""Sections of a main document: what stands below a `## Header`, its deeper headings included. From text to text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore_etl.core.errors import InvalidArgument, InvalidContent, SectionExists, SectionNotFound
from lore_etl.core.headings import Heading, Outline, heading_line, heading_of, line_end, lines_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.chapter_edit import Place, inserted, spaced
from lore_server.knowledge.document import stripped

LEVEL = 2
_HEADER = re.compile(r"^##\s+\S")


def section_titles(text: str) -> list[str]:
    """The titles of the sections, in their order."""
    return [heading.title for heading in outline(text).headings if heading.level == LEVEL]


def update_section(text: str, header: str, content: str) -> str:
    """Replace what stands below a header.

    Raises:
        SectionNotFound: there is none.
        InvalidContent: the content would run into other sections.
    """
    found = outline(text)
    index, heading = _find(found, header)
    body, eol = _body(content, heading.title), line_end(text)
    end = _end(found, index)
    head = found.lines[heading.line].rstrip("\r\n") + eol
    lines = [*found.lines[: heading.line], head, *spaced(body, eol, end < len(found.lines)), *found.lines[end:]]
    return _finished(lines, section_titles(text))


def add_section(text: str, header: str, content: str, place: Place = "end", reference: str | None = None) -> str:
    """Add a section: at the end, or before or after another.

    Raises:
        SectionExists: there is one of that header.
        SectionNotFound: the reference is none.
        InvalidContent: the content would run into other sections.
    """
    found, title = outline(text), _title(header)
    titles = section_titles(text)
    if title in titles:
        raise SectionExists(f"The section `{header.strip()}` already exists.")
    at, index = len(found.lines), len(titles)
    if place != "end":
        if reference is None:
            raise InvalidArgument(f"`{place}` needs a reference header.")
        number, heading = _find(found, reference)
        at = heading.line if place == "before" else _end(found, number)
        index = sum(one.level == LEVEL and one.line < at for one in found.headings)
    block = f"{heading_line(LEVEL, title)}\n\n{_body(content, title)}".rstrip("\n")
    lines = inserted(found.lines, at, block, line_end(text))
    return _finished(lines, [*titles[:index], title, *titles[index:]])


def remove_section(text: str, header: str) -> str:
    """Remove a section with everything in it.

    Raises:
        SectionNotFound: there is none.
    """
    found = outline(text)
    index, heading = _find(found, header)
    end = _end(found, index)
    kept = [one.title for one in found.headings if one.level == LEVEL and one.line != heading.line]
    return _finished([*found.lines[: heading.line], *found.lines[end:]], kept)


def _title(header: str) -> str:
    line = one_line(limits.checked_text(header, limits.TITLE_CHARACTERS * 4, "header"))
    read = heading_of(line)
    if not _HEADER.match(line) or read is None or not read[1] or len(line) > limits.TITLE_CHARACTERS:
        message = f"A section header is `## ` and a title of up to {limits.TITLE_CHARACTERS} characters."
        raise InvalidArgument(message)
    return read[1]


def _find(found: Outline, header: str) -> tuple[int, Heading]:
    title = _title(header)
    same = [(n, one) for n, one in enumerate(found.headings) if one.level == LEVEL and one.title == title]
    if not same:
        raise SectionNotFound(f"The main document has no section `{header.strip()}`.")
    if len(same) > 1:
        message = f"The main document has {len(same)} sections `{header.strip()}`."
        raise InvalidArgument(message, "Rewrite the whole main document with distinct titles.")
    return same[0]


def _end(found: Outline, index: int) -> int:
    later = (one.line for one in found.headings[index + 1 :] if one.level <= LEVEL)
    return next(later, len(found.lines))


def _body(content: str, title: str) -> str:
    lines = lines_of(stripped(limits.checked_text(content, limits.CHAPTER_BYTES, "section")))
    if lines and heading_of(lines[0].rstrip("\r\n")) == (LEVEL, title):
        lines = lines_of(stripped("".join(lines[1:])))  # its own header came along with it
    body = "".join(line.rstrip("\r\n") + "\n" for line in lines).rstrip("\n")
    found = outline(body)
    if found.open_fence is not None:
        raise InvalidContent(f"The code fence in line {found.open_fence + 1} is never closed.")
    if other := next((one for one in found.headings if one.level <= LEVEL), None):
        message = f"The content contains the heading `{other.title}`, which would end the section."
        raise InvalidContent(message, "Add it as a section of its own, or use a deeper heading.")
    return body


def _finished(lines: Sequence[str], titles: Sequence[str]) -> str:
    text = "".join(lines)
    if section_titles(text) != list(titles):
        message = "The change would turn other sections into text or text into sections."
        raise InvalidContent(message, "Close the open code fence in the document, then call again.")
    return limits.checked_size(text, limits.DOCUMENT_BYTES, "main document")
