"""Detect whether a query names the library of a passage, and whether such passages crowd out the others."""

from __future__ import annotations

import re
from functools import lru_cache

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.retrieve import Candidates

_BETWEEN_WORDS = re.compile(r"[-_. ]+")


def names_library(text: str, chunk: Chunk) -> bool:
    """Return whether a query names the library of a passage, in any case and with any separator between its words."""
    return chunk.library is not None and _pattern(chunk.library.partition(" ")[0]).search(text) is not None


def are_most(candidates: Candidates) -> bool:
    """Return whether most candidates document libraries, so that passages of the project may be missing."""
    count = sum(candidate.chunk.type == KnowledgeType.LIBRARY for candidate in candidates.found)
    return 2 * count > len(candidates.found)


@lru_cache(256)
def _pattern(name: str) -> re.Pattern[str]:
    words = [re.escape(word) for word in _BETWEEN_WORDS.split(name) if word]
    return re.compile(rf"(?<![\w-]){'[-_. ]?'.join(words)}(?![\w-])" if words else r"(?!)", re.IGNORECASE)
