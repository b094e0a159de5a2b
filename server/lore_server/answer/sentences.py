"""Split passages into quotable sentences: prose at full stops, code into its comments, without headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lore_etl.sources.source import is_code
from lore_server.answer.pack import Passage

LONGEST = 400
SHORTEST = 20
FEWEST_WORDS = 4
PROSE_SHARE = 0.75
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[])")
_NOISE = re.compile(r"^(?:#{1,6} |```|~~~|\|[-: |]+\|?$|[-=+~^*\s]{3,}$|<!--)")  # headings, fences, borders of tables
_MARKER = re.compile(r"^\s*(?:[-*+] |\d+[.)] |> ?|# ?|//+ ?|\*+ ?|\"\"\")")
_COMMENT = re.compile(r"^\s*(?:#+|//+|/\*+|\*+/?)\s?")
_STATEMENT = re.compile(r"^(?:from \S+ import|import|export|return|raise|yield|del|assert) ")
_QUOTES = re.compile(r"\"{3}|'{3}|\*/")
_PLAIN = re.compile(r"^[\"'`(\[]*[A-Za-z][a-zA-Z'-]*[\"'`)\].,:;!?]*$")


@dataclass(frozen=True)
class Sentence:
    """A quotable part of a passage, with its lines in the file."""

    text: str
    passage: Passage
    lines: tuple[int, int]


def sentences(passage: Passage, longest: int = LONGEST) -> Iterator[Sentence]:
    """Yield the sentences of a passage in order, cut at `longest` characters; paragraphs are joined first."""
    first = passage.chunk.lines[0]
    paragraphs = _comments(passage.chunk.text) if is_code(passage.chunk.source) else _paragraphs(passage.chunk.text)
    for start, end, text in paragraphs:
        for piece in _END.split(text):
            if len(piece) >= SHORTEST:
                yield Sentence(piece[:longest], passage, (first + start, first + end))


def _paragraphs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of paragraphs; lines count from 0."""
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


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of comments in code that read like prose; lines count from 0."""
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.split("\n"), ""]):
        words = _QUOTES.sub("", _COMMENT.sub("", line)).strip()
        if _reads_like_prose(words, continues=bool(block)):
            start = start if block else number
            block.append(words)
        elif block:
            yield start, number - 1, " ".join(block)
            block = []


def _reads_like_prose(text: str, continues: bool) -> bool:
    """Return whether a line consists mostly of words; the first line of a comment needs several."""
    tokens = text.split()
    plain = sum(bool(_PLAIN.match(token)) for token in tokens)
    return (
        bool(tokens)
        and not _STATEMENT.match(text)
        and plain >= PROSE_SHARE * len(tokens)
        and (continues or len(tokens) >= FEWEST_WORDS)
    )
