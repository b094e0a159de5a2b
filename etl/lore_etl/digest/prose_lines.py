"""Find the prose lines of a document: neither front matter nor fenced code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Outline, outline
from lore_etl.core.model import Document

_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t][^()]*)?\)")
_MARKS = re.compile(r"[*`\[\]]")
_COMMENT = re.compile(r"^[ \t]*(?:#+!?|//+!?|/\*+|\*+/?|--|\"{3}|'{3})?[ \t]?")
_BEFORE = re.compile(r"^(?:[ \t]|>|#{1,6}(?=[ \t])|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")


class ProseLines:
    """A document, split into lines. Line numbers are 1-based."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.is_markdown = document.syntax == "markdown"

    @cached_property
    def outline(self) -> Outline:
        """The headings and fences of a Markdown text; empty for any other text."""
        if not self.is_markdown:
            return Outline([], [])
        return outline(self._document.text, front_matter_lines(self._document.text))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line, front matter and code included."""
        yield from enumerate(self._document.lines, 1)

    def prose(self) -> Iterator[tuple[int, str]]:
        """Yield the prose lines with their numbers."""
        skipped = front_matter_lines(self._document.text) if self.is_markdown else 0
        for number, line in enumerate(self._document.lines[skipped:], skipped + 1):
            if number - 1 not in self.outline.fenced:
                yield number, line

    def plain(self, line: str) -> str:
        """Return a line without its markup."""
        if not self.is_markdown:
            return _COMMENT.sub("", line, count=1).replace('"""', "").replace("'''", "").strip()
        return _MARKS.sub("", _LINK.sub(r"\1", _BEFORE.sub("", line))).strip()
