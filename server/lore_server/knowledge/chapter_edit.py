"""Changes to chapters, and to sections (`## Header`) of a main document; all other bytes stay unchanged. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from lore_etl.core.errors import InvalidArgument, InvalidContent, SectionExists, SectionNotFound
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Heading, Outline, heading_line, heading_of, line_end, lines_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import document
from lore_server.knowledge.document import CHAPTER_LEVELS, MOST_CHAPTERS, KnowledgeDocument, stripped, with_updated

Place = Literal["end", "before", "after"]


class Edit(NamedTuple):
    """A change to a text (by its time), and its description for that text, to which the file name is added."""

    what: Callable[[str], str]
    change: Callable[[str, str], str]


@dataclass(frozen=True)
class PartKind:
    """The headings that begin a part (`levels`) and those that end it (`borders`, except deeper ones kept with it)."""

    name: str
    whole: str
    levels: range
    borders: range
    has_front_matter: bool
    most: int = 0  # the maximum number of parts, if there is one
    mark: str = ""  # before the title wherever a part is named

    def shown(self, title: str) -> str:
        return f"{self.name} '{self.mark}{title}'"

    def headings(self, found: Outline) -> list[Heading]:
        return [heading for heading in found.headings if heading.level in self.levels]

    def check_count(self, count: int) -> None:
        if self.most and count > self.most:
            message = f"A {self.whole} can have up to {self.most} {self.name}s, including subheadings, not {count}."
            raise InvalidContent(message, f"Create another {self.whole}.")

    def body(self, content: str, summary: str, title: str, level: int) -> str:
        """Return the body of a part, with the summary, if given, as its first paragraph. Raises InvalidContent."""
        start = one_line(document.checked_text(summary, document.CHAPTER_BYTES, "summary"))
        if len(start) > document.SUMMARY_CHARACTERS:
            message = f"A summary can have up to {document.SUMMARY_CHARACTERS} characters, not {len(start)}."
            raise InvalidContent(message)
        body = self.checked(content, title, level, self.name, document.CHAPTER_BYTES)
        if start and document.summary_of(body) != start:
            body = self.checked(f"{start}\n\n{body}", "", level, self.name, document.CHAPTER_BYTES)
        return body

    def checked(self, content: str, title: str, level: int, name: str, most: int) -> str:
        """Return the content with `\\n` as line ends, without its own heading. Raises InvalidContent."""
        lines = lines_of(stripped(document.checked_text(content, most, name)))
        own, text = (heading_of(lines[0].rstrip("\r\n")) if lines else None) or (0, "")
        if title and text == title and own <= level and (own in self.levels or own not in self.borders):
            lines = lines_of(stripped("".join(lines[1:])))
        body = "".join(line.rstrip("\r\n") + "\n" for line in lines).rstrip("\n")
        found = outline(body)
        if found.open_fence is not None:
            message = f"The code fence in line {found.open_fence + 1} of the {name} is never closed."
            raise InvalidContent(message, "Close it, then retry.")
        for heading in found.headings:
            if heading.level in self.borders and heading.level <= level:
                message = f"The {name} contains the heading `{heading.title}`, which would end the {name}."
                raise InvalidContent(message, f"Add it as a {self.name} of its own, or use a deeper heading.")
        return body


class PartEditor:
    """An editor that returns changed copies of a text, with `now` as its `updated`. May raise InvalidContent."""

    def __init__(self, part: "PartName", text: str, now: str = "") -> None:
        self._part = part
        self._kind = kind = part.kind
        self._now = now
        found = self._outline(text)
        self._lines = found.lines
        self._borders = [heading for heading in found.headings if heading.level in kind.borders]
        self.headings = kind.headings(found)

    def update(self, content: str, summary: str = "") -> str:
        """Replace the body of the part; its heading and the deeper parts below it stay. Raises SectionExists."""
        index = self._part.among(self.headings)
        heading, end = self.headings[index], self._end(index)
        body = self._kind.body(content, summary, heading.title, heading.level)
        added = _titles(self._kind.headings(outline(body)))
        below = {other.title for other in self._below(index)}
        if again := next((title for _, title in added if title in below), None):
            message = f"`{heading.title}` already has a sub{self._kind.name} `{again}`."
            raise SectionExists(message, "Update it by its own title.")
        if added:
            self._kind.check_count(len(self.headings) + len(added))
        head = self._lines[heading.line].rstrip("\r\n") + "\n"
        block = f"{head}\n{body}\n" if body else head
        titles = _titles(self.headings)
        titles[index + 1 : index + 1] = added
        return self._replaced(heading.line, end, block + "\n" * (end < len(self._lines)), titles)

    def add(self, title: str, content: str, summary: str, place: Place, reference: int | None) -> str:
        """Add a part at the end, or before or after the reference, with its level. Raises SectionExists."""
        if any(heading.title == title for heading in self.headings):
            raise SectionExists(f"The {self._kind.name} `{title}` already exists.")
        self._kind.check_count(len(self.headings) + 1)
        at, level = self._spot(place, reference)
        body = self._kind.body(content, summary, title, level)
        block = f"{heading_line(level, title)}\n\n{body}".rstrip("\n") + "\n"
        before = self._lines[at - 1] if at else ""
        if before and not before.endswith(("\n", "\r")):
            block = f"\n{block}"
        if before.strip():
            block = f"\n{block}"
        index = sum(heading.line < at for heading in self.headings)
        titles = _titles(self.headings)
        titles[index:index] = [(level, title), *_titles(self._kind.headings(outline(body)))]
        return self._replaced(at, at, block + "\n" * (at < len(self._lines)), titles)

    def remove(self) -> str:
        """Remove the part with the deeper parts below it."""
        index = self._part.among(self.headings)
        first, level, _ = self.headings[index]
        end = self._end(index, level)
        kept = [heading for heading in self.headings if not first <= heading.line < end]
        return self._replaced(first, end, "", _titles(kept))

    def name(self, is_whole: bool = False) -> str:
        """Return the kind and title of the part; if it `is_whole`, also the titles of the deeper parts below it."""
        index = self._part.among(self.headings)
        below = [f"'{heading.title}'" for heading in self._below(index)] if is_whole else []
        deeper = f" with its sub{self._kind.name}{'s' * (len(below) > 1)} {', '.join(below)}" if below else ""
        return self._kind.shown(self.headings[index].title) + deeper

    def _below(self, index: int) -> list[Heading]:
        first, level, _ = self.headings[index]
        return [heading for heading in self.headings if first < heading.line < self._end(index, level)]

    def _outline(self, text: str) -> Outline:
        return outline(text, front_matter_lines(text) if self._kind.has_front_matter else 0)

    def _end(self, index: int, level: int = 6) -> int:
        """Return the line of the next border of up to this level after a part's heading; 6 ends the part's own body."""
        first = self.headings[index].line
        ends = (border.line for border in self._borders if border.line > first and border.level <= level)
        return next(ends, len(self._lines))

    def _spot(self, place: Place, reference: int | None) -> tuple[int, int]:
        """Return the line and the level of a new part."""
        if place == "end":
            return len(self._lines), self._kind.levels[0]
        if reference is None:
            raise InvalidArgument(f"`{place}` needs a reference {self._kind.name}.")
        line, level, _ = self.headings[reference]
        return line if place == "before" else self._end(reference, level), level

    def _replaced(self, first: int, end: int, new: str, titles: Sequence[tuple[int, str]]) -> str:
        """Return the text with the lines from `first` to `end` replaced, if it then has exactly the expected parts."""
        kind, eol = self._kind, line_end("".join(self._lines[:1]))
        text = "".join([*self._lines[:first], new.replace("\n", eol), *self._lines[end:]])
        if kind.has_front_matter and text != "".join(self._lines):
            text = with_updated(text, self._now)
        if _titles(kind.headings(self._outline(text))) != list(titles):
            message = f"The change would turn other {kind.name}s into text or text into {kind.name}s."
            raise InvalidContent(message, "Close the open code fence in the document, then call again.")
        return document.checked_size(text, document.DOCUMENT_BYTES, kind.whole)


def _titles(headings: Sequence[Heading]) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in headings]


CHAPTERS = PartKind("chapter", "document", CHAPTER_LEVELS, CHAPTER_LEVELS, has_front_matter=True, most=MOST_CHAPTERS)
SECTIONS = PartKind("section", "main document", range(2, 3), range(1, 3), has_front_matter=False, mark="## ")
_HEADER = re.compile(r"^##\s+\S")


class NewChapter(NamedTuple):
    """A chapter of a new document."""

    title: str
    content: str
    summary: str = ""


@dataclass(frozen=True)
class ChapterName:
    """What a chapter of a document is called by: its title, its index (from 0), or both. A new one needs the title."""

    title: str | None = None
    index: int | None = None
    kind: ClassVar = CHAPTERS

    def checked_title(self) -> str:
        return document.checked_title(self.title or "", "chapter title")

    def among(self, chapters: Sequence[Heading]) -> int:
        """Return the index of the chapter. Raises ChapterNotFound, InvalidArgument."""
        return document.position_of(chapters, self.title, self.index)


@dataclass(frozen=True)
class SectionName:
    """The header of a section of a main document, such as `## Build`."""

    header: str
    kind: ClassVar = SECTIONS

    def checked_title(self) -> str:
        """Return the title in the header. Raises InvalidArgument."""
        most = document.TITLE_CHARACTERS
        line = one_line(document.checked_text(self.header, most * 4, "header"))
        read = heading_of(line)
        if not _HEADER.match(line) or read is None or not read[1] or len(line) > most:
            raise InvalidArgument(f"A section header is `## ` and a title of up to {most} characters.")
        return read[1]

    def among(self, sections: Sequence[Heading]) -> int:
        """Return the index of the section. Raises SectionNotFound, InvalidArgument."""
        title = self.checked_title()
        same = [number for number, heading in enumerate(sections) if heading.title == title]
        if not same:
            raise SectionNotFound(f"The main document has no section `{self.header.strip()}`.")
        if len(same) > 1:
            message = f"The main document has {len(same)} sections `{self.header.strip()}`."
            raise InvalidArgument(message, "Rewrite the whole main document with distinct titles.")
        return same[0]


PartName = ChapterName | SectionName


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
    values: dict[str, document.Value] = {
        "title": document.checked_title(title),
        "keywords": document.checked_keywords(keywords),
    }
    values |= {"created": now, "updated": now}
    if supersedes:
        values["supersedes"] = tuple(document.checked_title(name, "superseded document") for name in supersedes)
    if valid_until:
        values["valid_until"] = document.checked_day(valid_until)
    start = CHAPTERS.checked(introduction, "", CHAPTER_LEVELS[-1], "introduction", document.INTRODUCTION_CHARACTERS)
    parts = [document.write_metadata(values), f"\n{start}\n" if start else ""]
    for chapter in chapters:
        name = document.checked_title(chapter.title, "chapter title")
        body = CHAPTERS.body(chapter.content, chapter.summary, name, CHAPTER_LEVELS[0])
        parts.append(f"\n{heading_line(CHAPTER_LEVELS[0], name)}\n\n{body}\n")
    return document.checked_text("".join(parts), document.DOCUMENT_BYTES, "document")


def rewrite(new: str) -> Edit:
    """Replace the whole text; an unchanged `updated` field is set to the current time. Raises InvalidContent."""

    def change(old: str, now: str) -> str:
        document.checked_text(new, document.DOCUMENT_BYTES, "document")
        before, after = KnowledgeDocument(old), KnowledgeDocument(new)
        day, updated = after.metadata.valid_until, after.metadata.updated
        if day and day != before.metadata.valid_until:
            document.checked_day(day)
        if len(after.headings) > len(before.headings):
            CHAPTERS.check_count(len(after.headings))
        is_dated = new != old and updated and updated == before.metadata.updated
        return with_updated(new, now) if is_dated else new

    return Edit(lambda _: "Updated", change)


def update_part(part: PartName, content: str, summary: str = "") -> Edit:
    """Replace the content of a part, but not its heading and deeper parts. A summary becomes the first paragraph."""
    return Edit(
        lambda text: f"Updated {PartEditor(part, text).name()} in",
        lambda text, now: PartEditor(part, text, now).update(content, summary),
    )


def add_part(
    part: PartName, content: str, place: Place = "end", reference: PartName | None = None, summary: str = ""
) -> Edit:
    """Add a part at the end, or before or after the reference, with the reference's level."""

    def change(text: str, now: str) -> str:
        parts, title = PartEditor(part, text, now), part.checked_title()
        position = reference.among(parts.headings) if reference and place != "end" else None
        return parts.add(title, content, summary, place, position)

    return Edit(lambda _: f"Added {part.kind.shown(part.checked_title())} to", change)


def remove_part(part: PartName) -> Edit:
    return Edit(
        lambda text: f"Removed {PartEditor(part, text).name(is_whole=True)} from",
        lambda text, now: PartEditor(part, text, now).remove(),
    )
