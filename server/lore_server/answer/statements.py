"""Read the statements of a model's reply as they arrive, and keep those whose quote is in the passage they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from lore_etl.core.errors import ProviderError
from lore_server.answer.answer_markdown import with_citation, with_closed_fence
from lore_server.answer.answer_model import UNREADABLE, ModelFailure, Statement
from lore_server.answer.links import without_links
from lore_server.answer.pack import Passage
from lore_server.answer.prompt import readable

MAX_REPLY = 200_000  # characters
MIN_QUOTE = 8  # characters without spaces; anything shorter is in every passage
_START = re.compile(r'"statements"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
# any brackets and digits that read as a citation, but not in code
_CITATION = re.compile(r"(?P<code>`+|~~~+)[\s\S]+?(?P=code)|\s*[\[［【〔〖⟦❲⦗⁅]\s*\^?\d[\d\s,;–-]*[\]］】〕〗⟧❳⦘⁆]")


class StatementReader:
    """The statements of a JSON text that arrives in pieces."""

    def __init__(self) -> None:
        self._text = ""
        self._position: int | None = None
        self._is_closed = False

    def feed(self, piece: str) -> Iterator[Statement | None]:
        """Yield the statements that the piece completes; None for a statement in an unexpected format."""
        self._text += piece
        if len(self._text) > MAX_REPLY:
            raise ModelFailure("the answer model's reply was too long")
        if self._position is None and (start := _START.search(self._text)):
            self._position = start.end()
        while self._position is not None and not self._is_closed:
            self._position = _skip(self._text, self._position)
            if self._text.startswith("]", self._position):
                self._is_closed = True
            elif "}" not in piece or (found := self._decoded(self._position)) is None:
                return
            else:
                value, self._position = found
                yield _statement(value)

    def end(self) -> None:
        """Check that the reply was complete. Raises ModelFailure."""
        if not self._is_closed:
            raise ModelFailure("the answer model's reply was empty" if not self._text.strip() else UNREADABLE)

    @property
    def size(self) -> int:
        """Return the length of the reply so far, in characters."""
        return len(self._text)

    def _decoded(self, start: int) -> tuple[object, int] | None:
        if start < len(self._text) and self._text[start] != "{":
            raise ModelFailure(UNREADABLE)
        try:
            return json.JSONDecoder().raw_decode(self._text, start)
        except json.JSONDecodeError:
            return None
        except RecursionError as error:
            raise ModelFailure(UNREADABLE) from error


def _skip(text: str, position: int) -> int:
    between = _BETWEEN.match(text, position)
    return between.end() if between else position


def _statement(value: object) -> Statement | None:
    try:
        return Statement.model_validate(value)
    except ValidationError:
        return None


@dataclass(frozen=True)
class Proof:
    """The lines of a passage that contain a quote; they count from the first line of the file."""

    passage: Passage
    lines: tuple[int, int]


@dataclass(frozen=True)
class VerifiedStatement:
    """A statement as Markdown with its citations, and where its quote is."""

    markdown: str
    proofs: tuple[Proof, ...]


def verified(statement: Statement | None, passages: Mapping[int, Passage]) -> VerifiedStatement | None:
    """Return the statement without its links and citations; None if none of its passages contains its quote."""
    if statement is None:
        return None
    named = [passages[number] for number in dict.fromkeys(statement.passages) if number in passages]
    proofs = tuple(proof for passage in named if (proof := _proof(statement.quote, passage)))
    if not proofs:
        return None
    marks = "".join(f"[{proof.passage.number}]" for proof in proofs)
    try:
        text = without_links(readable(statement.text), [statement.quote]).strip()
        text = _without_citations(with_closed_fence(text)).strip()
        markdown = with_citation(text, marks)
        is_safe = without_links(markdown, [statement.quote]) == markdown
    except ProviderError:  # its nesting is too deep for a reliable check
        return None
    return VerifiedStatement(markdown, proofs) if text and is_safe else None


def _without_citations(text: str) -> str:
    return _CITATION.sub(lambda match: match[0] if match["code"] else "", text)


def cited_lines(statements: Sequence[VerifiedStatement]) -> dict[int, tuple[Passage, tuple[int, int]]]:
    """Return each cited passage by its number, with the lines from its first to its last quote."""
    found: dict[int, tuple[Passage, tuple[int, int]]] = {}
    for proof in (proof for statement in statements for proof in statement.proofs):
        _, (first, last) = found.get(proof.passage.number, (proof.passage, proof.lines))
        found[proof.passage.number] = (proof.passage, (min(first, proof.lines[0]), max(last, proof.lines[1])))
    return dict(sorted(found.items()))


def _proof(quote: str, passage: Passage) -> Proof | None:
    words = readable(quote).split()
    if sum(map(len, words)) < MIN_QUOTE:
        return None
    text = readable(passage.chunk.text)
    match = re.search(r"\s+".join(map(re.escape, words)), text)
    if match is None:
        return None
    first = passage.chunk.lines[0] + text.count("\n", 0, match.start())
    return Proof(passage, (first, first + match[0].count("\n")))
