"""The answer service: retrieve, then answer from the class tree, by a model or with the best passages."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict

from lore_etl.config.settings import gemini_key
from lore_etl.core.errors import ProviderError
from lore_etl.core.model import KnowledgeType, Member
from lore_etl.index import Index
from lore_etl.relations.classes import ClassNode
from lore_etl.stores.file_facts import members_of
from lore_server.answer.bounds import bounded
from lore_server.answer.citations import definition_citation, passage_citation, reference
from lore_server.answer.class_questions import Fact, class_fact
from lore_server.answer.document_questions import document_fact
from lore_server.answer.evidence import choose, coverage, is_answered
from lore_server.answer.grounding import INSTRUCTION, NOT_FOUND, grounded, prompt
from lore_server.answer.lead import find_lead
from lore_server.answer.links import REMOVED, without_links
from lore_server.answer.pack import Passage, pack
from lore_server.answer.streaming import AnswerStream
from lore_server.execution.progress import NOBODY, Listener, ignore_text
from lore_server.query.filters import Filters
from lore_server.query.freshness import Freshness
from lore_server.query.query_service import QueryService, SearchOutcome
from lore_server.query.syntax import read_request
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.excerpt import excerpt, whole_lines

if TYPE_CHECKING:
    from lore_server.replies.records import AnswerRecord, CitationRecord

log = logging.getLogger(__name__)
QUOTE_CHARACTERS = 300
NOT_HERE = "This is not in this knowledge base. The references are the nearest documents."
EVIDENCE = "The best evidence:"
MORE_EVIDENCE = "More evidence:"
PASSAGE_SHARE = 0.7  # of the budget
Mode = Literal["synthesized", "extractive", "structural"]
EXTRACTIVE: Mode = "extractive"
STRUCTURAL: Mode = "structural"


class WrittenAnswer(TypedDict):
    """The text of an answer, and what it cites."""

    answer: str
    found: bool
    mode: Mode
    citations: list[CitationRecord]


class AnswerModel(Protocol):
    """A model that writes text."""

    def write(self, instruction: str, prompt: str, on_text: Callable[[str], None]) -> str:
        """Return the text, passing its pieces to `hear` as they arrive. Raises ProviderError."""
        ...


class AnswerService:
    """Answers questions; without a model, or if it fails, with passages and the reason."""

    def __init__(self, index: Index, queries: QueryService, freshness: Freshness) -> None:
        self._index = index
        self._settings = index.settings.answer
        self._queries = queries
        self._freshness = freshness

    def ask(
        self, *, query: str, type: str | Sequence[str], limit: int, max_tokens: int, listener: Listener = NOBODY
    ) -> AnswerRecord:
        """Return the result of `ask_knowledge_base`; the listener gets a preview of the text as it grows."""
        request = read_request(query, type)
        found = self._queries.find(request.text, filters=request.filters, group_copies=True)
        reply: AnswerRecord = {
            "answer": NOT_HERE,
            "found": False,
            "mode": "extractive",
            "citations": [],
            "confidence": round(found.confidence, 3),
            "references": [reference(found, n) for n in range(min(limit, len(found.ranked)))],
            "freshness": self._freshness.record(),
        }
        if found.doubt:
            reply["doubt"] = found.doubt
        is_wide = request.filters in (Filters(), Filters(types=(KnowledgeType.SRC,)))
        fact = class_fact(request.text, self._index.hierarchy, self._members) if is_wide else None
        if fact is not None:
            written = self._from_tree(fact)
            listener.text(written["answer"])
            return bounded({**reply, **written}, max_tokens)
        return bounded(self._answered(found, limit, max_tokens, reply, listener.text), max_tokens)

    def _answered(
        self, found: SearchOutcome, limit: int, max_tokens: int, reply: AnswerRecord, on_text: Callable[[str], None]
    ) -> AnswerRecord:
        writer, reason = self._writer()
        passages = pack(found.ranked, found.candidates, limit, self._settings.context_tokens) if writer else []
        if writer is not None and passages:
            stream = AnswerStream(passages, on_text)
            try:
                return {**reply, **self._synthesized(writer, found, passages, stream)}
            except ProviderError as error:
                log.warning("answer model failed: %s", error.message)
                reason = f"{error.message}; showing passages instead"
            on_text = ignore_text if stream.has_sent else on_text  # passages would read as the end of what was begun
        written = self._extractive(found, limit, max_tokens)
        on_text(written["answer"])
        return {**reply, **written, "degraded": (reason or "")[:300]}

    def _writer(self) -> tuple[AnswerModel | None, str | None]:
        if self._settings.provider == "none":
            return None, "no answer model is configured (answer.provider); showing passages instead"
        key = gemini_key()
        if key is None:
            return None, "no answer model: GEMINI_API_KEY is not set; showing passages instead"
        from lore_server.answer.gemini_writer import GeminiWriter

        return GeminiWriter(self._settings, key), None

    def _synthesized(
        self, writer: AnswerModel, found: SearchOutcome, passages: Sequence[Passage], stream: AnswerStream
    ) -> WrittenAnswer:
        text = writer.write(INSTRUCTION, prompt(found.query.text, passages), stream.on_text)
        if NOT_FOUND in text:
            answer = "The indexed documents do not answer this; the references are the closest matches."
            stream.end(answer)
            return {"answer": answer, "found": False, "mode": "synthesized", "citations": []}
        answer, cited = grounded(text, passages)
        if not cited or not answer:
            raise ProviderError("the answer model cited no passage")
        answer = answer[:60_000]
        stream.end(answer)
        by_number = {passage.number: passage for passage in passages}
        citations = []
        for number in sorted(cited):
            chunk = by_number[number].chunk
            quote = excerpt(chunk.text, found.query.words, QUOTE_CHARACTERS)
            citations.append(passage_citation(number, chunk, found.today, quote))
        return {"answer": answer, "found": True, "mode": "synthesized", "citations": citations}

    def _extractive(self, found: SearchOutcome, limit: int, max_tokens: int) -> WrittenAnswer:
        """Return the passages that answer best, with a sentence before them if one of them answers in one."""
        rarity = self._index.keywords.rarity
        named = document_fact(found, rarity)
        room = int(PASSAGE_SHARE * max_tokens * CHARACTERS_PER_TOKEN)
        passages = choose(found, limit, room, rarity) if named is not None or is_answered(found) else []
        if not passages:
            return {"answer": NOT_HERE, "found": False, "mode": "extractive", "citations": []}
        if named is not None:
            sentence, chunk = named
            others = [passage.chunk for passage in passages if passage.chunk.id != chunk.id]
            shown = [chunk, *others[: max(1, len(passages) - 1)]]
            passages = [Passage(number, part) for number, part in enumerate(shown, start=1)]
            lead, mode = f"{sentence} [1].", STRUCTURAL
        else:
            lead, mode = self._lead(found, passages), EXTRACTIVE
        rest = ", ".join(f"[{passage.number}]" for passage in passages if f"[{passage.number}]" not in lead)
        evidence = f"{MORE_EVIDENCE if lead else EVIDENCE} {rest}." if rest else ""
        answer = "\n\n".join(filter(None, (lead, evidence)))
        citations = [passage_citation(passage.number, passage.chunk, found.today) for passage in passages]
        return {"answer": answer, "found": True, "mode": mode, "citations": citations}

    def _lead(self, found: SearchOutcome, passages: Sequence[Passage]) -> str:
        """Return the sentence that answers, with its citation; an empty string if no sentence does."""
        embed = None if found.degraded else self._index.embedder.embed
        share = coverage(found.query.text, self._index.keywords.rarity)
        lead = find_lead(found.query.text, passages, self._text_of, share, embed)
        return f"{_quoted(lead.text, lead.passage)} [{lead.passage.number}]" if lead else ""

    def _from_tree(self, fact: Fact) -> WrittenAnswer:
        answer = re.sub(r"\{(\d+)\}", r"[\1]", fact.text)
        chunks = {place.source: self._index.catalogue.of_source(place.source) for place in fact.places}
        lines = {source: whole_lines(found) for source, found in chunks.items()}
        citations = [
            definition_citation(n, place, chunks[place.source], lines[place.source])
            for n, place in enumerate(fact.places, start=1)
        ]
        return {"answer": answer, "found": True, "mode": "structural", "citations": citations}

    def _members(self, node: ClassNode) -> tuple[Member, ...]:
        packed = self._index.catalogue.facts_of([str(node.source)]).get(str(node.source), "")
        return members_of(node, packed)

    def _text_of(self, source: str) -> str:
        return "\n".join(whole_lines(self._index.catalogue.of_source(source)))


def _quoted(text: str, passage: Passage) -> str:
    """Return a sentence of a passage without images and HTML."""
    try:
        return without_links(text, [passage.chunk.text])
    except ProviderError:
        return " ".join(re.findall(r"[\w.,;:-]+", REMOVED if "://" in text else text))
