"""Passages to sentences that can be quoted: prose by its full stops, code by its lines, headings left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from server.answer.pack import Passage

LONGEST = 400
SHORTEST = 20
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[])")
_NOISE = re.compile(r"^(?:#{1,6} |```|~~~|\|[-: |]+\|?$|---+$|===+$|<!--)")
_MARKER = re.compile(r"^\s*(?:[-*+] |\d+[.)] |> ?|# ?|//+ ?|\*+ ?|\"\"\")")


@dataclass(frozen=True)
class Sentence:
    """A quotable piece of a passage with its lines in the file."""

    text: str
    passage: Passage
    lines: tuple[int, int]


def sentences(passage: Passage) -> Iterator[Sentence]:
    """The sentences of a passage in order; lines of a paragraph are joined before they are split."""
    first = passage.chunk.lines[0]
    for start, end, text in _paragraphs(passage.chunk.text):
        for piece in _END.split(text):
            if len(piece) >= SHORTEST:
                yield Sentence(piece[:LONGEST], passage, (first + start, first + end))


def _paragraphs(text: str) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, text) of runs of lines that belong together, from 0."""
    lines = text.split("\n")
    block: list[str] = []
    start, in_fence = 0, False
    for number, line in enumerate([*lines, ""]):
        fence = line.lstrip().startswith(("```", "~~~"))
        new_item = bool(_MARKER.match(line)) or line.lstrip().startswith("|")
        if block and (not line.strip() or fence or in_fence or new_item or _NOISE.match(line)):
            yield start, number - 1, " ".join(block)
            block = []
        in_fence = in_fence != fence
        if line.strip() and not fence and not _NOISE.match(line):
            if not block:
                start = number
            block.append(_MARKER.sub("", line).strip() if not in_fence else line.strip())
