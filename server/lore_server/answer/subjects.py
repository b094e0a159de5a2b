"""Find the distinctive nouns of a question, and which of them no passage contains."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from lore_etl.core.model import Chunk
from lore_etl.index import Index
from lore_etl.stores.keywords import stem, stems
from lore_etl.stores.tokenizer import STOPWORDS, phrase_words
from lore_server.query.parse import looks_like_name
from lore_server.query.reference import ASKING, spelled

FEW_FILES = 3
_TOKEN = re.compile(r"[^\W\d_][\w+#]*(?:[.-][\w+#]+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_OPENING = re.compile(r"(?:^|[.?!:]\s)\W*$")
_OBJECT = re.compile(r"\b(?:with|to|in|into|from|using|on|via)\s+$", re.IGNORECASE)


class Noun(NamedTuple):
    """A word of a question; `is_name` means that its spelling shows that it is a name."""

    text: str
    is_name: bool


def nouns(question: str, named: Iterable[str] = ()) -> list[Noun]:
    """Return the names in a question (not at the beginning of a sentence), and words behind a preposition.

    `named` are the parts that are known to be references.
    """
    for name in named:
        question = re.sub(re.escape(name), " ", question, flags=re.IGNORECASE)
    found = []
    for token in _TOKEN.finditer(question):
        word, before = token[0].removesuffix("'s"), question[: token.start()]
        is_opening = _OPENING.search(before) is not None
        is_name = looks_like_name(word) or (word[0].isupper() and len(word) > 1 and not is_opening)
        if word.casefold() not in STOPWORDS and (
            is_name or (len(word) > 3 and _OBJECT.search(before) and not ASKING.fullmatch(word))
        ):
            found.append(Noun(word, is_name))
    return found


def _occurs(word: str, index: Index) -> bool:
    """Return whether a passage has this word in any form, or its parts side by side: `GraphQL` and `graph-ql`."""
    if index.keywords.holding([word.casefold()]):
        return True
    parts = _PART.findall(word)
    return len(parts) > 1 and any(
        spelled(" ".join(parts)).search(chunk.text)
        for chunk in index.catalogue.chunks(index.keywords.holding(map(str.casefold, parts))).values()
    )


def absent(found: Sequence[Noun], index: Index, are_words_counted: bool) -> str | None:
    """Return the first name that occurs nowhere in the index; or word, if words count."""
    some = (noun for noun in found if noun.is_name or are_words_counted)
    return next((noun.text for noun in some if not _occurs(noun.text, index)), None)


def elsewhere(found: Sequence[Noun], shown: Collection[Chunk], index: Index) -> tuple[str, list[Chunk]] | None:
    """Return the first name that only passages of few other files contain, and these passages."""
    text = " ".join(" ".join((chunk.source, chunk.title, *chunk.heading, chunk.text)) for chunk in shown)
    folded = text.casefold()
    for noun in found:
        if not noun.is_name or noun.text.casefold() in folded:
            continue
        if stems(text).issuperset(map(stem, phrase_words(noun.text))):
            continue
        holders = list(index.catalogue.chunks(index.keywords.holding([noun.text.casefold()])).values())
        if 0 < len({chunk.source for chunk in holders}) <= FEW_FILES:
            return noun.text, sorted(holders, key=lambda chunk: (chunk.source, chunk.lines))
    return None
