"""Decide from the index which words of a question are names: those that it defines as they are written."""

from __future__ import annotations

import re
from dataclasses import replace

from lore_etl.stores.keywords import KeywordStore
from lore_server.query.parse import Query
from lore_server.query.path_words import TOPIC_WORDS

DEFINITIONS = 20  # more chunks that define a name do not tell which is meant
_CAPITALIZED = re.compile(r"(?<![\w./$-])[A-Z][a-z]\w*(?![\w./$-])")


def with_defined(query: Query, keywords: KeywordStore) -> Query:
    """Return the query with the further names in it that a chunk defines, if it is short: a sentence mentions names.

    Each of the names in a sentence would outweigh its subject: that cost questions about code .003 nDCG@10.
    """
    if not query.words or len(query.words) > TOPIC_WORDS or query.is_bare_name:
        return query
    joined = () if query.names else ("".join(query.words), "_".join(query.words))
    found = keywords.defined(dict.fromkeys((*_CAPITALIZED.findall(query.text), *joined)))
    return replace(query, names=tuple(dict.fromkeys((*query.names, *(name.casefold() for name in found)))))


def definitions(query: Query, keywords: KeywordStore) -> list[str]:
    """Return the ids of chunks that define the names in the query: as it writes them, or else in any case."""
    folded = {name.rpartition(".")[2] for name in query.names}
    written = {word for word in re.findall(r"[\w$]+", query.text) if word.casefold() in folded}
    return keywords.defining(written, DEFINITIONS) or keywords.defining(folded, DEFINITIONS)
