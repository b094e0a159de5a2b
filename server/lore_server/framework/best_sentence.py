"""Find the sentence of a document that best matches a query: in its prose, or in the comments of code."""

import re
import textwrap
from collections.abc import Iterable, Iterator

from lore_etl.core.model import Chunk
from lore_etl.sources.source import is_code
from lore_server.query.proximity import stems_of

LONGEST = 200  # characters
SHORTEST = 20
MIN_COMMENT_WORDS = 4
PROSE_SHARE = 0.75
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[])")
_NOISE = re.compile(r"^(?:#{1,6} |```|~~~|\|[-: |]+\|?$|[-=+~^*\s]{3,}$|<!--)")  # headings, fences, borders of tables
_MARKER = re.compile(r"^\s*(?:[-*+] |\d+[.)] |> ?|# ?|//+ ?|\*+ ?|\"\"\")")
_COMMENT = re.compile(r"^\s*(?:#+|//+|/\*+|\*+/?)\s?")
_STATEMENT = re.compile(r"^(?:from \S+ import|import|export|return|raise|yield|del|assert) ")
_QUOTES = re.compile(r"\"{3}|'{3}|\*/")
_PLAIN = re.compile(r"^[\"'`(\[]*[A-Za-z][a-zA-Z'-]*[\"'`)\].,:;!?]*$")


def best_sentence(wanted: frozenset[str], chunks: Iterable[Chunk]) -> str:
    """Return the piece with the most wanted stems, the first if several tie, cut between words at 200 characters."""
    return max(_pieces(chunks), key=lambda piece: len(wanted & stems_of(piece)), default="")


def _pieces(chunks: Iterable[Chunk]) -> Iterator[str]:
    """Yield sentences, or the lines of a text without any. Long sentences are split, with `…` at each cut."""
    for chunk in chunks:
        for text in list(sentences(chunk)) or filter(None, map(str.strip, chunk.text.split("\n"))):
            parts = [text] if len(text) <= LONGEST else textwrap.wrap(text, LONGEST - 2)
            for number, part in enumerate(parts):
                yield ("…" if number else "") + part + ("…" if number + 1 < len(parts) else "")


def sentences(chunk: Chunk) -> Iterator[str]:
    """Yield the sentences of a chunk in order; the lines of a paragraph are joined first."""
    for text in _comments(chunk.text) if is_code(chunk.source) else _paragraphs(chunk.text):
        yield from (piece for piece in _END.split(text) if len(piece) >= SHORTEST)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items, without headings, fences and the borders of tables."""
    block: list[str] = []
    in_fence = False
    for line in [*text.split("\n"), ""]:
        fence = line.lstrip().startswith(("```", "~~~"))
        new_item = bool(_MARKER.match(line)) or line.lstrip().startswith("|")
        if block and (not line.strip() or fence or in_fence or new_item or _NOISE.match(line)):
            yield " ".join(block)
            block = []
        in_fence = in_fence != fence
        if line.strip() and not fence and not _NOISE.match(line):
            block.append(_MARKER.sub("", line).strip() if not in_fence else line.strip())


def _comments(text: str) -> Iterator[str]:
    """Yield the comments in code that read like prose."""
    block: list[str] = []
    for line in [*text.split("\n"), ""]:
        words = _QUOTES.sub("", _COMMENT.sub("", line)).strip()
        tokens = words.split()
        plain = sum(bool(_PLAIN.match(token)) for token in tokens)
        is_prose = tokens and plain >= PROSE_SHARE * len(tokens) and not _STATEMENT.match(words)
        if is_prose and (block or len(tokens) >= MIN_COMMENT_WORDS):  # the first line of a comment needs several words
            block.append(words)
        elif block:
            yield " ".join(block)
            block = []
