"""A question to the knowledge server that memories are sent to."""

from __future__ import annotations

import os
from collections.abc import Sequence

import anyio

from lore_server.hook.knowledge_server import JSON
from lore_server.hook.lucene import spelling
from lore_server.hook.remote_server import connected
from lore_server.hook.target import Target


def found_at(target: Target, query: str, groups: Sequence[str]) -> JSON:
    """What the server's search replies. Raises ConfigError, Unreachable, Unwilling, Refused."""
    spelled = spelling(os.environ)

    async def asked() -> JSON:
        async with connected(target, spelled) as knowledge:
            return await knowledge.search(query, list(groups))

    return anyio.run(asked)
