"""What a question is made of: words, exact names, versions, and the shape that says which leg to trust."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:[./:#\\-][A-Za-z_$][\w$]*)*(?:\(\))?")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+){1,3}(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d*)?\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_WHY = re.compile(r"\b(?:why|reasons?|rationale|decided?|decision|instead of)\b", re.IGNORECASE)
_SPLIT = re.compile(r"[./:#\\]+")
STOPWORDS = frozenset(
    "a about all an and any are as at be been but by can could did do does for from get had has have how i if in into"
    " is it its me my need not of on one or our shall should so some such than that the their them then there these"
    " they this those to up us use used using was we were what when where which while who whom whose why will with"
    " would you your work works happen happens".split()
)
_LONG_QUESTION = 12  # words


@dataclass(frozen=True)
class Query:
    """A parsed question.

    `names` are tokens that look like identifiers or paths, in lower case, without call brackets; `vector_weight` is
    the share of the vector leg in the fused score, between 0 and 1.
    """

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...]
    versions: tuple[str, ...]
    is_bare_name: bool
    asks_why: bool
    vector_weight: float


def parse(text: str) -> Query:
    """Take a question apart."""
    text = " ".join(text.split())
    tokens = [token.removesuffix("()") for token in _NAME.findall(text)]
    all_words = [word.casefold() for word in _WORD.findall(text)]
    words = tuple(dict.fromkeys(word for word in all_words if word not in STOPWORDS and len(word) > 1))
    is_bare = " " not in text and len(tokens) == 1 and tokens[0] == text.removesuffix("()")
    names = [token for token in tokens if is_bare or looks_like_name(token)]
    return Query(
        text=text,
        words=words,
        names=tuple(dict.fromkeys(part for name in names for part in _spellings(name))),
        versions=tuple(dict.fromkeys(_normal_version(one) for one in _VERSION.findall(text))),
        is_bare_name=is_bare,
        asks_why=bool(_WHY.search(text)),
        vector_weight=_vector_weight(len(all_words), len(names), is_bare),
    )


def looks_like_name(token: str) -> bool:
    """camelCase, snake_case, dotted or path-like: not a word of prose."""
    return bool(_HUMP.search(token)) or any(mark in token for mark in "_./:#$") or (token.isupper() and len(token) > 5)


def _spellings(name: str) -> tuple[str, ...]:
    """The name as given, and its last part."""
    folded = name.casefold()
    return folded, _SPLIT.split(folded)[-1]


def _normal_version(text: str) -> str:
    return text.casefold().removeprefix("v")


def _vector_weight(words: int, names: int, is_bare: bool) -> float:
    """Exact names are found by words, short questions by meaning, long texts by both."""
    if is_bare:
        return 0.2
    if names:
        return 0.35
    return 0.5 if words >= _LONG_QUESTION else 0.6
