"""Report contradictions between the passages of an answer, and which passage to believe."""

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from lore_etl.core.model import KnowledgeType
from lore_server.answer.pack import Passage
from lore_server.query.outdated import outdated
from lore_server.query.proximity import STEM

COVERED = 0.5  # share of the question's words in each of two statements that disagree
COVERED_BESIDE = 0.1  # the same beside the unit, if the question asks for that: "how many attempts"
PAST = frozenset({KnowledgeType.TICKET, KnowledgeType.RELEASE, KnowledgeType.BLOG, KnowledgeType.MEMORY})
_NAMES = {KnowledgeType.RELEASE: "release note", KnowledgeType.BLOG: "blog post"}
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_VALUES = {word: float(number) for number, word in enumerate(_WORDS, start=1)}
# at most so many in a row, because data can be one long list, of which each number may be the first
_NUMBER = rf"(?:\d+(?:[.,]\d+){{0,9}}|\b(?:{'|'.join(_WORDS)})\b)"
_QUANTITY = re.compile(
    rf"(?i)(?<![\w.#/-])(?:{_NUMBER}, ){{0,19}}(?:{_NUMBER},? (?:and|or) )?{_NUMBER}(?: |-)?(%|[a-z]{{2,}})"
)
_ONE_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_BREAK = re.compile(r"(?<=[.!?;])\s+|\n\s*(?=[-*+|#>]|\d+\.\s)|\n\s*\n")
_ASKS_QUANTITY = re.compile(r"\bhow (?:long|often|fast|large|big|old)\b|\b(?:maximum|minimum|limit)\b", re.IGNORECASE)
_ASKED_UNIT = re.compile(r"\bhow many (\w+)|\b(?:maximum )?number of (\w+)", re.IGNORECASE)
_NO_UNITS = frozenset("and or of in to the is are was for with at on by from as a an".split())
_FORMER = re.compile(r"\b(?:until|was|were|formerly|previously|used to|no longer|replace[sd])\b", re.IGNORECASE)


@dataclass(frozen=True)
class QuantityClaim:
    """A quantity that a passage states: its unit (a stem), its numbers, its words, and the sentence around it."""

    passage: Passage
    unit: str
    numbers: frozenset[float]
    words: str
    sentence: str


def conflicts(
    question: str, passages: Sequence[Passage], share: Callable[[str], float], today: datetime.date
) -> Iterator[str]:
    """Yield sentences about outdated or contradicting passages; `share` is a text's share of the question's words."""
    shown = {passage.chunk.source: passage.number for passage in reversed(passages)}
    for passage in passages:
        record = outdated(passage.chunk, today) or {}
        if successor := record.get("superseded_by"):
            number = f" [{shown[successor]}]" if successor in shown else ""
            yield f"[{passage.number}] is superseded by {successor}{number}."
        elif "valid_until" in record:
            yield f"[{passage.number}] was valid until {record['valid_until']}."
    asked = {(match[1] or match[2]).casefold()[:STEM] for match in _ASKED_UNIT.finditer(question)}
    if not asked and not _ASKS_QUANTITY.search(question):
        return

    def is_about(claim: QuantityClaim) -> bool:
        if not asked:
            return share(claim.sentence) >= COVERED
        beside = re.sub(rf"(?i)\b{re.escape(claim.unit)}\w*", "", claim.sentence)
        return claim.unit in asked and share(beside) >= COVERED_BESIDE

    stated = [[claim for claim in statements(passage) if is_about(claim)] for passage in passages]
    for these, others in combinations(stated, 2):
        rivals = ((claim, other) for claim in these for other in others if claim.unit == other.unit)
        pairs = [pair for pair in rivals if pair[0].passage.chunk.source != pair[1].passage.chunk.source]
        if pairs and not any(claim.numbers & other.numbers for claim, other in pairs):
            yield from _verdict(*pairs[0], today)


def statements(passage: Passage) -> Iterator[QuantityClaim]:
    """Yield the quantities in the sentences and list items of a passage, such as `five attempts`."""
    for sentence in _BREAK.split(passage.chunk.text):
        for match in _QUANTITY.finditer(sentence):
            unit = match[1].casefold()
            if unit not in _NO_UNITS:
                numbers = frozenset(map(_value, _ONE_NUMBER.findall(match[0])))
                yield QuantityClaim(passage, unit[:STEM], numbers, match[0], sentence)


def _value(number: str) -> float:
    plain = number.replace(",", "")
    return _VALUES.get(number.casefold()) or (float(plain) if plain.count(".") < 2 else 0.0)


def _verdict(claim: QuantityClaim, other: QuantityClaim, today: datetime.date) -> Iterator[str]:
    """Yield a sentence that two statements differ and which of them to prefer, if there is a reason to prefer it."""
    pair = f'[{claim.passage.number}] and [{other.passage.number}] differ ("{claim.words}", "{other.words}")'
    weak, other_weak = _weakness(claim, today), _weakness(other, today)
    if bool(weak) != bool(other_weak):
        yield f"{pair}; [{(claim if weak else other).passage.number}] {weak or other_weak}."
        return
    day, other_day = (statement.passage.chunk.day for statement in (claim, other))
    if day and other_day and day != other_day:
        newer = claim if day > other_day else other
        yield f"{pair}; [{newer.passage.number}] is newer ({max(day, other_day)})."


def _weakness(claim: QuantityClaim, today: datetime.date) -> str | None:
    """Return why a statement may not describe the present, as the predicate of a sentence about its passage."""
    chunk = claim.passage.chunk
    if outdated(chunk, today):
        return "is outdated"
    if chunk.type in PAST:
        return f"is a {_NAMES.get(chunk.type, chunk.type.value)}"
    return "describes the past" if _FORMER.search(claim.sentence) else None
