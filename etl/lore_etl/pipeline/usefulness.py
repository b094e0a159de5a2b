"""Order chunks by usefulness, so that searches gain from the first embeddings of a long sync."""

from __future__ import annotations

from collections.abc import Iterable

from lore_etl.core.model import KnowledgeType
from lore_etl.stores.catalogue import ChunkKey

_T = KnowledgeType
_TIERS: tuple[frozenset[KnowledgeType], ...] = (
    frozenset({_T.GUIDE, _T.SRC, _T.RULE, _T.ADR, _T.KNOWLEDGE}),
    frozenset({_T.PRP, _T.EXAMPLE, _T.TEST}),
    frozenset({_T.TICKET, _T.MEMORY}),
    frozenset({_T.RELEASE, _T.BLOG, _T.LIBRARY}),
)
_TIER = {type_: tier for tier, types in enumerate(_TIERS) for type_ in types}
_HISTORY = len(_TIERS) - 1
_CLOSED = frozenset({"closed", "completed", "declined", "done", "duplicate", "fixed", "merged", "rejected", "resolved"})


def tier_of(type_: KnowledgeType) -> int:
    return _TIER[type_]


def most_useful_first(chunks: Iterable[ChunkKey]) -> list[ChunkKey]:
    """Return guides and source code first, then specifications, open tickets, and finally history and libraries.

    Closed tickets and superseded documents are history. Equally useful chunks keep their order.
    """
    return sorted(chunks, key=_tier)


def _tier(chunk: ChunkKey) -> int:
    is_past = chunk.superseded_by is not None or chunk.state in _CLOSED
    return _HISTORY if is_past else tier_of(chunk.type)
