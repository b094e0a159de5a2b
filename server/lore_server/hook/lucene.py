"""Queries as the database behind a knowledge server wants them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lore_etl.core.errors import ConfigError

VARIABLE = "MADEINOZ_KNOWLEDGE_DB"
_SPECIAL = re.compile(r'[+\-&|!(){}\[\]^"~*?:\\/]')
_ESCAPED = re.compile(r'\\([+\-&|!(){}\[\]^"~*?:\\/])')


def escaped(query: str) -> str:
    """The query with a backslash before each character that means something in Lucene's syntax."""
    return _SPECIAL.sub(r"\\\g<0>", query)


def unescaped(query: str) -> str:
    """What was escaped, as it was."""
    return _ESCAPED.sub(r"\1", query)


def _as_it_is(query: str) -> str:
    return query


DATABASES: Mapping[str, Callable[[str], str]] = {"neo4j": _as_it_is, "falkordb": escaped, "falkorodb": escaped}


def spelling(environment: Mapping[str, str]) -> Callable[[str], str]:
    """What makes a query one for the database that `MADEINOZ_KNOWLEDGE_DB` names; neo4j if it names none.

    Raises:
        ConfigError: there is no such database; the message has those there are.
    """
    name = environment.get(VARIABLE, "").strip().lower() or "neo4j"
    if name not in DATABASES:
        raise ConfigError(
            f"{VARIABLE} is `{name[:100]}`, which is no database that is known here.",
            f"Valid values: {', '.join(DATABASES)}. Without it, neo4j is meant.",
        )
    return DATABASES[name]
