"""Read the prose of a document, neither front matter nor fenced code: its first paragraph, its tags and its rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from lore_etl.core.frontmatter import front_matter_lines
from lore_etl.core.headings import Outline, outline
from lore_etl.core.model import Document
from lore_etl.core.text import clip, first_distinct, one_line, storable

LONGEST = 200  # characters of an excerpt and of a rule
LONGEST_TAG, MAX_TAGS = 100, 50
MIN_PARAGRAPH = 20  # characters; shorter text is a label, a date or a separator
MIN_RULE = 6  # characters; a bare sign or word heads a list and is not a rule
HEADINGS = 3  # that serve as tags
_LEVELS = (2, 3)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:[ \t][^()]*)?\)")
_MARKS = re.compile(r"[*`\[\]]")
_COMMENT = re.compile(r"^[ \t]*(?:#+!?|//+!?|/\*+|\*+/?|--|\"{3}|'{3})?[ \t]?")
_BEFORE = re.compile(r"^(?:[ \t]|>|#{1,6}(?=[ \t])|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))*")
_NOISE = re.compile(r"^(?:[-=*_~+|: \t]*$|[ \t]*(?:#!|# -\*-|<!--))")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_INLINE_TAGS = re.compile(r"^[-*>#/\"' \t_]*tags?[ \t*_]*:[ \t*_]*(\S.*)$", re.IGNORECASE)
_SIGNS = re.compile(r"^\W+")
_DEMANDS = re.compile(r"\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b|[✅❌]")
# the sign for wrong is kept; without it, the rule would have the opposite meaning
_RIGHT = re.compile(r"✅\N{VARIATION SELECTOR-16}?")


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


def excerpt_of(text: ProseLines) -> str:
    """Return the first informative paragraph, or comment of code, short enough for a list; else a heading."""
    first = ""
    for paragraph in _paragraphs(text):
        first = first or paragraph
        if len(paragraph) > MIN_PARAGRAPH:
            return clip(paragraph, LONGEST)
    return clip(first or " ".join(heading.title for heading in text.outline.headings[:1]), LONGEST)


def _paragraphs(text: ProseLines) -> Iterator[str]:
    """Yield the paragraphs between blank lines, headings, fences and separators, as plain text."""
    run: list[str] = []
    last = 0
    for number, line in text.prose():
        is_break = not line.strip() or bool(_NOISE.match(line)) or (text.is_markdown and bool(_HEADING.match(line)))
        if run and (is_break or number != last + 1):
            yield " ".join(run)
            run = []
        if not is_break and (plain := text.plain(line)):
            run.append(plain)
        last = number
    if run:
        yield " ".join(run)


class Rule(BaseModel):
    """A rule and its 1-based line."""

    model_config = ConfigDict(frozen=True)

    line: int
    text: str


def rules_of(text: ProseLines) -> tuple[Rule, ...]:
    """Return each line with MANDATORY, REQUIRED, FORBIDDEN, ✅ or ❌, in file order."""
    found = []
    for number, line in text.prose():
        if _DEMANDS.search(line):
            rule = clip(_RIGHT.sub("", text.plain(line)), LONGEST)
            if len(rule) >= MIN_RULE:
                found.append(Rule(line=number, text=rule))
    return tuple(found)


def tags_of(front: Mapping[str, object], text: ProseLines) -> tuple[str, ...]:
    """Return the tags in the front matter (none if empty), else in a line `Tags: a, b`, else the first headings."""
    listed = front.get("tags")
    if listed is not None:
        return _cleaned(listed if isinstance(listed, list) else str(listed).split(","))
    for _, line in text.prose():
        found = _INLINE_TAGS.match(line)
        if found and (tags := _cleaned(word.strip("[](){}`*_#\"' \t") for word in found[1].split(","))):
            return tags
    titles = (
        _SIGNS.sub("", text.plain(heading.title)).lower()
        for heading in text.outline.headings
        if heading.level in _LEVELS
    )
    return _cleaned(titles, HEADINGS)


def _cleaned(values: Iterable[object], limit: int = MAX_TAGS) -> tuple[str, ...]:
    plain = (str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    tags = (storable(one_line(value))[:LONGEST_TAG].strip() for value in plain)
    return first_distinct(filter(None, tags), limit)
