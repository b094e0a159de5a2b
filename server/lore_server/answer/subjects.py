"""Find the distinctive nouns of a question, and which of them no passage contains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from lore_etl.core.model import Chunk
from lore_etl.index import Index
from lore_etl.stores.tokenizer import STOPWORDS, name_parts
from lore_server.query.parse import looks_like_name
from lore_server.query.reference import ASKING

FEW_FILES = 3
MANY = 100  # passages
_TOKEN = re.compile(r"[^\W\d_][\w+#]*(?:[.-][\w+#]+)*")
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


def absent(found: Sequence[Noun], index: Index, are_words_counted: bool) -> str | None:
    """Return the first name that occurs nowhere in the index; or word, if words count."""
    some = (noun for noun in found if noun.is_name or are_words_counted)
    return next((noun.text for noun in some if not holders(noun.text, index)), None)


def elsewhere(found: Sequence[Noun], shown: Iterable[Chunk], index: Index) -> tuple[str, list[Chunk]] | None:
    """Return the first name that only passages of few other files contain, and these passages."""
    text = " ".join(map(_whole, shown))
    for name in (noun.text for noun in found if noun.is_name and not _pattern(noun.text).search(text)):
        those = holders(name, index)
        if 0 < len({chunk.source for chunk in those}) <= FEW_FILES:
            return name, sorted(those, key=lambda chunk: (chunk.source, chunk.lines))
    return None


def holders(word: str, index: Index) -> list[Chunk]:
    """Return passages with this word, also as a plural, or its parts side by side: `GraphQL` and `graph-ql`.

    The index has stems, so that `Explorer` is found by `explore`. Passages with a common stem are not compared.
    """
    ids = index.keywords.holding([word.casefold()])
    parts = [] if ids else name_parts(word)
    if len(parts) > 1:
        ids = index.keywords.holding(parts)
    chunks = list(index.catalogue.chunks(islice(ids, MANY)).values())
    return chunks if len(ids) > MANY else [chunk for chunk in chunks if _pattern(word).search(_whole(chunk))]


def _pattern(word: str) -> re.Pattern[str]:
    parts = "[^A-Za-z0-9]*".join(map(re.escape, name_parts(word)))
    return re.compile(rf"(?<![^\W_])(?:{re.escape(word.removesuffix('s'))}s?|{parts})(?![^\W_])", re.IGNORECASE)


def _whole(chunk: Chunk) -> str:
    facts = (chunk.source, chunk.title, *chunk.heading, *chunk.symbols, *chunk.tags, *chunk.details)
    return " ".join((*facts, chunk.class_name or "", chunk.text))
