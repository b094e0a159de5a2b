"""Answer questions that ask for a ticket or a release ("which ticket …") with the document itself."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.answer.evidence import coverage
from lore_server.query.confidence import Rarity
from lore_server.query.query_service import SearchOutcome

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
