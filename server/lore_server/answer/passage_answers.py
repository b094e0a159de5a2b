"""Answer without a model: with a fact and its definitions, or with the best passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, TypedDict

from lore_etl.core.errors import ProviderError
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.index import Index
from lore_server.answer.citations import definition_citation, passage_citation
from lore_server.answer.class_questions import Fact, structural_names
from lore_server.answer.conflicts import conflicts
from lore_server.answer.evidence import choose, coverage, is_answered, widened
from lore_server.answer.lead import find_lead
from lore_server.answer.links import REMOVED, without_links
from lore_server.answer.pack import Passage
from lore_server.query.confidence import SUGGESTION, Rarity
from lore_server.query.query_service import SearchOutcome
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.excerpt import whole_lines

if TYPE_CHECKING:
    from lore_server.replies.records import CitationRecord


NOT_HERE = "This is not in this knowledge base."
NOT_JUDGED = "The search cannot judge this question, and found none of its names."
ABSENT = "`{}` occurs nowhere in this knowledge base."
NEAREST = "The references are the nearest documents."
EVIDENCE = "The best evidence:"
MORE_EVIDENCE = "More evidence:"
PASSAGE_SHARE = 0.7  # of the budget
Mode = Literal["synthesized", "extractive", "structural"]
EXTRACTIVE: Mode = "extractive"
STRUCTURAL: Mode = "structural"


class WrittenAnswer(TypedDict):
    """The text of an answer, and its citations."""

    answer: str
    found: bool
    mode: Mode
    citations: list[CitationRecord]


class PassageAnswers:
    """Writes answers from the class tree and from passages of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def from_passages(self, found: SearchOutcome, limit: int, max_tokens: int) -> WrittenAnswer:
        """Return the best passages, led by a sentence if a single sentence answers the question."""
        rarity = self._index.keywords.rarity
        named = document_fact(found, rarity)
        absent = self._absent_name(found.query.text)
        passages = [] if absent else self._chosen(found, named[1] if named else None, limit, max_tokens)
        if not passages:
            answer = ABSENT.format(absent) if absent else NOT_JUDGED if found.is_foreign else NOT_HERE
            answer = f"{answer} {NEAREST if found.ranked else SUGGESTION}"
            return {"answer": answer, "found": False, "mode": "extractive", "citations": []}
        lead, mode = (f"{named[0]} [1].", STRUCTURAL) if named else (self._lead(found, passages), EXTRACTIVE)
        rest = ", ".join(f"[{passage.number}]" for passage in passages if f"[{passage.number}]" not in lead)
        evidence = f"{MORE_EVIDENCE if lead else EVIDENCE} {rest}." if rest else ""
        differing = " ".join(conflicts(found.query.text, passages, coverage(found.query.text, rarity), found.today))
        return {
            "answer": "\n\n".join(filter(None, (lead, evidence, differing))),
            "found": True,
            "mode": mode,
            "citations": [passage_citation(passage.number, passage.chunk, found.today) for passage in passages],
        }

    def _absent_name(self, question: str) -> str | None:
        """Return the first name of a structural question if the index contains none of its names or their parts."""
        names = structural_names(question)
        parts = {part.casefold() for name in names for part in (name, *name.split("."))}
        occurs = any(self._index.keywords.holding([part]) for part in parts)
        return None if occurs or not names else names[0]

    def _chosen(self, found: SearchOutcome, first: Chunk | None, limit: int, max_tokens: int) -> list[Passage]:
        """Return the passages to show, beginning with `first`; an empty list if the index has no answer."""
        if first is None and not is_answered(found):
            return []
        room = int(PASSAGE_SHARE * max_tokens * CHARACTERS_PER_TOKEN)
        passages = choose(found, limit, room, self._index.keywords.rarity)
        if first is not None:
            others = [passage.chunk for passage in passages if passage.chunk.id != first.id]
            shown = [first, *others[: max(1, len(passages) - 1)]]
            passages = [Passage(number, chunk) for number, chunk in enumerate(shown, start=1)]
        left = room - sum(len(passage.chunk.text) for passage in passages)
        return widened(passages, max(0, left), self._index.catalogue.of_source)

    def _lead(self, found: SearchOutcome, passages: Sequence[Passage]) -> str:
        """Return the sentence that answers the question, with its citation; an empty string if there is none."""
        embed = None if found.degraded else self._index.embedder.embed
        share = coverage(found.query.text, self._index.keywords.rarity)
        lead = find_lead(found.query.text, passages, self._text_of, share, embed)
        return f"{_quoted(lead.text, lead.passage)} [{lead.passage.number}]" if lead else ""

    def from_tree(self, fact: Fact) -> WrittenAnswer:
        """Return a fact from the class tree with the definitions that support it."""
        chunks = {place.source: self._index.catalogue.of_source(place.source) for place in fact.places}
        lines = {source: whole_lines(found) for source, found in chunks.items()}
        citations = [
            definition_citation(n, place, chunks[place.source], lines[place.source])
            for n, place in enumerate(fact.places, start=1)
        ]
        answer = re.sub(r"\{(\d+)\}", r"[\1]", fact.text)
        return {"answer": answer, "found": True, "mode": "structural", "citations": citations}

    def _text_of(self, source: str) -> str:
        return "\n".join(whole_lines(self._index.catalogue.of_source(source)))


