"""The answer service: retrieve, pack, write or quote. It always returns the references."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict

from lore_etl.config.settings import gemini_key
from lore_etl.core.errors import ProviderError
from lore_etl.index import Index
from lore_server.answer.bounds import bounded
from lore_server.answer.extractive import extract
from lore_server.answer.grounding import INSTRUCTION, NOT_FOUND, grounded, prompt
from lore_server.answer.links import REMOVED, without_links
from lore_server.answer.pack import Passage, pack
from lore_server.answer.streaming import AnswerStream
from lore_server.execution.progress import NOBODY, Listener, ignore_text
from lore_server.query.freshness import Freshness
from lore_server.query.outdated import outdated
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.syntax import Request, read_request
from lore_server.replies.excerpt import excerpt

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord, CitationRecord, ReferenceRecord

log = logging.getLogger(__name__)
QUOTE_CHARACTERS = 300


class WrittenAnswer(TypedDict):
    """The text of an answer, and its citations."""

    answer: str
    mode: str
    citations: list[CitationRecord]


class AnswerModel(Protocol):
    """A model that writes text."""

    def write(self, instruction: str, prompt: str, on_text: Callable[[str], None]) -> str:
        """Return the text, passing its pieces to `hear` as they arrive. Raises ProviderError."""
        ...


class AnswerService:
    """Answers questions; without a model, or if it fails, with quotes and the reason."""

    def __init__(self, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._index = index
        self._settings = index.settings.answer
        self._queries = queries
        self._freshness = freshness

    def ask(self, *, query: str, type: str | Sequence[str], limit: int, listener: Listener = NOBODY) -> AnswerRecord:
        """Return the result of `ask_knowledge_base`; `hear` receives a preview of the text as it grows.

        The listener gets the text as it grows; the result is the final version.
        """
        return bounded(self._answered(read_request(query, type), limit, listener.text))

    def _answered(self, request: Request, limit: int, on_text: Callable[[str], None]) -> AnswerRecord:
        found = self._queries.find(request.text, filters=request.filters, group_copies=True)
        passages = pack(found.ranked, found.candidates, limit, self._settings.context_tokens)
        nothing = "Nothing in the index answers this. Try other words, or another type."
        reply: AnswerRecord = {
            "answer": nothing,
            "mode": "extractive",
            "citations": [],
            "references": [_reference(found, n) for n in range(min(limit, len(found.ranked)))],
            "freshness": self._freshness.record(),
        }
        if found.doubt:
            reply["doubt"] = found.doubt
        if not passages:
            on_text(nothing)
            return reply
        writer, reason = self._writer()
        if writer is not None:
            stream = AnswerStream(passages, on_text)
            try:
                return {**reply, **self._synthesized(writer, found, passages, stream)}
            except ProviderError as error:
                log.warning("answer model failed: %s", error.message)
                reason = f"{error.message}; quoting passages instead"
            on_text = (
                ignore_text if stream.has_sent else on_text
            )  # quotes would look like the rest of the streamed answer
        return {**reply, **self._extractive(found, passages, on_text), "degraded": (reason or "")[:300]}

    def _writer(self) -> tuple[AnswerModel | None, str | None]:
        if self._settings.provider == "none":
            return None, "no answer model is configured (answer.provider); quoting passages instead"
        key = gemini_key()
        if key is None:
            return None, "no answer model: GEMINI_API_KEY is not set; quoting passages instead"
        from lore_server.answer.gemini_writer import GeminiWriter

        return GeminiWriter(self._settings, key), None

    def _synthesized(
        self, writer: AnswerModel, found: SearchOutcome, passages: Sequence[Passage], stream: AnswerStream
    ) -> WrittenAnswer:
        text = writer.write(INSTRUCTION, prompt(found.query.text, passages), stream.on_text)
        if NOT_FOUND in text:
            answer = "The indexed documents do not answer this; the references are the closest matches."
            stream.end(answer)
            return {"answer": answer, "mode": "synthesized", "citations": []}
        answer, cited = grounded(text, passages)
        if not cited or not answer:
            raise ProviderError("the answer model cited no passage")
        answer = answer[:60_000]
        stream.end(answer)
        by_number = {passage.number: passage for passage in passages}
        citations = [_citation(number, by_number[number], found) for number in sorted(cited)]
        return {"answer": answer, "mode": "synthesized", "citations": citations}

    def _extractive(
        self, found: SearchOutcome, passages: Sequence[Passage], on_text: Callable[[str], None]
    ) -> WrittenAnswer:
        embed = None if found.degraded else self._index.embedder.embed
        quotes = extract(found.query, passages, embed)
        texts = [_quoted(quote.text, quote.passage) for quote in quotes]
        lines = [f"- {text} [{number}]" for number, text in enumerate(texts, start=1)]
        citations = [
            _cited(number, quote.passage, quote.lines, quote.text, found)
            for number, quote in enumerate(quotes, start=1)
        ]
        for number, line in enumerate(lines):
            on_text(f"\n{line}" if number else line)
        return {"answer": "\n".join(lines), "mode": "extractive", "citations": citations}


def _quoted(text: str, passage: Passage) -> str:
    """Return a sentence of a passage without images and HTML."""
    try:
        return without_links(text, [passage.chunk.text])
    except ProviderError:
        return " ".join(re.findall(r"[\w.,;:-]+", REMOVED if "://" in text else text))


def _citation(number: int, passage: Passage, found: SearchOutcome) -> CitationRecord:
    quote = excerpt(passage.chunk.text, found.query.words, QUOTE_CHARACTERS)
    return _cited(number, passage, passage.chunk.lines, quote, found)


def _cited(number: int, passage: Passage, lines: tuple[int, int], quote: str, found: SearchOutcome) -> CitationRecord:
    record = outdated(passage.chunk, found.today)
    cited: CitationRecord = {"n": number, "source": passage.chunk.source, "lines": list(lines), "quote": quote}
    return {**cited, "outdated": record} if record else cited


def _reference(found: SearchOutcome, position: int) -> ReferenceRecord:
    result = found.ranked[position]
    chunk = result.chunk
    reference: ReferenceRecord = {
        "source": chunk.source,
        "type": chunk.type.value,
        "title": chunk.title,
        "lines": list(chunk.lines),
        "score": round(result.score, 3),
    }
    if record := outdated(chunk, found.today):
        reference["outdated"] = record
    return reference
