"""Split text into search terms: identifiers with their parts, words of prose, and pairs of CJK characters."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

MAX_TERM = 100
STOPWORDS = frozenset(
    "a about all also an and any are as at be been but by can could did do does each for from get had has have how i if"
    " in into is it its just let lets may me might more most must my need no nor not of on one only or other our per"
    " please shall should so some such than that the their them then there these they this those to too up us use used"
    " using very via was we were what when where which while who whom whose why will with would you your work works"
    " happen happens both same else".split()
)
SUBJECTS = frozenset("get happen happens let lets need up use used using work works".split())
"""Stop words that may be what a question is about: `how does lore up work`."""
SPACELESS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # Thai to Khmer, CJK
_TOKEN = re.compile(r"[\w$]+(?:[.\-][\w$]+)*")
_SEGMENT = re.compile(r"[.\-$]+")
_UPPER = "A-ZÀ-ÖØ-Þ"
_PART = re.compile(rf"[{_UPPER}]+(?![^\W\d_{_UPPER}])|[{_UPPER}]?[^\W\d_{_UPPER}]+|\d+")
_RUN = re.compile(r"\w+")
_SPACELESS = re.compile(f"[{SPACELESS}]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")


def tokens(text: str) -> Iterator[str]:
    """Yield the words of a text as written; `apt-28` and `a.b.C` are single words."""
    return (token for token in _TOKEN.findall(text) if len(token) <= MAX_TERM)


def terms(text: str) -> list[str]:
    """Return lower-case terms in order: `afterSetFoo` gives `aftersetfoo after set foo`."""
    return term_text(text).split()


def term_text(text: str) -> str:
    """Return the terms of a text with spaces between them, as the keyword index reads them."""
    return " ".join(map(_terms_of, _TOKEN.findall(text)))


def query_terms(text: str) -> list[str]:
    """Return distinct terms, without stop words if others remain: +.057 nDCG@10 on code (benchmarks/results.md)."""
    return list(dict.fromkeys(terms(" ".join(significant(text.split()))))) or list(dict.fromkeys(terms(text)))


def significant(words: Iterable[str]) -> list[str]:
    """Return the words of a question without stop words; with those that may be its subject if only one is left."""
    plain = [(word, re.sub(r"\W", "", word.casefold())) for word in words]
    found = [word for word, folded in plain if folded not in STOPWORDS]
    return found if len(found) > 1 else [word for word, folded in plain if folded not in STOPWORDS - SUBJECTS]


def name_parts(text: str) -> list[str]:
    """Return the words of a text in lower case, with identifiers split: `afterSetFoo` gives `after set foo`."""
    return [part.casefold() for part in _PART.findall(text)]


def phrase_words(phrase: str) -> list[str]:
    """Return terms of all texts with this phrase, even in identifiers; character pairs in scripts without spaces."""
    found: dict[str, None] = {}
    for run in _RUN.findall(phrase):
        if _SPACELESS.search(run):
            found |= dict.fromkeys(chain.from_iterable(_pairs(part) for part in _CJK.findall(run)))
        elif len(run) <= MAX_TERM:
            found[run.casefold()] = None
    return list(found)


def spaceless_parts(word: str) -> Iterator[str]:
    """Yield the pairs of characters of the Chinese, Japanese or Korean parts of a word, and its other parts whole."""
    at = 0
    for run in _CJK.finditer(word):
        if run.start() > at:
            yield word[at : run.start()]
        yield from _pairs(run.group())
        at = run.end()
    if at < len(word):
        yield word[at:]


@lru_cache(maxsize=1 << 15)  # a project repeats most of its words
def _terms_of(token: str) -> str:
    if len(token) > MAX_TERM:
        return ""
    found = [token.casefold()]
    for segment in filter(None, _SEGMENT.split(token)):
        if segment != token:
            found.append(segment.casefold())
        parts = _PART.findall(segment)
        if len(parts) > 1:
            found += map(str.casefold, parts)
        for run in _CJK.findall(segment):
            found += _pairs(run)
    return " ".join(found)


def _pairs(run: str) -> Iterator[str]:
    return (run[n : n + 2] for n in range(len(run) - 1))
