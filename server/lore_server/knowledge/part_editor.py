"""Change the parts of a text below its headings; all bytes outside the changed part stay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lore_etl.core.errors import InvalidArgument, InvalidContent, SectionExists
from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Heading, Outline, heading_line, heading_of, line_end, lines_of, outline
from lore_etl.core.text import one_line
from lore_server.knowledge import limits
from lore_server.knowledge.document import stripped, summary_of
from lore_server.knowledge.metadata import with_values

Place = Literal["end", "before", "after"]


class Edit(NamedTuple):
    """A change to a text: its description, to which the file name is added, and a function of the text and the time."""

    what: str
    change: Callable[[str, str], str]


@dataclass(frozen=True)
class PartKind:
    """The headings that begin a part (`levels`) and those that end it (`borders`, except deeper ones kept with it)."""

    name: str
    whole: str
    levels: range
    borders: range
    has_front_matter: bool
    most: int | None = None

    def outline(self, text: str) -> Outline:
        """Return the outline of a text that has such parts."""
        return outline(text, front_matter_lines(text) if self.has_front_matter else 0)

    def headings(self, found: Outline) -> list[Heading]:
        """Return the headings that begin parts."""
        return [heading for heading in found.headings if heading.level in self.levels]

    def checked_count(self, count: int) -> None:
        """Raise InvalidContent if there are too many parts."""
        if self.most is not None and count > self.most:
            message = f"A {self.whole} can have up to {self.most} {self.name}s, including subheadings, not {count}."
            raise InvalidContent(message, f"Create another {self.whole}.")

    def body(self, content: str, summary: str, title: str, level: int) -> str:
        """Return the body of a part, with the summary, if given, as its first paragraph. Raises InvalidContent."""
        start = one_line(limits.checked_text(summary, limits.CHAPTER_BYTES, "summary"))
        if len(start) > limits.SUMMARY_CHARACTERS:
            raise InvalidContent(f"A summary can have up to {limits.SUMMARY_CHARACTERS} characters, not {len(start)}.")
        body = self.checked(content, title, level, self.name, limits.CHAPTER_BYTES)
        if start and summary_of(body) != start:
            body = self.checked(f"{start}\n\n{body}", "", level, self.name, limits.CHAPTER_BYTES)
        return body

    def checked(self, content: str, title: str, level: int, name: str, most: int) -> str:
        """Return the content with `\\n` as line ends, and without its own heading and the empty lines around it.

        Raises:
            InvalidContent: it is longer than `most` bytes, or its headings or fences would affect other parts.
        """
        lines = lines_of(stripped(limits.checked_text(content, most, name)))
        first = heading_of(lines[0].rstrip("\r\n")) if lines else None
        if first and title and first[1] == title and first[0] <= level and self._may_head(first[0]):
            lines = lines_of(stripped("".join(lines[1:])))
        body = "".join(line.rstrip("\r\n") + "\n" for line in lines).rstrip("\n")
        found = outline(body)
        if found.open_fence is not None:
            line = found.open_fence + 1
            raise InvalidContent(
                f"The code fence in line {line} of the {name} is never closed.", "Close it, then retry."
            )
        if other := next(
            (heading for heading in found.headings if heading.level in self.borders and heading.level <= level), None
        ):
            message = f"The {name} contains the heading `{other.title}`, which would end the {name}."
            raise InvalidContent(message, f"Add it as a {self.name} of its own, or use a deeper heading.")
        return body

    def _may_head(self, level: int) -> bool:
        return level in self.levels or level not in self.borders


class PartEditor:
    """An editor that returns changed copies of a text. `now`, if given, is set as `updated` in the front matter.

    Its methods raise InvalidContent if the text would become too long, or if other parts would change.
    """

    def __init__(self, kind: PartKind, found: Outline, now: str | None = None) -> None:
        self._kind = kind
        self._now = now
        self._lines = found.lines
        self._borders = [heading for heading in found.headings if heading.level in kind.borders]
        self._eol = line_end("".join(found.lines[:1]))
        self.headings = kind.headings(found)

    def update(self, index: int, content: str, summary: str = "") -> str:
        """Replace the body of a part; its heading and the deeper parts below it stay.

        Raises:
            SectionExists: the content has a sub-heading that the part already has.
        """
        heading, end = self.headings[index], self._end(index)
        body = self._kind.body(content, summary, heading.title, heading.level)
        added = _titles(self._kind.headings(outline(body)))
        below = {heading.title for heading in self.headings if end <= heading.line < self._end_with_deeper(index)}
        if again := next((title for _, title in added if title in below), None):
            message = f"`{heading.title}` already has a sub{self._kind.name} `{again}`."
            raise SectionExists(message, "Update it by its own title.")
        if added:
            self._kind.checked_count(len(self.headings) + len(added))
        head = self._lines[heading.line].rstrip("\r\n") + "\n"
        block = f"{head}\n{body}\n" if body else head
        lines = self._of(block + "\n" * (end < len(self._lines)))
        titles = _titles(self.headings)
        return self._finished(heading.line, end, lines, [*titles[: index + 1], *added, *titles[index + 1 :]])

    def add(self, title: str, content: str, summary: str, place: Place, reference: int | None) -> str:
        """Add a part at the end, or before or after the reference, with the reference's level.

        Raises:
            SectionExists: a part already has that title.
            InvalidArgument: the place needs a reference.
        """
        if any(heading.title == title for heading in self.headings):
            raise SectionExists(f"The {self._kind.name} `{title}` already exists.")
        self._kind.checked_count(len(self.headings) + 1)
        at, level = self._spot(place, reference)
        body = self._kind.body(content, summary, title, level)
        added = [(level, title), *_titles(self._kind.headings(outline(body)))]
        block = self._of(f"{heading_line(level, title)}\n\n{body}".rstrip("\n") + "\n")
        before = self._lines[at - 1] if at else ""
        if before and not before.endswith(("\n", "\r")):
            block.insert(0, self._eol)
        if before.strip():
            block.insert(0, self._eol)
        index = sum(heading.line < at for heading in self.headings)
        titles = _titles(self.headings)
        after = [self._eol] if at < len(self._lines) else []
        return self._finished(at, at, [*block, *after], [*titles[:index], *added, *titles[index:]])

    def remove(self, index: int) -> str:
        """Remove a part and the deeper parts below it."""
        first, end = self.headings[index].line, self._end_with_deeper(index)
        kept = [heading for heading in self.headings if not first <= heading.line < end]
        return self._finished(first, end, [], _titles(kept))

    def _end(self, index: int) -> int:
        """Return the line after the body of a part."""
        first = self.headings[index].line
        return next((border.line for border in self._borders if border.line > first), len(self._lines))

    def _end_with_deeper(self, index: int) -> int:
        first, level = self.headings[index].line, self.headings[index].level
        return next(
            (border.line for border in self._borders if border.line > first and border.level <= level), len(self._lines)
        )

    def _spot(self, place: Place, reference: int | None) -> tuple[int, int]:
        """Return the line and the level of a new part."""
        if place == "end":
            return len(self._lines), self._kind.levels[0]
        if reference is None:
            raise InvalidArgument(f"`{place}` needs a reference {self._kind.name}.")
        heading = self.headings[reference]
        return heading.line if place == "before" else self._end_with_deeper(reference), heading.level

    def _of(self, text: str) -> list[str]:
        return lines_of(text.replace("\n", self._eol))

    def _finished(self, first: int, end: int, new: Sequence[str], titles: Sequence[tuple[int, str]]) -> str:
        """Return the text with the lines from `first` to `end` replaced, if it then has exactly the expected parts."""
        kind, text = self._kind, "".join([*self._lines[:first], *new, *self._lines[end:]])
        if self._now is not None:
            text = with_values(text, {"updated": self._now})
        if _titles(kind.headings(kind.outline(text))) != list(titles):
            message = f"The change would turn other {kind.name}s into text or text into {kind.name}s."
            raise InvalidContent(message, "Close the open code fence in the document, then call again.")
        return limits.checked_size(text, limits.DOCUMENT_BYTES, kind.whole)


def _titles(headings: Sequence[Heading]) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in headings]
