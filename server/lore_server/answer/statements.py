"""Write the prompt, with passages in a fence that they cannot close, and read statements whose quotes are in them."""

import json
import re
import secrets
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from lore_etl.core.errors import ProviderError
from lore_server.answer.answer_markdown import with_citation, with_closed_fence, without_links
from lore_server.answer.kept_answers import EarlierAnswer
from lore_server.answer.pack import Passage
from lore_server.answer.writer_interface import UNREADABLE, ModelFailure, Statement
from lore_server.replies.reply_text import span

MAX_REPLY = 200_000  # characters
MIN_QUOTE = 8  # characters without spaces; anything shorter is in every passage
_START = re.compile(r'"statements"\s*:\s*\[')
_BETWEEN = " \t\r\n,"
# any brackets and digits that read as a citation, but not in code; each run of marks or of spaces is tried once
_CITATION = re.compile(
    r"(?P<code>(?<!`)`{1,20}(?!`)|(?<!~)~{3,20}(?!~))[\s\S]+?(?P=code)"
    r"|(?<!\s)\s*[\[［【〔〖⟦❲⦗⁅]\s*\^?\d[\d\s,;–-]*[\]］】〕〗⟧❳⦘⁆]"
)
_HIDDEN = ("Cc", "Cf", "Co", "Cn", "Cs")
_CONTROLS = {
    code: None for code in range(128) if unicodedata.category(chr(code)) in _HIDDEN and chr(code) not in "\n\t"
}
_CITED = re.compile(r"(?<!\s)\s*\[\d+(?:\s*,\s*\d+)*\]")
MAX_EARLIER = 4_000  # characters


def readable(text: str) -> str:
    """Return the text without control and format characters, which can hide instructions from a reader."""
    if text.isascii():
        return text.translate(_CONTROLS)
    return "".join(one for one in text if one in "\n\t" or unicodedata.category(one) not in _HIDDEN)


def prompt(question: str, passages: Sequence[Passage], earlier: EarlierAnswer | None = None) -> str:
    """Return the question, the earlier exchange and the passages, fenced by a mark that they cannot predict."""
    mark = secrets.token_hex(8)
    parts = []
    for passage in passages:
        chunk = passage.chunk
        facts = {
            "from": f"{chunk.source}:{span(chunk.lines)}",
            "type": chunk.type.value,
            "heading": " > ".join(chunk.heading),
            "library": chunk.library,
            "state": chunk.state,
            "date": chunk.day,
            "valid_until": chunk.valid_until,
            "superseded_by": chunk.superseded_by,
        }
        quoted = {name: json.dumps(readable(value), ensure_ascii=False) for name, value in facts.items() if value}
        head = " ".join((f"number={passage.number}", *(f"{name}={value}" for name, value in quoted.items())))
        parts.append(f"<passage {mark} {head}>\n{readable(chunk.text)}\n</passage {mark}>")
    if earlier is not None and earlier.text:
        # without citations, because their numbers have changed
        exchange = f"Question: {earlier.question}\nAnswer: {_CITED.sub('', earlier.text)}"
        parts.append(f"<earlier {mark}>\n{readable(exchange[:MAX_EARLIER])}\n</earlier {mark}>")
    return "\n\n".join([*parts, f"Question: {readable(question)}"])


class StatementReader:
    """The statements of a JSON text that arrives in pieces."""

    def __init__(self) -> None:
        self.text = ""
        self._left: str | None = None
        """The text after the last statement, once the list of statements has begun."""
        self._is_closed = False

    def feed(self, piece: str) -> Iterator[Statement | None]:
        """Yield the statements that the piece completes; None for a statement in an unexpected format."""
        self.text += piece
        if len(self.text) > MAX_REPLY:
            raise ModelFailure("the answer model's reply was too long")
        if self._left is not None:
            self._left += piece
        elif start := _START.search(self.text):
            self._left = self.text[start.end() :]
        while self._left is not None and not self._is_closed:
            self._left = self._left.lstrip(_BETWEEN)
            self._is_closed = self._left.startswith("]")
            if self._is_closed or "}" not in piece or (found := _decoded(self._left)) is None:
                return
            value, end = found
            self._left = self._left[end:]
            try:
                yield Statement.model_validate(value)
            except ValidationError:
                yield None

    def end(self) -> None:
        if not self._is_closed:
            raise ModelFailure("the answer model's reply was empty" if not self.text.strip() else UNREADABLE)


def _decoded(text: str) -> tuple[object, int] | None:
    """Return the object at the beginning of a text, and its end; None if it is not complete."""
    if text and text[0] != "{":
        raise ModelFailure(UNREADABLE)
    try:
        return json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        return None
    except RecursionError as error:
        raise ModelFailure(UNREADABLE) from error


@dataclass(frozen=True)
class Proof:
    """The lines of a passage that contain a quote; they count from the first line of the file."""

    passage: Passage
    lines: tuple[int, int]


def verified(statement: Statement | None, passages: Mapping[int, Passage], cited: list[Proof]) -> str | None:
    """Return the statement without links, with its proofs, which `cited` collects; None if a quote is in no passage."""
    if statement is None or not statement.quotes:
        return None
    named = [passages[number] for number in dict.fromkeys(statement.passages) if number in passages]
    found = [[proof for passage in named if (proof := _proof(quote, passage))] for quote in statement.quotes]
    if not all(found):
        return None
    proofs = [*cited, *(proof for some in found for proof in some)]
    known = list(dict.fromkeys(proofs))
    marks = "".join(f"[{n}]" for n in sorted({known.index(proof) + 1 for some in found for proof in some}))
    try:
        text = without_links(readable(statement.text), statement.quotes).strip()
        text = _CITATION.sub(lambda match: match[0] if match["code"] else "", with_closed_fence(text)).strip()
        markdown = with_citation(text, marks)
        is_safe = without_links(markdown, statement.quotes) == markdown
    except ProviderError:  # its nesting is too deep for a reliable check
        return None
    if not text or not is_safe:
        return None
    cited[:] = known
    return markdown


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
