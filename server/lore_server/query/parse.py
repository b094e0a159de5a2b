"""Parse a query into words, exact names and versions."""

import re
from dataclasses import dataclass
from functools import lru_cache

from lore_etl.core.model import KnowledgeType
from lore_etl.core.text import one_line
from lore_etl.stores.tokenizer import significant
from lore_server.query.wording import wording

MAX_WORDS = 25  # a longer text is not a question
_VERBS = wording("verbs").values()
_QUESTION, _RELEASE = map(wording("references").__getitem__, ("question", "release"))
_OPENING = re.compile(r"\W*(?:(?:an?|the)\s+)?\S+", re.IGNORECASE)
_SOUGHT, _WANTED = (
    tuple((name.split(), re.compile(rf"\b(?:{form.pattern})\b", re.IGNORECASE)) for name, form in wording(part).items())
    for part in ("sought", "wanted")
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:[./:#\\-][A-Za-z_$][\w$]*)*(?:\(\))?")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+){1,3}(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d*)?\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}")
_SPLIT = re.compile(r"[./:#\\]+")


def wanted_types(text: str) -> frozenset[KnowledgeType]:
    """Return the types that the wording of a question asks for; empty if it gives no indication."""
    if len(text.split()) > MAX_WORDS:
        return frozenset()
    # only a question may have it later: `tests of the parser` asks for tests, `Fix tests of the parser` does not
    opening = _OPENING.match(text)
    end = opening.end() if opening and not _QUESTION.search(text) else len(text)
    found = ((types, form.search(text)) for types, form in _WANTED)
    return frozenset(KnowledgeType(one) for types, match in found if match and match.start() < end for one in types)


def sought_types(text: str) -> frozenset[KnowledgeType]:
    """Return the types that a query names as its answer: `which ticket introduced …`."""
    if len(text.split()) > MAX_WORDS:
        return frozenset()
    return frozenset(KnowledgeType(one) for types, form in _SOUGHT if form.search(text) for one in types)


@dataclass(frozen=True)
class Query:
    """A parsed question."""

    text: str
    words: tuple[str, ...]
    names: tuple[str, ...]  # tokens that look like identifiers or paths, in lower case, without call brackets
    versions: tuple[str, ...]
    releases: tuple[str, ...]  # the versions that are the subject of the question, not mentioned in passing
    is_bare_name: bool
    asks_definition: bool  # `grid` is a topic too
    wanted_types: frozenset[KnowledgeType]  # that the wording of the question suggests
    sought_types: frozenset[KnowledgeType]  # that the question names as its answer


@lru_cache(64)  # a question may go to many projects
def parse(text: str) -> Query:
    text = one_line(text)
    tokens = [token.removesuffix("()") for token in _NAME.findall(text)]
    all_words = [word.casefold() for word in _WORD.findall(text)]
    words = tuple(dict.fromkeys(significant(word for word in all_words if len(word) > 1)))
    is_bare = " " not in text and len(tokens) == 1 and tokens[0] == text.removesuffix("()")
    names = [token for token in tokens if is_bare or looks_like_name(token)]
    folded = text.casefold()
    versions = tuple(dict.fromkeys(version.removeprefix("v") for version in _VERSION.findall(folded)))
    releases = {version.removeprefix("v") for version in (folded, *_RELEASE.findall(folded))}
    return Query(
        text=text,
        words=words,
        names=tuple(dict.fromkeys(part for name in names for part in _spellings(name))),
        versions=versions,
        releases=tuple(version for version in versions if version in releases),
        is_bare_name=is_bare,
        asks_definition=is_bare and not (text.isalpha() and text.islower()),
        wanted_types=wanted_types(text),
        sought_types=sought_types(text),
    )


@lru_cache(64)
def verbs(question: str) -> frozenset[str]:
    """Return the words of a question that stand in the place of a verb or an adverb, not of what it is about."""
    found = (match["verb"] for form in _VERBS for match in form.finditer(question))
    return frozenset(word for word in found if word.islower())


def looks_like_name(token: str) -> bool:
    """Return whether a token is camelCase, snake_case, dotted or path-like rather than a word of prose."""
    return bool(_HUMP.search(token)) or any(mark in token for mark in "_./:#$") or (token.isupper() and len(token) > 5)


def _spellings(name: str) -> tuple[str, ...]:
    """Return the name as given, and its last part: the last name, or of a path the name of the file."""
    folded = name.casefold()
    return folded, folded.rpartition("/")[2] if "/" in folded else _SPLIT.split(folded)[-1]