def _quoted(text: str, passage: Passage) -> str:
    """Return a sentence of a passage without images and HTML."""
    try:
        return without_links(text, [passage.chunk.text])
    except ProviderError:
        return " ".join(re.findall(r"[\w.,;:-]+", REMOVED if "://" in text else text))


MENTIONED = 0.5  # share of the subject's words in the passage
_NUMBER = re.compile(r"(\d+)$|^(\d+)\D")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+[\w.-]*)")
_ASKING = re.compile(
    r"\b(?:which|what|in|since|releases?|versions?|tickets?|issues?|introduc\w+|add(?:s|ed)?|fix(?:es|ed)?|clos\w+|reports?|"
    r"reported|describ\w+|remov\w+|chang\w+|brought|br[io]ngs?|com(?:e|es)|came|did|does|do|first)\b",
    re.IGNORECASE,
)
_WANTED = {
    KnowledgeType.TICKET: re.compile(
        r"\b(?:which|what) (?:[\w-]+ ){0,2}(?:tickets?|issues?|bug reports?)\b", re.IGNORECASE
    ),
    KnowledgeType.RELEASE: re.compile(r"\b(?:which|what) (?:[\w-]+ )?(?:release|version)\b", re.IGNORECASE),
}


def document_fact(found: SearchOutcome, rarity: Rarity) -> tuple[str, Chunk] | None:
    """Return a sentence that names the ticket or release, and the passage that shows it; else None."""
    question = found.query.text
    wanted = next((type_ for type_, pattern in _WANTED.items() if pattern.search(question)), None)
    if wanted is None or wanted not in found.query.sought_types:
        return None
    share = coverage(_ASKING.sub(" ", question), rarity)
    both = [*(file.chunk for file in found.ranked), *(candidate.chunk for candidate in found.candidates)]
    name_of = _ticket if wanted == KnowledgeType.TICKET else _release
    named = [(name, chunk) for chunk in both if chunk.type == wanted and (name := name_of(chunk))]
    best = max(named, key=lambda document: share(document[1]), default=None)
    return best if best and share(best[1]) >= MENTIONED else None


def _ticket(chunk: Chunk) -> str | None:
    stem = PurePosixPath(chunk.source).stem
    match = _NUMBER.search(stem)
    number = f" #{(match[1] or match[2]).lstrip('0')}" if match else ""
    state = f" ({chunk.state})" if chunk.state else ""
    return f"Ticket{number}{state}: {chunk.title}"


def _release(chunk: Chunk) -> str | None:
    places = (PurePosixPath(chunk.source).stem, *reversed(chunk.heading), chunk.title)
    version = next((match[1] for match in map(_VERSION.search, places) if match), None)
    return f"Release {version}" if version else None
