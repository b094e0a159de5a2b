"""Changes to a document's chapters, as pure functions from text to text; all other bytes stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.headings import heading_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import CHAPTER_LEVELS, KnowledgeDocument
from lore_server.knowledge.metadata import Value, with_values, write_metadata
from lore_server.knowledge.part_editor import PartEditor, PartKind, Place

CHAPTERS = PartKind("chapter", "document", CHAPTER_LEVELS, CHAPTER_LEVELS, has_front_matter=True, most=limits.CHAPTERS)


class NewChapter(NamedTuple):
    """A chapter to write."""

    title: str
    content: str
    summary: str = ""


@dataclass(frozen=True)
class Which:
    """A reference to a chapter of a document: its title, its index (from 0), or both."""

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


def rewritten(old: str, new: str, now: str) -> str:
    """Return the new text unchanged, except that an `updated` field equal to the old one is set to `now`.

    Raises:
        InvalidContent: the text is too long, has too many chapters, or gets a `valid_until` that is not a date.
    """
    limits.checked_text(new, limits.DOCUMENT_BYTES, "document")
    before, after = KnowledgeDocument(old), KnowledgeDocument(new)
    day = after.metadata.valid_until
    if day and day != before.metadata.valid_until:
        limits.checked_day(day)
    if len(after.headings) > len(before.headings):
        CHAPTERS.checked_count(len(after.headings))
    updated = after.metadata.updated
    return with_values(new, {"updated": now}) if new != old and updated and updated == before.metadata.updated else new


def update_chapter(text: str, which: Which, content: str, summary: str | None, now: str) -> str:
    """Replace the content of a chapter; its heading and its sub-chapters stay.

    A `summary`, if given, becomes the first paragraph.

    Raises:
        ChapterNotFound: the chapter does not exist.
        InvalidContent, SectionExists: see `PartEditor.update`.
    """
    document = KnowledgeDocument(text)
    return _editor(document, now).update(document.position(which.title, which.index), content, summary or "")


def add_chapter(text: str, chapter: NewChapter, now: str, place: Place = "end", reference: Which | None = None) -> str:
    """Add a chapter at the end, or before or after the reference, with the reference's level.

    Raises:
        ChapterNotFound: the reference does not exist.
        InvalidArgument, InvalidContent, SectionExists: see `PartEditor.add`.
    """
    document, name = KnowledgeDocument(text), limits.checked_title(chapter.title, "chapter title")
    position = document.position(reference.title, reference.index) if reference and place != "end" else None
    return _editor(document, now).add(name, chapter.content, chapter.summary, place, position)


def remove_chapter(text: str, which: Which, now: str) -> str:
    """Remove a chapter with its sub-chapters. Raises ChapterNotFound."""
    document = KnowledgeDocument(text)
    return _editor(document, now).remove(document.position(which.title, which.index))


def _editor(document: KnowledgeDocument, now: str) -> PartEditor:
    return PartEditor(CHAPTERS, document.outline, now)
