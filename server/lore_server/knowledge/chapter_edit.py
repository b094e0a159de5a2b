"""Changes to a document's chapters and to sections of a main document; all other bytes stay unchanged. Pure.

A section is a `## Header` with the text below it, including deeper headings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.errors import InvalidArgument, SectionNotFound
from lore_etl.core.headings import heading_line, heading_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import CHAPTER_LEVELS, KnowledgeDocument
from lore_server.knowledge.metadata import Value, with_values, write_metadata
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

    def position(self, document: KnowledgeDocument) -> int:
        """Return the index of the chapter in a document. Raises ChapterNotFound, InvalidArgument."""
        return document.position(self.title, self.index)


def new_document(
    title: str,
    introduction: str,
    keywords: Sequence[str],
    chapters: Sequence[NewChapter],
    now: str,
    supersedes: Sequence[str] = (),
    valid_until: str | None = None,
) -> str:
    """Return the text of a new document.

    Raises:
        InvalidContent: a part is too long, or its headings or fences would affect another part.
    """
    CHAPTERS.checked_count(len(chapters))
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

    Raises:
        InvalidContent: the text is too long, has too many chapters, or gets a `valid_until` that is not a date.
    """

    def change(old: str, now: str) -> str:
        limits.checked_text(new, limits.DOCUMENT_BYTES, "document")
        before, after = KnowledgeDocument(old), KnowledgeDocument(new)
        day, updated = after.metadata.valid_until, after.metadata.updated
        if day and day != before.metadata.valid_until:
            limits.checked_day(day)
        if len(after.headings) > len(before.headings):
            CHAPTERS.checked_count(len(after.headings))
        is_dated = new != old and updated and updated == before.metadata.updated
        return with_values(new, {"updated": now}) if is_dated else new

    return Edit("Updated", change)


def update_chapter(which: ChapterReference, content: str, summary: str | None = None) -> Edit:
    """Replace the content of a chapter; its heading and its sub-chapters stay.

    A `summary`, if given, becomes the first paragraph.

    Raises:
        ChapterNotFound: the chapter does not exist.
        InvalidContent, SectionExists: see `PartEditor.update`.
    """

    def change(text: str, now: str) -> str:
        document = KnowledgeDocument(text)
        return _editor(document, now).update(which.position(document), content, summary or "")

    return Edit(f"Updated chapter {which} in", change)


def add_chapter(chapter: NewChapter, place: Place = "end", reference: ChapterReference | None = None) -> Edit:
    """Add a chapter at the end, or before or after the reference, with the reference's level.

    Raises:
        ChapterNotFound: the reference does not exist.
        InvalidArgument, InvalidContent, SectionExists: see `PartEditor.add`.
    """

    def change(text: str, now: str) -> str:
        document, name = KnowledgeDocument(text), limits.checked_title(chapter.title, "chapter title")
        position = reference.position(document) if reference and place != "end" else None
        return _editor(document, now).add(name, chapter.content, chapter.summary, place, position)

    return Edit(f"Added chapter '{chapter.title}' to", change)


def remove_chapter(which: ChapterReference) -> Edit:
    """Remove a chapter with its sub-chapters. Raises ChapterNotFound."""

    def change(text: str, now: str) -> str:
        document = KnowledgeDocument(text)
        return _editor(document, now).remove(which.position(document))

    return Edit(f"Removed chapter {which} from", change)


def _editor(document: KnowledgeDocument, now: str) -> PartEditor:
    return PartEditor(CHAPTERS, document.outline, now)


def update_section(header: str, content: str) -> Edit:
    """Replace the text below a header. Raises SectionNotFound, InvalidContent."""

    def change(text: str, _: str) -> str:
        editor = PartEditor(SECTIONS, outline(text))
        return editor.update(_position(editor, header), content)

    return Edit(f"Updated section '{header.strip()}' in", change)


def add_section(header: str, content: str, place: Place = "end", reference: str | None = None) -> Edit:
    """Add a section at the end, or before or after another. Raises SectionNotFound; see also `PartEditor.add`."""

    def change(text: str, _: str) -> str:
        editor, title = PartEditor(SECTIONS, outline(text)), _title(header)
        position = _position(editor, reference) if reference is not None and place != "end" else None
        return editor.add(title, content, "", place, position)

    return Edit(f"Added section '{header.strip()}' to", change)


def remove_section(header: str) -> Edit:
    """Remove a section with all its content. Raises SectionNotFound."""

    def change(text: str, _: str) -> str:
        editor = PartEditor(SECTIONS, outline(text))
        return editor.remove(_position(editor, header))

    return Edit(f"Removed section '{header.strip()}' from", change)


def _title(header: str) -> str:
    line = one_line(limits.checked_text(header, limits.TITLE_CHARACTERS * 4, "header"))
    read = heading_of(line)
    if not _HEADER.match(line) or read is None or not read[1] or len(line) > limits.TITLE_CHARACTERS:
        message = f"A section header is `## ` and a title of up to {limits.TITLE_CHARACTERS} characters."
        raise InvalidArgument(message)
    return read[1]


def _position(editor: PartEditor, header: str) -> int:
    title = _title(header)
    same = [number for number, heading in enumerate(editor.headings) if heading.title == title]
    if not same:
        raise SectionNotFound(f"The main document has no section `{header.strip()}`.")
    if len(same) > 1:
        message = f"The main document has {len(same)} sections `{header.strip()}`."
        raise InvalidArgument(message, "Rewrite the whole main document with distinct titles.")
    return same[0]
