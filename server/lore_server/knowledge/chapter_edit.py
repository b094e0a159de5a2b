"""Changes to a document's chapters and to sections of a main document; all other bytes stay unchanged. Pure.

A section is a `## Header` with the text below it, including deeper headings. An edit raises ChapterNotFound or
SectionNotFound if its part does not exist, and the errors of `PartEditor`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.errors import InvalidArgument, SectionNotFound
from lore_etl.core.headings import Heading, heading_line, heading_of
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import CHAPTER_LEVELS, KnowledgeDocument, position_of
from lore_server.knowledge.metadata import Value, with_updated, write_metadata
from lore_server.knowledge.part_editor import Edit, PartEditor, PartKind, Place

CHAPTERS = PartKind("chapter", "document", CHAPTER_LEVELS, CHAPTER_LEVELS, has_front_matter=True, most=limits.CHAPTERS)
SECTIONS = PartKind("section", "main document", range(2, 3), range(1, 3), has_front_matter=False)
_HEADER = re.compile(r"^##\s+\S")


class NewChapter(NamedTuple):
    """A chapter to write."""

    title: str
    content: str
    summary: str = ""


@dataclass(frozen=True)
class ChapterReference:
    """A reference to a chapter of a document: its title, its index (from 0), or both."""

    title: str | None = None
    index: int | None = None

    def __str__(self) -> str:
        return f"'{self.title}'" if self.title is not None else f"{self.index}"

    def among(self, chapters: Sequence[Heading]) -> int:
        """Return the index of the chapter. Raises ChapterNotFound, InvalidArgument."""
        return position_of(chapters, self.title, self.index)


def new_document(
    title: str,
    introduction: str,
    keywords: Sequence[str],
    chapters: Sequence[NewChapter],
    now: str,
    supersedes: Sequence[str] = (),
    valid_until: str | None = None,
) -> str:
    """Return the text of a new document. Raises InvalidContent, see `PartKind.checked`."""
    CHAPTERS.check_count(len(chapters))
    values: dict[str, Value] = {"title": limits.checked_title(title), "keywords": limits.checked_keywords(keywords)}
    values |= {"created": now, "updated": now}
    if supersedes:
        values["supersedes"] = tuple(limits.checked_title(name, "superseded document") for name in supersedes)
    if valid_until:
        values["valid_until"] = limits.checked_day(valid_until)
    start = CHAPTERS.checked(introduction, "", CHAPTER_LEVELS[-1], "introduction", limits.INTRODUCTION_CHARACTERS)
    parts = [write_metadata(values), f"\n{start}\n" if start else ""]
    for chapter in chapters:
        name = limits.checked_title(chapter.title, "chapter title")
        body = CHAPTERS.body(chapter.content, chapter.summary, name, CHAPTER_LEVELS[0])
        parts.append(f"\n{heading_line(CHAPTER_LEVELS[0], name)}\n\n{body}\n")
    return limits.checked_text("".join(parts), limits.DOCUMENT_BYTES, "document")


def rewrite(new: str) -> Edit:
    """Replace the whole text; an unchanged `updated` field is set to the current time.

    Raises InvalidContent if it is too long, has too many chapters, or gets a `valid_until` that is not a date.
    """

    def change(old: str, now: str) -> str:
        limits.checked_text(new, limits.DOCUMENT_BYTES, "document")
        before, after = KnowledgeDocument(old), KnowledgeDocument(new)
        day, updated = after.metadata.valid_until, after.metadata.updated
        if day and day != before.metadata.valid_until:
            limits.checked_day(day)
        if len(after.headings) > len(before.headings):
            CHAPTERS.check_count(len(after.headings))
        is_dated = new != old and updated and updated == before.metadata.updated
        return with_updated(new, now) if is_dated else new

    return Edit("Updated", change)


def _edit(kind: PartKind, what: str, change: Callable[[PartEditor], str]) -> Edit:
    return Edit(what, lambda text, now: change(PartEditor(kind, text, now)))


def update_chapter(which: ChapterReference, content: str, summary: str | None = None) -> Edit:
    """Replace the content of a chapter, but not its heading and sub-chapters. A summary becomes the first paragraph."""
    return _edit(
        CHAPTERS,
        f"Updated chapter {which} in",
        lambda parts: parts.update(which.among(parts.headings), content, summary or ""),
    )


def add_chapter(chapter: NewChapter, place: Place = "end", reference: ChapterReference | None = None) -> Edit:
    """Add a chapter at the end, or before or after the reference, with the reference's level."""

    def change(parts: PartEditor) -> str:
        name = limits.checked_title(chapter.title, "chapter title")
        position = reference.among(parts.headings) if reference and place != "end" else None
        return parts.add(name, chapter.content, chapter.summary, place, position)

    return _edit(CHAPTERS, f"Added chapter '{chapter.title}' to", change)


def remove_chapter(which: ChapterReference) -> Edit:
    """Remove a chapter with its sub-chapters."""
    return _edit(CHAPTERS, f"Removed chapter {which} from", lambda parts: parts.remove(which.among(parts.headings)))


def update_section(header: str, content: str) -> Edit:
    """Replace the text below a header."""
    return _edit(
        SECTIONS,
        f"Updated section '{header.strip()}' in",
        lambda parts: parts.update(_section(parts.headings, header), content),
    )


def add_section(header: str, content: str, place: Place = "end", reference: str | None = None) -> Edit:
    """Add a section at the end, or before or after another."""

    def change(parts: PartEditor) -> str:
        title = _title(header)
        position = _section(parts.headings, reference) if reference is not None and place != "end" else None
        return parts.add(title, content, "", place, position)

    return _edit(SECTIONS, f"Added section '{header.strip()}' to", change)


def remove_section(header: str) -> Edit:
    """Remove a section with all its content."""
    return _edit(
        SECTIONS,
        f"Removed section '{header.strip()}' from",
        lambda parts: parts.remove(_section(parts.headings, header)),
    )


def _title(header: str) -> str:
    line = one_line(limits.checked_text(header, limits.TITLE_CHARACTERS * 4, "header"))
    read = heading_of(line)
    if not _HEADER.match(line) or read is None or not read[1] or len(line) > limits.TITLE_CHARACTERS:
        message = f"A section header is `## ` and a title of up to {limits.TITLE_CHARACTERS} characters."
        raise InvalidArgument(message)
    return read[1]


def _section(sections: Sequence[Heading], header: str) -> int:
    title = _title(header)
    same = [number for number, heading in enumerate(sections) if heading.title == title]
    if not same:
        raise SectionNotFound(f"The main document has no section `{header.strip()}`.")
    if len(same) > 1:
        message = f"The main document has {len(same)} sections `{header.strip()}`."
        raise InvalidArgument(message, "Rewrite the whole main document with distinct titles.")
    return same[0]
