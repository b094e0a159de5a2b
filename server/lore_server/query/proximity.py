"""Measure how close together the words of a query are in a passage."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from lore_etl.stores.tokenizer import STOPWORDS, significant, spaceless_parts

WINDOW = 8  # words
STEM = 5  # letters: enough to match the forms of a word
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[A-Z]+[a-z0-9]*")  # the same words as with both others, in one pass
# the wording of a comparison and the rest of a contraction, which no answer has
_UNSOUGHT = re.compile(
    r"\b(?:differences? between|differs? from|\w+n['’]t)\b|(?<=\w)['’](?:s|re|ve|ll|d|m)\b", re.IGNORECASE
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def proximities(question: str, texts: Sequence[str]) -> list[float]:
    """Return, for each text, the share of the query's words in its best window, weighted by rarity."""
    wanted = dict.fromkeys(stem for _, stem in stems(question))
    stem_of = {form: form[:STEM] for form in (*wanted, *STOPWORDS) if form[:STEM] in wanted}
    found = [[(n, stem_of[form]) for n, form in enumerate(stemmed(text).split()) if form in stem_of] for text in texts]
    texts_with = Counter(stem for positions in found for stem in {stem for _, stem in positions})
    weight = {stem: math.log(1 + (len(texts) + 1) / (texts_with[stem] + 0.5)) for stem in wanted}
    whole = sum(weight.values())
    return [_best_window(positions, weight) / whole if whole else 0.0 for positions in found]


def stems(text: str) -> list[tuple[str, str]]:
    """Return the significant words of a text in lower case with their stems, with identifiers split."""
    return [(word, word[:STEM]) for word in significant(map(str.casefold, _words(_UNSOUGHT.sub(" ", text))))]


def stems_of(text: str) -> frozenset[str]:
    words = set(map(str.casefold, set(_words(text))))
    return frozenset([word[:STEM] for word in words - STOPWORDS])


@lru_cache(1 << 12)  # questions find the same passages again
def stemmed(text: str) -> str:
    """Return the stems of the words of a text, but stop words as they are, as one string to save memory."""
    words = map(str.casefold, _words(text))
    return " ".join([word if word in STOPWORDS else word[:STEM] for word in words])


def _words(text: str) -> list[str]:
    """Return the words of a text; of scripts without spaces, the pairs of characters that are indexed."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return [part for word in _WORD.findall(_HUMP.sub(" ", text)) for part in spaceless_parts(word)]


def _best_window(positions: Sequence[tuple[int, str]], weight: Mapping[str, float]) -> float:
    inside = dict.fromkeys(weight, 0)
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
