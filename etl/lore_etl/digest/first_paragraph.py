"""Find the first informative paragraph of a document, short enough for a list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lore_etl.core.text import clip
from lore_etl.digest.prose_lines import ProseLines

LONGEST = 200  # characters
MIN_LENGTH = 20  # characters; shorter text is a label, a date or a separator
_NOISE = re.compile(r"^(?:[-=*_~+|: \t]*$|[ \t]*(?:#!|# -\*-|<!--))")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")


def excerpt_of(text: ProseLines) -> str:
    """Return the first paragraph after the title, or the first comment of code, clipped; else a heading."""
    first = ""
    for paragraph in _paragraphs(text):
        first = first or paragraph
        if len(paragraph) > MIN_LENGTH:
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
