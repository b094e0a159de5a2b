"""Estimate whether the index answers a query at all, from the best passages by vector and by keyword search."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from lore_server.query.proximity import stemmed, stems
from lore_server.query.retrieve import Candidates

_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
COMMON = 0.05  # minimum share of a text's letters for a script to count
_JOINED = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK"}
Rarity = Callable[[Iterable[str]], Mapping[str, float]]
IDLE = 0.1  # of the weight of a word that may have other words in the project (benchmarks/results.md)
CLOSE = 0.35  # cosine similarity; below it, a passage without any word of the query has nothing to do with it
DOUBTFUL = 0.40  # 97 % of answerable questions are above it, and 9 % of unanswerable ones (benchmarks/results.md)
FOREIGN_DOUBT = (
    "The embedding model was trained on English text and cannot judge a question in this script: only names in it were "
    "matched, so the index may not answer it. Ask in English, or use a multilingual model."
)
SUGGESTION = "Try other words or fewer filters; list_sources lists what is indexed."
DOUBT = "No passage is close to this question, so the index may not answer it. Try other words, or look elsewhere."


class Fit(NamedTuple):
    """How well the best passages fit a query, from 0 to 1."""

    confidence: float  # half its similarity, half the share of the query's words in it
    relevance: float  # high if either is high, because a passage can be found by its meaning or by its words
    unknown: str | None = None  # a name in the query that occurs nowhere


def fit(question: str, candidates: Candidates, rarity: Rarity, idle: Collection[str] = ()) -> Fit:
    """Return how well the candidates fit a query. Words count by `rarity`, their inverse document frequency."""
    # words in a script that the passages do not use cannot occur in them
    known = {None, *_common_scripts(candidates)}
    own = "".join(letter if _script(letter) in known else " " for letter in question)
    words = stems(own)
    if own != question and not words:
        closest = max((min(1.0, candidate.vector or 0.0) for candidate in candidates.found), default=0.0)
        return Fit(closest, closest)
    share = share_of(words, rarity, idle)
    confidence = relevance = 0.0
    for chunk, vector, *_ in candidates.best:
        covered = share(chunk.text, " ".join((chunk.source, chunk.title, *chunk.heading)))
        similar = covered if vector is None else min(1.0, max(0.0, vector))
        confidence = max(confidence, (similar + covered) / 2)
        relevance = max(relevance, 1 - (1 - similar) * (1 - covered))
    return Fit(confidence, relevance)


def finds_nothing(candidates: Candidates) -> bool:
    """Return whether no word of the query occurs in the text or path of a candidate, and none is close in meaning."""
    return not any(one.keyword or one.path or (one.vector or 0.0) >= CLOSE for one in candidates.found)


def share_of(words: Sequence[tuple[str, str]], rarity: Rarity, idle: Collection[str] = ()) -> Callable[..., float]:
    """Return a function that measures which share of these words, given with their stems, some texts contain."""
    # the `idle` ones count fully only if that is in favour of the texts
    rare = rarity(word for word, _ in words)
    weights: dict[str, float] = {}
    for word, stem in words:
        weights[stem] = max(weights.get(stem, 0.0), rare[word])
    counted = {stem: weights[stem] * (IDLE if word in idle else 1) for word, stem in words}
    measures = [(some, whole) for some in (weights, counted) if (whole := sum(some.values()))]

    def share(*texts: str) -> float:
        found = set(" ".join(map(stemmed, texts)).split())
        parts = (sum(weight for stem, weight in some.items() if stem in found) / whole for some, whole in measures)
        return max(parts, default=0.0)

    return share


def has_foreign_letters(question: str, candidates: Candidates) -> bool:
    return bool(candidates.found) and not _scripts(question).keys() <= _common_scripts(candidates)


def _scripts(text: str) -> Counter[str]:
    """Return the number of letters of each script in a text, such as LATIN, CYRILLIC or CJK (with Japanese)."""
    if text.isascii():
        letters = len(text.encode("ascii").translate(None, _NO_LETTERS))
        return Counter(LATIN=letters) if letters else Counter()
    found: Counter[str] = Counter()
    for letter, count in Counter(text).items():
        if (script := _script(letter)) is not None:
            found[script] += count
    return found


def _common_scripts(candidates: Candidates) -> frozenset[str]:
    """Return the scripts of the best passages, without those of a few quoted words."""
    found = _scripts("".join(candidate.chunk.text for candidate in candidates.best))
    return frozenset(script for script, count in found.items() if count >= COMMON * found.total())


@lru_cache(4_096)
def _script(letter: str) -> str | None:
    if not letter.isalpha():
        return None
    script = unicodedata.name(letter, "").partition(" ")[0]
    return _JOINED.get(script, script)
