"""Split a long text into parts whose concatenation is the text. Pure."""

from __future__ import annotations

import re

_LETTER = re.compile(r"\S")
_BORDERS = (
    re.compile(r"\n(?:[ \t]*\r?\n)+"),  # paragraphs
    re.compile(r"\n"),
    re.compile(r"\s"),
)


def parts_of(text: str, limit: int) -> list[str]:
    """Return parts of at most `limit` characters, cut after a paragraph, else a line, else a word, else anywhere."""
    parts, start = [], 0
    while len(text) - start > limit:
        end = _border(text, start, start + limit)
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]


def _border(text: str, start: int, end: int) -> int:
    begin = _LETTER.search(text, start, end)  # no part is blank
    if begin is None:
        return end
    for border in _BORDERS:
        if found := list(border.finditer(text, begin.start(), end)):
            return found[-1].end()
    return end
