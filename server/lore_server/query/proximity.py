"""Measure how close together a passage contains the words of a query."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from lore_etl.stores.tokenizer import STOPWORDS

WINDOW = 8  # words
STEM = 5  # letters: enough to join the forms of a word
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def proximities(question: str, texts: Sequence[str]) -> list[float]:
    """Return for each text the share of the query's words in its best window, weighted by rarity."""
    wanted = {stem for _, stem in stems(question)}
    found = [_positions(wanted, text) for text in texts]
    held = Counter(stem for positions in found for stem in {stem for _, stem in positions})
    weight = {stem: math.log(1 + (len(texts) + 1) / (held[stem] + 0.5)) for stem in wanted}
    whole = sum(weight.values())
    return [_best_window(positions, weight) / whole if whole else 0.0 for positions in found]


def stems(text: str) -> list[tuple[str, str]]:
    """Return the significant words of a text in lower case with their stems, with identifiers split."""
    words = (word.casefold() for word in _words(text))
    return [(word, word[:STEM]) for word in words if word not in STOPWORDS]


def _positions(wanted: set[str], text: str) -> list[tuple[int, str]]:
    found = (word.casefold()[:STEM] for word in _words(text))
    return [(place, stem) for place, stem in enumerate(found) if stem in wanted]


def _words(text: str) -> list[str]:
    return _WORD.findall(_HUMP.sub(" ", text))


def _best_window(positions: Sequence[tuple[int, str]], weight: dict[str, float]) -> float:
    inside: Counter[str] = Counter()
    best = total = 0.0
    first = 0
    for place, stem in positions:
        if not inside[stem]:
            total += weight[stem]
        inside[stem] += 1
        while place - positions[first][0] >= WINDOW:
            left = positions[first][1]
            inside[left] -= 1
            if not inside[left]:
                total -= weight[left]
            first += 1
        best = max(best, total)
    return best
