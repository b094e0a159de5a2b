"""Answer without a model, with a fact and its definitions or the best passages, and describe citations."""

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, NotRequired, TypedDict

from lore_etl.chunking.section import IMPORTS
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.core.text import last_part
from lore_etl.files.indexed import origin_of_file
from lore_etl.index import Index
from lore_etl.sources.source import PROSE, syntax_of
from lore_server.answer.answer_markdown import shown_text
from lore_server.answer.class_questions import DATA, DefinedPlace, Fact, asked_definition, extended_class, shown_line
from lore_server.answer.conflicts import conflicts
from lore_server.answer.lead import EXPLAINED, defining, find_lead, steps, valued
from lore_server.answer.pack import LEADING, PER_FILE, SHOWN, Passage, choose, fitting, in_parts, widened
from lore_server.answer.release_facts import first_release, heading_of, notes_of, release_of
from lore_server.changes.ticket_names import names_of_file, shown_name
from lore_server.query.confidence import SUGGESTION, share_of
from lore_server.query.outdated import outdated
from lore_server.query.path_words import name_words
from lore_server.query.proximity import stems
from lore_server.query.query_service import SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.query.reference import ABSENT, Reference, asks_only_for, spelled, titles
from lore_server.query.subjects import FEW_FILES, MANY, Noun, absent, elsewhere, forms, holders, idle, is_written, nouns
from lore_server.query.wording import wording
from lore_server.replies.budget import CHARACTERS_PER_TOKEN
from lore_server.replies.paging import whole_lines, with_fields, without_gaps
from lore_server.replies.records import CitationRecord, ModelUseRecord, ReferenceRecord

UNCLEAR = "No passage clearly answers this."
NOT_JUDGED = "The search cannot judge this question, and found none of its names."
CLOSEST = "Closest match:"
LEAST = 0.35  # confidence below which there is no answer: on five projects 3 % of 205 answerable questions
UNSURE = 0.5  # confidence below which a word that occurs nowhere counts like a name
SURE = 0.6  # confidence above which one passage with the words of a short question is enough
SHORT = 4  # words; a longer question is rarely asked in the words of its answer
SIMILAR = 0.5  # similarity above which a passage may answer a question in other words
COMPARED = 60  # passages
NEAR = 0.7  # share of the score of the best passage
MAX_SYMBOLS = 20
_OPTION, _STATE = map(wording("closest").__getitem__, ("option", "state"))
NEAREST = "The references are the nearest documents."
NEAREST_PASSAGES = "The nearest passages:"
NEAREST_SHOWN = 2
EVIDENCE = "The best evidence:"
MORE_EVIDENCE = "More evidence:"
MAX_QUOTE = 2_000  # characters
PASSAGE_SHARE = 0.7  # of the budget
Mode = Literal["synthesized", "extractive", "structural"]
EXTRACTIVE: Mode = "extractive"
STRUCTURAL: Mode = "structural"


class WrittenAnswer(TypedDict):
    """The text of an answer, its citations, and if a model was asked, its use and why it gave no answer."""

    answer: str
    found: bool
    mode: Mode
    citations: list[CitationRecord]
    model: NotRequired[ModelUseRecord]
    degraded: NotRequired[str]


class Refusal(NamedTuple):
    """Why there is no answer; if it `is_certain`, no passage can answer in other words."""

    reason: str
    is_certain: bool = True


