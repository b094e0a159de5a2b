"""Changes to a document's chapters, as pure functions from text to text; all other bytes stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.headings import heading_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import CHAPTER_LEVELS, KnowledgeDocument
from lore_server.knowledge.metadata import Value, with_values, write_metadata
from lore_server.knowledge.part_editor import Edit, PartEditor, PartKind, Place

CHAPTERS = PartKind("chapter", "document", CHAPTER_LEVELS, CHAPTER_LEVELS, has_front_matter=True, most=limits.CHAPTERS)


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
