"""The handlers of the toolset `memories`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lore_etl.core.model import Value
from lore_server.execution.progress import Listener
from lore_server.knowledge.git.commits import Author
from lore_server.operations.query_handlers import Services, handles

JSON = dict[str, Any]


@handles
def add_memory(
    services: Services,
    listener: Listener,
    *,
    name: str,
    body: str,
    group_id: str,
    source: str,
    metadata: Mapping[str, Value],
    replaces: str | None = None,
    author: str | None = None,
    session: str | None = None,
) -> JSON:
    """A text kept."""
    by = Author(author or "", session or "")
    return services.memories.add(name, body, group_id, source, metadata, replaces, by)


@handles
def search_memories(
    services: Services,
    listener: Listener,
    *,
    query: str,
    group_ids: Sequence[str],
    limit: int,
    max_tokens: int,
    cursor: str | None = None,
) -> JSON:
    """Memories that answer best."""
    return services.memory_search.search(query, group_ids, limit, max_tokens, cursor)


@handles
def delete_memory(
    services: Services, listener: Listener, *, id: str, author: str | None = None, session: str | None = None
) -> JSON:
    """A memory deleted."""
    return services.memories.delete(id, Author(author or "", session or ""))
