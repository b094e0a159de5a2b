"""A question to the knowledge server that memories are sent to."""

from __future__ import annotations

import os
from collections.abc import Sequence

import anyio

from server.hook.knowledge import JSON
from server.hook.lucene import spelling
from server.hook.remote import connected
from server.hook.target import Target


def found_at(target: Target, query: str, groups: Sequence[str]) -> JSON:
    """What the server's search replies. Raises ConfigError, Unreachable, Unwilling, Refused."""
    spelled = spelling(os.environ)

    async def asked() -> JSON:
        async with connected(target, spelled) as knowledge:
            return await knowledge.search(query, list(groups))

    return anyio.run(asked)
