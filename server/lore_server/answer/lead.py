"""Find a complete sentence of prose that answers a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lore_etl.chunking.markdown import block_parser
from lore_etl.sources.source import syntax_of
from lore_server.answer.pack import Passage

COVERED = 0.6  # share of the question's words
REASON_COVERED = 0.9  # a sentence with fewer of them gives the reason for something else
SIMILAR = 0.5
MAX_EMBEDDED = 12
MIN_WORDS = 5
MAX_CHARACTERS = 400
_END = re.compile(r"(?<=[.!?])[ ]+(?=[A-Z`\"'(\[*_])")
_WHOLE = re.compile(r"^[`\"'(*_\[]{0,2}[A-Z`][^|]*[.!][`\"')*_\]]{0,2}$")
_DANGLING = re.compile(
    r"^(?:it|its|they|their|them|this|that|these|those|he|she|so|but|and|or|then|also|both|otherwise|instead|however|"
    r"such|there|here|another|neither|either|the (?:same|first|second|last|former|latter|other|others))\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(r"\bhow (?:many|much|long|often|fast|large|big|old)\b|\b(?:port|maximum|limit)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|half|hundred|thousand|never|no)\b",
    re.IGNORECASE,
)
_WHY = re.compile(r"^\W*why\b|\b(?:reasons?|rationale) (?:for|why|of)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|so|therefore|thus|otherwise|would|reasons?|in order to|due to|avoids?|prevents?)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()]*\)")
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Lead:
    """A sentence that answers the question, and its passage."""

    text: str
    passage: Passage


def find_lead(
    question: str,
    passages: Sequence[Passage],
    text_of: Callable[[str], str],
    share: Callable[[str], float],
    embed: Embed | None,
) -> Lead | None:
    """Return the best sentence that covers the question; None if there is none.

    `text_of` returns a file, because only the whole file shows which of its lines are prose. `share` measures which
    share of the question's words a text contains.
    """
    found = [Lead(text, passage) for passage in passages for text in sentences(passage, text_of(passage.chunk.source))]
    if _QUANTITY.search(question):
        found = [lead for lead in found if _NUMBER.search(lead.text)]
    is_why = _WHY.search(question) is not None
    if is_why:
        found = [lead for lead in found if _REASON.search(lead.text)]
    covered = {lead.text: share(lead.text) for lead in found}
    shortlist = sorted(found, key=lambda lead: (-covered[lead.text], lead.passage.number))[:MAX_EMBEDDED]
    shortlist = [lead for lead in shortlist if covered[lead.text] >= (REASON_COVERED if is_why else COVERED)]
    if not shortlist or embed is None:
        return None
    vectors = embed([question, *(lead.text for lead in shortlist)])
    similar = [float(value) for value in vectors[1:] @ vectors[0]]
    scores = [similar[n] + 0.5 * covered[lead.text] for n, lead in enumerate(shortlist)]
    best = max(range(len(shortlist)), key=lambda n: scores[n])
    return shortlist[best] if similar[best] >= SIMILAR else None


def sentences(passage: Passage, text: str) -> Iterator[str]:
    """Yield the complete, self-contained sentences of a passage's paragraphs; `text` is the whole file."""
    if syntax_of(passage.chunk.source) != "markdown":
        return
    first, last = passage.chunk.lines
    lines = text.split("\n")
    for start, end in paragraphs(text):
        if first <= start and end <= last:
            joined = " ".join(line.strip() for line in lines[start - 1 : end])
            yield from (piece for piece in _END.split(_LINK.sub(r"\1", joined)) if _is_whole(piece))


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the first and last lines (from 1) of the paragraphs that are not in a list, table or quotation."""
    tokens = block_parser().parse(text)
    found = (token.map for token in tokens if token.type == "paragraph_open" and token.level == 0 and token.map)
    return [(start + 1, end) for start, end in found]


def _is_whole(sentence: str) -> bool:
    return (
        len(sentence) <= MAX_CHARACTERS
        and len(sentence.split()) >= MIN_WORDS
        and bool(_WHOLE.match(sentence))
        and not _DANGLING.match(sentence)
        and sentence.count("`") % 2 == 0
        and sentence.count("(") == sentence.count(")")
        and sentence.count('"') % 2 == 0
    )
