"""Parse a knowledge document: front matter, an introduction and chapters. Pure; the text keeps every byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lore_etl.core.errors import ChapterNotFound, InvalidArgument
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Heading, Outline, outline
from lore_etl.core.text import one_line
from lore_server.knowledge.limits import SUMMARY_CHARACTERS
from lore_server.knowledge.metadata import Metadata, read_metadata

CHAPTER_LEVELS = range(2, 5)
_NO_PROSE = re.compile(r"^\s*(?:[-*+>|<]|`{3}|~{3}|\d+[.)]\s|#{1,6}(?:\s|$)|!\[)")


@dataclass(frozen=True)
class Chapter:
    """A heading of level 2 to 4 and the lines up to the next such heading."""

    index: int
    title: str
    level: int
    summary: str
    content: str


@dataclass(frozen=True)
class KnowledgeDocument:
    """A document as read. `text` is the unchanged content of the file; the rest is computed from it on demand."""

    text: str

    @cached_property
    def metadata(self) -> Metadata:
        return read_metadata(self.text)

    @cached_property
    def outline(self) -> Outline:
        return outline(self.text, front_matter_lines(self.text))

    @cached_property
    def headings(self) -> list[Heading]:
        """Return the headings of the chapters."""
        return [heading for heading in self.outline.headings if heading.level in CHAPTER_LEVELS]

    @cached_property
    def introduction(self) -> str:
        """Return the text between the front matter and the first chapter."""
        lines = self.outline.lines
        end = self.headings[0].line if self.headings else len(lines)
        return stripped("".join(lines[front_matter_lines(self.text) : end]).removeprefix("\ufeff"))

    @cached_property
    def title(self) -> str:
        """Return the title in the front matter, else the first heading of level 1, else an empty text."""
        named = (heading.title for heading in self.outline.headings if heading.level == 1)
        return self.metadata.title or next(named, "")

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        """Return all chapters, in the order of the document; a sub-heading starts a separate chapter."""
        found = []
        ends = [*(heading.line for heading in self.headings[1:]), len(self.outline.lines)]
        for index, (heading, end) in enumerate(zip(self.headings, ends, strict=False)):
            content = stripped("".join(self.outline.lines[heading.line + 1 : end]))
            found.append(Chapter(index, heading.title, heading.level, summary_of(content), content))
        return tuple(found)

    def chapter(self, title: str | None = None, index: int | None = None) -> Chapter:
        """Return a chapter by its title, by its index (from 0), or by both if several have the same title.

        Raises ChapterNotFound, and InvalidArgument if neither is given or several chapters have this title.
        """
        return self.chapters[position_of(self.headings, title, index)]


def position_of(chapters: Sequence[Heading], title: str | None, index: int | None) -> int:
    """Return the index of a chapter. Arguments and errors are those of `KnowledgeDocument.chapter`."""
    if title is None and index is None:
        raise InvalidArgument("Name the chapter by title or index.")
    titles = [heading.title for heading in chapters]
    name = None if title is None else one_line(title)
    found = [number for number, other in enumerate(titles) if name in (None, other) and index in (None, number)]
    if not found:
        named = " ".join([f"`{title}`"] * (title is not None) + [f"at index {index}"] * (index is not None))
        alike = [other for other in titles if name and other.casefold() == name.casefold()]
        hint = f"There is `{alike[0]}`: titles are case-sensitive." if alike else None
        raise ChapterNotFound(f"There is no chapter {named}.", hint)
    if len(found) > 1:
        raise InvalidArgument(f"{len(found)} chapters have the title `{title}`.", f"Add chapter_index: {found}.")
    return found[0]


def summary_of(content: str) -> str:
    """Return the first paragraph on one line, shortened; empty if the content does not begin with prose."""
    taken: list[str] = []
    for line in content.splitlines():
        if not line.strip() or _NO_PROSE.match(line):
            break
        taken.append(line)
    return one_line(" ".join(taken))[:SUMMARY_CHARACTERS]


def stripped(text: str) -> str:
    """Return the text without empty lines around it; the first line keeps its indent."""
    return re.sub(r"\A(?:[ \t]*(?:\r\n|\r|\n))+", "", text).rstrip()
