"""Select the lines of a passage that match the query best, within a budget, and share a budget among results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NotRequired, TypedDict, TypeVar

from lore_etl.core.model import Chunk
from lore_server.replies.budget import prefix, size

SMALLEST_EXCERPT = 120
LARGEST_EXCERPT = 1_600
_WORD = re.compile(r"[^\W_]+")


class Excerpted(TypedDict):
    """A result with an excerpt of its text."""

    excerpt: str
    cut: NotRequired[bool]


Passage = TypeVar("Passage", bound=Excerpted)


def excerpt(text: str, words: Sequence[str], characters: int) -> str:
    """Return whole lines around the densest matches, at most `characters` long; `…` marks omitted text."""
    if len(text) <= characters:
        return text
    lines = text.split("\n")
    wanted = {word[:5] for word in words}
    hits = [len(wanted & {token.casefold()[:5] for token in _WORD.findall(line)}) for line in lines]
    first = last = max(range(len(lines)), key=lambda n: (hits[n] + 0.5 * sum(hits[n + 1 : n + 3]), -n))
    size = len(lines[first])
    if size > characters:
        return _within_line(lines[first], wanted, characters)
    while True:
        below = last + 1 < len(lines) and size + len(lines[last + 1]) + 1 <= characters - 4
        above = first > 0 and size + len(lines[first - 1]) + 1 <= characters - 4
        if below and (not above or hits[last + 1] >= hits[first - 1]):
            last += 1
            size += len(lines[last]) + 1
        elif above:
            first -= 1
            size += len(lines[first]) + 1
        else:
            break
    return ("…\n" if first else "") + "\n".join(lines[first : last + 1]) + ("\n…" if last + 1 < len(lines) else "")


def _within_line(line: str, wanted: set[str], characters: int) -> str:
    start = next((m.start() for m in _WORD.finditer(line) if m.group().casefold()[:5] in wanted), 0)
    start = max(0, start - characters // 4)
    end = start + characters - 2
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def fit_results(results: Sequence[Passage], texts: Sequence[str], words: Sequence[str], characters: int) -> int:
    """Give each result an excerpt, and `cut` if that is not all; return how many fit into so many characters."""
    left = characters
    for number, (result, text) in enumerate(zip(results, texts, strict=True)):
        before, left = left, left - size({**result, "excerpt": "", "cut": True}) - 2
        if left < (SMALLEST_EXCERPT if number else 0):
            return number
        others = len(results) - number - 1
        # the first results get up to twice an equal share
        share = left if not others else 2 * before // (others + 2) - (before - left)
        room = min(left, LARGEST_EXCERPT, max(SMALLEST_EXCERPT, share))
        result["excerpt"] = fitting_excerpt(text, words, room)
        if result["excerpt"] != text:
            result["cut"] = True
        left -= size(result["excerpt"]) - 2
    return len(results)


def fitting_excerpt(text: str, words: Sequence[str], characters: int) -> str:
    """Return an excerpt of at most `characters` characters as JSON."""
    shown, asked = excerpt(text, words, characters), characters
    while (taken := size(shown)) > characters + 2 and asked > SMALLEST_EXCERPT:
        asked = min(asked * 9 // 10, asked * characters // taken)
        shown = excerpt(text, words, asked)
    return prefix(shown, characters)


def whole_lines(chunks: Sequence[Chunk]) -> list[str]:
    """Return the lines of a file from its chunks. Lines without a chunk were blank; split lines are joined."""
    lines = [""] * max(chunk.lines[1] for chunk in chunks)
    for chunk in chunks:
        if chunk.columns is not None:
            lines[chunk.lines[0] - 1] += chunk.text
        else:
            lines[chunk.lines[0] - 1 : chunk.lines[1]] = chunk.text.split("\n")
    return lines
