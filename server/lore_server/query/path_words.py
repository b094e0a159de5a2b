"""Judge what the path of a file says about a question: words that both share, and a name that it spells out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import PurePosixPath

from lore_etl.stores.keywords import path_stems, question_stems, stem
from lore_etl.stores.tokenizer import STOPWORDS, name_parts

WORDS_PER_MATCH = 4  # of the question: a question of eight words needs two in the path
ENOUGH = 3  # more words are never needed
SHORTEST, LONGEST_REST = 3, 5  # letters of a common beginning, and of what may follow it
SAME_BEGINNING = 0.8  # `args` for `arguments` says less than the same word
FORMER = frozenset({"compat", "deprecated", "legacy"})


def path_sureness(question: str, sources: Iterable[str]) -> dict[str, float]:
    """Return by source how far its path counts, from 0 to 1: the share of the words that are needed.

    A single word in the path of a file says much about a short question. A sentence shares one word with many paths.
    """
    wanted = question_stems(question)
    needed = min(ENOUGH, max(1.0, len(wanted) / WORDS_PER_MATCH))
    return {source: min(1.0, len(wanted & words) / needed) for source, words in path_stems(sources).items()}


def file_name_matches(question: str, sources: Iterable[str]) -> dict[str, float]:
    """Return by source whether the question has all words of the file's name: 1, or less if some only begin alike."""
    asked = name_words(question)
    return {
        source: min((_best_likeness(word, asked) for word in _own_words(source)), default=0.0) for source in sources
    }


def name_words(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text, with identifiers split, without stop words."""
    return tuple(dict.fromkeys(stem(part) for part in name_parts(text) if part not in STOPWORDS))


def former_versions(question: str, sources: Collection[str]) -> set[str]:
    """Return the sources in a folder for an earlier version, such as `v1` beside `v2`, unless the question names it."""
    asked = {*question.casefold().split()}
    newest: dict[str, int] = {}
    folders = {source: [(above, name) for above, name in _folders(source) if name not in asked] for source in sources}
    for above, name in (folder for those in folders.values() for folder in those):
        newest[above] = max(newest.get(above, 0), _version(name))
    return {
        source
        for source, those in folders.items()
        if any(name in FORMER or 0 < _version(name) < newest[above] for above, name in those)
    }


def _folders(source: str) -> Iterable[tuple[str, str]]:
    """Yield the folders of a path as (path above it, name)."""
    names = source.casefold().split("/")[:-1]
    return (("/".join(names[:place]), name) for place, name in enumerate(names))


def _version(name: str) -> int:
    """Return the number of a folder that is named after a version, else 0."""
    return int(name[1:]) if name.startswith("v") and name[1:].isdecimal() and name.isascii() else 0


def _best_likeness(word: str, others: Iterable[str]) -> float:
    return max((_likeness(word, other) for other in others), default=0.0)


def _likeness(one: str, other: str) -> float:
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    is_beginning = len(short) >= SHORTEST and long.startswith(short) and len(long) - len(short) <= LONGEST_REST
    return SAME_BEGINNING if is_beginning else 0.0


@lru_cache(1 << 12)  # questions find the same files again
def _own_words(source: str) -> tuple[str, ...]:
    return name_words(PurePosixPath(source).stem)