class PassageAnswers:
    """Writes answers from the class tree and from passages of an index."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def from_passages(
        self, found: SearchOutcome, limit: int, max_tokens: int, is_follow_up: bool = False
    ) -> WrittenAnswer:
        """Return what the question names, or the best passages, led by a sentence if a single one answers it."""
        # the subject of a follow-up is in the earlier question, so its own ordinary words need not occur
        question = found.query.text
        among = found.among
        named = [one for one in found.named if any(among is None or chunk.id in among for chunk in one.passages)]
        missing = " ".join(one.missing for one in found.named if not one.passages)
        share = share_of(stems(question), self._index.keywords.rarity)
        known = nouns(question, found.named)
        fact = first_release(question, self._index)
        room = int(PASSAGE_SHARE * max_tokens * CHARACTERS_PER_TOKEN)
        refusal = None if fact else self._refusal(found, known, not is_follow_up)
        refusal = Refusal(missing) if missing else refusal
        if refusal and not named:
            nearest = [] if refusal.is_certain or not found.ranked else choose(found, [], limit, room)[:NEAREST_SHOWN]
            numbers = ", ".join(f"[{passage.number}]" for passage in nearest)
            also = f"{NEAREST_PASSAGES} {numbers}." if nearest else NEAREST if found.ranked else SUGGESTION
            return refused(f"{refusal.reason} {also}", [passage.chunk for passage in nearest], found)
        fact = fact or (None if named else closest_match(found, share))
        if fact is None and named and asks_only_for(found.query, named):
            passages = self._parts(named, room)
        else:
            near = [one.chunk for one in found.passages if one.score >= NEAR * found.passages[0].score]
            notes = self._parts([one for one in named if one.kind == "release"], room)
            first = [fact[1]] if fact else [passage.chunk for passage in notes[:1]]
            first = first or valued(question, self._likely(found)) or defining(question, lambda: self._likely(found))
            first = first or list(_headed(found))[:1] or steps(question, near, share)
            passages = choose(found, first, limit, room)
            left = room - sum(len(passage.chunk.text) for passage in passages)
            passages = widened(passages, max(0, left), self._index.catalogue.of_source)
            shown = [passage.chunk for passage in passages]
            if not named and (only := elsewhere(question, known, shown, self._index, not EXPLAINED.search(question))):
                return _only_in(*only, found)
        lead, mode = self._looked_up(named, passages)
        if fact is not None:
            lead, mode = f"{fact[0]} [1].", EXTRACTIVE if fact[0].startswith(CLOSEST) else STRUCTURAL
        lead = " ".join(filter(None, (missing, lead)))
        if not lead and (found_lead := find_lead(question, passages, share)):
            sentence, passage = found_lead
            lead = f"{shown_text(sentence, passage.chunk.text)} [{passage.number}]"
        rest = ", ".join(f"[{passage.number}]" for passage in passages if f"[{passage.number}]" not in lead)
        evidence = f"{MORE_EVIDENCE if lead else EVIDENCE} {rest}." if rest else ""
        differing = " ".join(conflicts(question, passages, share, found.today))
        return {
            "answer": "\n\n".join(filter(None, (lead, evidence, differing))),
            "found": True,
            "mode": mode,
            "citations": [passage_citation(passage.number, passage.chunk, found.today) for passage in passages],
        }

    def _likely(self, found: SearchOutcome) -> Iterator[Chunk]:
        """Yield the chunks in which a subject may be defined: the first files, and passages of prose."""
        for file in found.ranked[:LEADING]:
            yield from self._index.catalogue.of_source(file.source)
        yield from (passage.chunk for passage in found.passages if syntax_of(passage.source) in PROSE)

    def _refusal(self, found: SearchOutcome, known: Sequence[Noun], are_words_counted: bool) -> Refusal | None:
        """Return why the index has no answer; None if it may have one."""
        if (asked := extended_class(found.query.text)) and not self._is_class(asked["name"], asked["kind"]):
            return Refusal(f"There is no {asked['kind']} `{asked['name']}` in this knowledge base.")
        if (defined := asked_definition(found.query.text)) and not is_written(last_part(defined), self._index):
            return Refusal(ABSENT.format(defined))
        idle_words = idle(found.query.text, self._index)
        is_open = are_words_counted and found.confidence < UNSURE
        words = [one for one in known if is_open and not one.is_name and one.text not in idle_words]
        if not found.is_foreign and (noun := found.unknown or absent(words, self._index)):
            return Refusal(ABSENT.format(noun), is_certain=bool(found.unknown))
        is_unsure = not found.is_foreign and _similarity(found) < SIMILAR
        is_likely = found.confidence >= LEAST and (not is_unsure or self._is_supported(found))
        if not is_likely and not any(_headed(found)):
            return Refusal(NOT_JUDGED if found.is_foreign else UNCLEAR, is_certain=False)
        return None

    def _is_class(self, name: str, kind: str) -> bool:
        """Return whether a chunk defines the name, or a passage has it beside this kind; True if unknown."""
        beside = re.compile(rf"\b{name}\b\W+{kind}|{kind}\W+{name}\b", re.IGNORECASE)
        own = holders(name, self._index)
        return len(own) >= MANY or any(beside.search(one.text) or name in map(last_part, one.symbols) for one in own)

    def _is_supported(self, found: SearchOutcome) -> bool:
        """Return whether two passages fit a short question: a single one may have its words in another sense."""
        words = stems(found.query.text)
        if found.confidence >= SURE or len({stem for _, stem in words}) > SHORT:
            return True
        share = share_of(words, self._index.keywords.rarity)
        texts = (" ".join((one.chunk.text, one.source, *one.chunk.heading)) for one in found.passages[:COMPARED])
        return _similarity(found) + min(sorted(map(share, texts))[-2:], default=0.0) >= 2 * UNSURE

    def _looked_up(self, named: Sequence[Reference], passages: Sequence[Passage]) -> tuple[str, Mode]:
        """Return a sentence for each passage that belongs to what the question names."""
        numbers = {passage.chunk.source: passage.number for passage in reversed(passages)}
        sources = ((one, source) for one in named for source in _sources(one) if source in numbers)
        sentences = [f"{self._about(one, source)} [{numbers[source]}]." for one, source in sources]
        return " ".join(sentences), STRUCTURAL if sentences else EXTRACTIVE

    def _about(self, one: Reference, source: str) -> str:
        chunks = self._index.catalogue.of_source(source)
        if one.kind == "ticket" and one.sources:
            return f"Ticket {_ticket(chunks[0])}"
        if one.kind == "ticket":
            return f"`{source}` names {one.name}"
        if one.kind == "release":
            what = "the notes of" if one.sources or notes_of(one.name, chunks) else "a heading with"
            return f"`{source}` has {what} {one.name}"
        classes = [name for name, node in self._index.hierarchy.nodes.items() if node.source == source]
        names = classes or list(dict.fromkeys(name for chunk in chunks for name in chunk.symbols if not name.isupper()))
        if one.kind == "text" or not names or len(names) > MAX_SYMBOLS:
            return f"`{one.name}` is in `{source}`" if one.kind == "text" else f"`{source}`: {chunks[0].title}"
        return f"`{source}` defines {', '.join(f'`{name}`' for name in names)}"

    def _parts(self, named: Sequence[Reference], room: int) -> list[Passage]:
        """Return the beginnings of the named documents, in parts that are not too long."""
        parts: list[Chunk] = []
        for one in named:
            for source in _sources(one):
                chunks = self._index.catalogue.of_source(source)
                notes = notes_of(one.name, chunks) if one.kind == "release" and not one.sources else []
                own = chunks if one.sources else notes or [chunk for chunk in one.passages if chunk.source == source]
                parts += in_parts([chunk for chunk in own if chunk.kind != IMPORTS] or own, chunks)
        chosen = fitting(parts, room, SHOWN if len(named) == 1 else PER_FILE)
        return [Passage(number, chunk) for number, chunk in enumerate(chosen, start=1)]

    def from_tree(self, fact: Fact) -> WrittenAnswer:
        chunks = {place.source: self._index.catalogue.of_source(place.source) for place in fact.places}
        lines = {source: whole_lines(found) for source, found in chunks.items()}
        places = enumerate(fact.places, start=1)
        citations = [definition_citation(n, one, chunks[one.source], lines[one.source]) for n, one in places]
        return {"answer": fact.text, "found": True, "mode": STRUCTURAL, "citations": citations}


def _headed(found: SearchOutcome) -> Iterator[Chunk]:
    """Yield the passages under, or with, a heading that consists of the words of the question."""
    asked = {name_words(form) for form in forms(found.query.text.rstrip(" ?!."))}
    for chunk in (one.chunk for one in found.passages if syntax_of(one.source) not in DATA):
        if any(name_words(title) in asked for title in (*chunk.heading, *titles(chunk.text))):
            yield chunk


def _sources(one: Reference) -> Iterable[str]:
    return dict.fromkeys(chunk.source for chunk in one.passages)


def _similarity(found: SearchOutcome) -> float:
    return max((one.vector for one in found.candidates if one.vector is not None), default=1.0)


def refused(answer: str, nearest: Iterable[Chunk], found: SearchOutcome) -> WrittenAnswer:
    citations = [passage_citation(n, chunk, found.today) for n, chunk in enumerate(nearest, start=1)]
    return {"answer": answer, "found": False, "mode": EXTRACTIVE, "citations": citations}


def _only_in(sentence: str, chunks: Sequence[Chunk], found: SearchOutcome) -> WrittenAnswer:
    """Return the only passages with the name in the question: they may not be about the rest of it."""
    files = ", ".join(f"`{source}`" for source in list(dict.fromkeys(chunk.source for chunk in chunks))[:FEW_FILES])
    return refused(f"{sentence} {files}. {NEAREST}", chunks[:SHOWN], found)


def closest_match(found: SearchOutcome, share: Callable[[str], float]) -> tuple[str, Chunk] | None:
    """Return the best ticket, or release with most words of the question, if it asks for one, with its name."""
    name_of = {KnowledgeType.TICKET: lambda chunk: f"ticket {_ticket(chunk)}", KnowledgeType.RELEASE: release_of}
    state, exact = _STATE.search(found.query.text), [*_OPTION.findall(found.query.text), *found.query.versions]
    for chunk in (file.chunk for file in found.ranked if file.chunk.type in found.query.sought_types):
        fits = not state or not chunk.state or chunk.state == state[1].casefold()
        fits = fits and all(spelled(one, is_whole=True).search(chunk.text) for one in exact)
        if chunk.type == KnowledgeType.RELEASE:  # named by its version only, which does not show that it does not fit
            fits = fits and share(" ".join((chunk.text, chunk.title, *chunk.heading))) >= UNSURE
        if fits and chunk.type in name_of and (name := name_of[chunk.type](chunk)):
            return f"{CLOSEST} {name}", chunk
    return None


def _ticket(chunk: Chunk) -> str:
    number = next((name for name in sorted(names_of_file(chunk.source)) if name.isdecimal()), "")
    state = f" ({chunk.state})" if chunk.state else ""
    return f"{shown_name(number)}{state}: {chunk.title}" if number else f"{state} {chunk.title}".strip()


def passage_citation(number: int, chunk: Chunk, today: datetime.date) -> CitationRecord:
    """Return the citation of a passage with its whole text, or the first lines that are not too long."""
    text, lines = chunk.text, chunk.lines
    if len(text) > MAX_QUOTE:
        text = text[:MAX_QUOTE].rpartition("\n")[0] or text[:MAX_QUOTE]
        lines = (lines[0], lines[0] + text.count("\n"))
    facts = {"state": chunk.state, "library": chunk.library, "date": chunk.day, "outdated": outdated(chunk, today)}
    quote = without_gaps(chunk.source, text)
    return with_fields(_citation(number, chunk, heading_of(chunk), lines, quote), **facts)


def definition_citation(
    number: int, place: DefinedPlace, chunks: Sequence[Chunk], lines: Sequence[str]
) -> CitationRecord:
    """Return the citation of the line that defines or uses a name, in a file given by its chunks and lines."""
    line = shown_line(place, lines)
    holder = next((chunk for chunk in chunks if chunk.lines[0] <= line <= chunk.lines[1]), chunks[0])
    citation = _citation(number, holder, place.name, (line, line), lines[line - 1][:MAX_QUOTE])
    return with_fields(citation, state=holder.state)


def _citation(number: int, chunk: Chunk, heading: str, lines: tuple[int, int], quote: str) -> CitationRecord:
    return {
        "n": number,
        "id": chunk.id,
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "heading": heading,
        "lines": list(lines),
        "quote": quote,
    }


def reference(ranked: Ranked, today: datetime.date) -> ReferenceRecord:
    chunk = ranked.chunk
    record: ReferenceRecord = {
        "source": chunk.source,
        "origin": origin_of_file(chunk.source),
        "type": chunk.type.value,
        "title": chunk.title,
        "lines": list(chunk.lines),
        "score": round(ranked.score, 3),
    }
    return with_fields(record, outdated=outdated(chunk, today))
