"""Questions about inheritance: find the base classes or subclasses of a named class."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lore_etl.core.text import is_named
from lore_etl.relations.classes import Hierarchy
from lore_server.query.parse import looks_like_name

MAX_FILES = 50
MAX_WORDS = 16  # a longer text describes a situation in which classes extend others
_ASKS = r"(?:what|which|who|whose|list|find|show|all|any|every\w*|class(?:es)?)"
_EXTENDS = r"(?:extend|inherit|deriv|implement|descend|sub-?class)\w*"
_DOWNWARDS = re.compile(
    rf"\b{_ASKS}\b.{{0,60}}\b(?:{_EXTENDS}|kinds? of|above|below)\b|^\W*(?:extends|inherits|derives|sub-?classes)\s"
    r"|\b(?:sub-?class(?:es)?|child(?:ren)?(?: class(?:es)?)?|descendants?|implementations?|implementers?) of\b"
    r"|\bderived (?:class(?:es)? )?(?:of|from)\b",
    re.IGNORECASE,
)
_UPWARDS = re.compile(
    r"\b(?:base|super|parent)[ -]?class(?:es)?\b|\b(?:parents?|ancestors?) of\b|\binherited\b"
    r"|\bwhat (?:does|do|did) .{1,60} (?:extend|inherit|derive)|\bthat \S+ inherits\b"
    r"|\bfrom (?:which|what) class\b.{1,80}\b(?:inherit|derive|get|come)|\bnot define itself\b"
    r"|\bwhere (?:does|do|is|are|did)\b.{1,80}\b(?:inherit|get\b.{1,60}\bfrom)",
    re.IGNORECASE,
)
NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*(?:-[\w$]+)*)*")
_HYPHENATED = re.compile(r"(?<![\w$.-])[A-Za-z_$][\w$]*(?:-[\w$]+)+(?:\.[\w$-]+)*")  # `my-view`; most are words


def relatives(text: str, hierarchy: Hierarchy) -> list[str]:
    """Return the classes below, or for such questions above, the classes that a question names, nearest first."""
    asks_upwards = bool(_UPWARDS.search(text))
    if len(text.split()) > MAX_WORDS or not (asks_upwards or _DOWNWARDS.search(text)):
        return []
    found: dict[str, None] = {}
    for name in classes_in(text, hierarchy):
        above = [ancestor.class_name for ancestor in hierarchy.chain(name)]
        below = [node.name for node in hierarchy.subtree(name)][1:]
        found |= dict.fromkeys(above if asks_upwards else below)
    return list(found)


def first_of_each_file(names: Iterable[str], hierarchy: Hierarchy) -> list[str]:
    """Return the first of these classes in each file, up to a maximum of files, because a result is a file."""
    found: dict[str, str] = {}
    for name in names:
        if source := hierarchy.nodes[name].source:
            found.setdefault(source, name)
    return list(found.values())[:MAX_FILES]


def classes_in(text: str, hierarchy: Hierarchy) -> list[str]:
    """Return the project's classes that the text names: capitalized, dotted, or with a name that is not a word."""
    words = [word for word in NAME.findall(text) if word[0].isupper() or looks_like_name(word)]
    tokens = [*_HYPHENATED.findall(text), *words]
    named = (name for token in dict.fromkeys(tokens) for name in hierarchy.named(token) if is_named(name, token))
    return list(dict.fromkeys(named))
