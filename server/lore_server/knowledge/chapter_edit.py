"""Changes of a document's chapters: from text to text. What is not the chapter stays as it is, to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lore_etl.core.errors import InvalidArgument, InvalidContent, SectionExists
from lore_etl.core.headings import Heading, heading_line, heading_of, line_end, lines_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import CHAPTER_LEVELS, KnowledgeDocument, stripped, summary_of, titles_of
from lore_server.knowledge.metadata import Value, with_values, write_metadata

Place = Literal["end", "before", "after"]


class NewChapter(NamedTuple):
    """A chapter that is to be written."""

    title: str
    content: str
    summary: str = ""


@dataclass(frozen=True)
class Which:
    """One chapter of a document: its title, its index (from 0), or both."""

    title: str | None = None
    index: int | None = None


def new_document(
    title: str,
    introduction: str,
    keywords: Sequence[str],
    chapters: Sequence[NewChapter],
    now: str,
    supersedes: Sequence[str] = (),
    valid_until: str | None = None,
) -> str:
    """The text of a new document.

    Raises:
        InvalidContent: a part is too long, or its headings or fences would run into another.
    """
    if len(chapters) > limits.CHAPTERS:
        raise InvalidContent(f"A document can have up to {limits.CHAPTERS} chapters, not {len(chapters)}.")
    values: dict[str, Value] = {"title": limits.checked_title(title), "keywords": limits.checked_keywords(keywords)}
    values |= {"created": now, "updated": now}
    if supersedes:
        values["supersedes"] = tuple(limits.checked_title(name, "superseded document") for name in supersedes)
    if valid_until:
        values["valid_until"] = limits.checked_day(valid_until)
    start = _body(introduction, "", 1, "introduction", limits.INTRODUCTION_CHARACTERS)
    parts = [write_metadata(values), f"\n{start}\n" if start else ""]
    for chapter in chapters:
        name = limits.checked_title(chapter.title, "chapter title")
        body = _chapter_body(chapter.content, chapter.summary, name, CHAPTER_LEVELS[0])
        parts.append(f"\n{heading_line(CHAPTER_LEVELS[0], name)}\n\n{body}\n")
    return limits.checked_text("".join(parts), limits.DOCUMENT_BYTES, "document")


def rewritten(old: str, new: str, now: str) -> str:
    """The new text of a document, to the byte; but an `updated` that its writer left as it was becomes now.

    Raises:
        InvalidContent: it is too long, has too many chapters, or gets a `valid_until` that is not a date.
    """
    limits.checked_text(new, limits.DOCUMENT_BYTES, "document")
    before, after = KnowledgeDocument(old), KnowledgeDocument(new)
    day = after.metadata.valid_until
    if day and day != before.metadata.valid_until:
        limits.checked_day(day)
    if len(after.headings) > max(limits.CHAPTERS, len(before.headings)):
        raise InvalidContent(f"A document can have up to {limits.CHAPTERS} chapters, not {len(after.headings)}.")
    updated = after.metadata.updated
    return with_values(new, {"updated": now}) if new != old and updated and updated == before.metadata.updated else new


def update_chapter(text: str, which: Which, content: str, summary: str | None, now: str) -> str:
    """Replace what a chapter says. Its heading stays, its sub-chapters too.

    Without `summary` the content is taken as it is; with one it becomes the first paragraph.

    Raises:
        ChapterNotFound: there is none.
        InvalidContent: it is too long, or its headings or fences would run into other chapters.
        SectionExists: the content brings a sub-heading that the chapter has already.
    """
    document = KnowledgeDocument(text)
    index = document.position(which.title, which.index)
    heading = document.headings[index]
    body = _chapter_body(content, summary or "", heading.title, heading.level)
    lines, added = document.outline.lines, titles_of(_chapter_headings(body))
    end = document.end_of(index)
    below = _titles_between(document, end, document.end_with_subchapters(index))
    if again := next((title for _, title in added if title in below), None):
        raise SectionExists(f"`{heading.title}` already has a subchapter `{again}`.", "Update it by its own title.")
    eol = line_end(text)
    head = lines[heading.line].rstrip("\r\n") + eol
    changed = [*lines[: heading.line], head, *spaced(body, eol, end < len(lines)), *lines[end:]]
    titles = titles_of(document.headings)
    if added and len(titles) + len(added) > limits.CHAPTERS:
        raise InvalidContent(f"A document can have up to {limits.CHAPTERS} chapters, including subheadings.")
    return _finished(changed, [*titles[: index + 1], *added, *titles[index + 1 :]], now)


def add_chapter(text: str, chapter: NewChapter, now: str, place: Place = "end", reference: Which | None = None) -> str:
    """Add a chapter: at the end, or before or after another one, whose level it gets.

    Raises:
        SectionExists: a chapter has that title.
        ChapterNotFound: the reference is none.
        InvalidContent: there are too many chapters, it is too long, or it would run into others.
    """
    document = KnowledgeDocument(text)
    name = limits.checked_title(chapter.title, "chapter title")
    if any(heading.title == name for heading in document.headings):
        raise SectionExists(f"The chapter `{name}` already exists.")
    if len(document.headings) >= limits.CHAPTERS:
        raise InvalidContent(f"A document can have up to {limits.CHAPTERS} chapters.", "Create another document.")
    at, index, level = _spot(document, place, reference)
    body = _chapter_body(chapter.content, chapter.summary, name, level)
    added = [(level, name), *titles_of(_chapter_headings(body))]
    titles = titles_of(document.headings)
    changed = inserted(document.outline.lines, at, f"{heading_line(level, name)}\n\n{body}", line_end(text))
    return _finished(changed, [*titles[:index], *added, *titles[index:]], now)


def remove_chapter(text: str, which: Which, now: str) -> str:
    """Remove a chapter with its sub-chapters.

    Raises:
        ChapterNotFound: there is none.
    """
    document = KnowledgeDocument(text)
    index = document.position(which.title, which.index)
    first, end = document.headings[index].line, document.end_with_subchapters(index)
    kept = [heading for heading in document.headings if not first <= heading.line < end]
    lines = document.outline.lines
    return _finished([*lines[:first], *lines[end:]], titles_of(kept), now)


def _spot(document: KnowledgeDocument, place: Place, reference: Which | None) -> tuple[int, int, int]:
    """Where a new chapter goes: before which line, before which chapter, at which level."""
    if place == "end":
        return len(document.outline.lines), len(document.headings), CHAPTER_LEVELS[0]
    if reference is None:
        raise InvalidArgument(f"`{place}` needs a reference chapter.")
    index = document.position(reference.title, reference.index)
    level, first = document.headings[index].level, document.headings[index].line
    if place == "before":
        return first, index, level
    end = document.end_with_subchapters(index)
    return end, sum(heading.line < end for heading in document.headings), level


def _chapter_body(content: str, summary: str, title: str, level: int) -> str:
    start = one_line(limits.checked_text(summary, limits.CHAPTER_BYTES, "summary"))
    if len(start) > limits.SUMMARY_CHARACTERS:
        raise InvalidContent(f"A summary can have up to {limits.SUMMARY_CHARACTERS} characters, not {len(start)}.")
    body = _body(content, title, level, "chapter", limits.CHAPTER_BYTES)
    if start and summary_of(body) != start:
        body = _body(f"{start}\n\n{body}", "", level, "chapter", limits.CHAPTER_BYTES)
    return body


def _body(content: str, title: str, level: int, what: str, most: int) -> str:
    """The content with plain line ends and no empty lines around it, if it stays within its part of the document."""
    lines = lines_of(stripped(limits.checked_text(content, most, what)))
    first = heading_of(lines[0].rstrip("\r\n")) if lines else None
    if first and title and first[1] == title and first[0] <= level:
        lines = lines_of(stripped("".join(lines[1:])))  # its own heading came along with it
    body = "".join(line.rstrip("\r\n") + "\n" for line in lines).rstrip("\n")
    found = outline(body)
    if found.open_fence is not None:
        line = found.open_fence + 1
        raise InvalidContent(
            f"The code fence in line {line} of the {what} is never closed.", "Close it and call again."
        )
    lowest = level if level in CHAPTER_LEVELS else CHAPTER_LEVELS[-1]
    for heading in found.headings:
        if CHAPTER_LEVELS[0] <= heading.level <= lowest:
            message = f"The {what} contains the heading `{heading.title}`, which would start another chapter."
            raise InvalidContent(message, "Add it as a chapter of its own, or use a deeper heading.")
    return body


def _chapter_headings(body: str) -> list[Heading]:
    return [heading for heading in outline(body).headings if heading.level in CHAPTER_LEVELS]


def _titles_between(document: KnowledgeDocument, first: int, end: int) -> set[str]:
    return {heading.title for heading in document.headings if first <= heading.line < end}


def spaced(body: str, eol: str, is_followed: bool) -> list[str]:
    """The lines below a heading: an empty line, the body, and an empty line before what follows."""
    text = f"\n{body}\n" if body else ""
    return lines_of((text + "\n" * is_followed).replace("\n", eol))


def inserted(lines: Sequence[str], at: int, block: str, eol: str) -> list[str]:
    """The lines with a block among them, and an empty line on either side of it."""
    before, after = list(lines[:at]), list(lines[at:])
    if before and not before[-1].endswith(("\n", "\r")):
        before[-1] += eol
    if before and before[-1].strip():
        before.append(eol)
    return [*before, *_lines(block, eol), *([eol] if after else []), *after]


def _lines(block: str, eol: str) -> list[str]:
    return lines_of((block + "\n").replace("\n", eol))


def _finished(lines: Sequence[str], titles: Sequence[tuple[int, str]], now: str) -> str:
    """The text with `updated` set, if its chapters are those that the change meant to leave."""
    text = with_values("".join(lines), {"updated": now})
    if titles_of(KnowledgeDocument(text).headings) != list(titles):
        message = "The change would turn other chapters into text or text into chapters."
        raise InvalidContent(message, "Close the open code fence in the document, then call again.")
    return limits.checked_size(text, limits.DOCUMENT_BYTES, "document")
