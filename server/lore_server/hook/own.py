"""Lore's own memories as a knowledge server: the project's owner, through the session of the command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lore_etl.core.errors import LoreError
from lore_server.contract import load_contract
from lore_server.hook.failures import failure_of
from lore_server.hook.knowledge_server import JSON, KnowledgeServer
from lore_server.owner.session import Session

AUTHOR = "lore hook"


@asynccontextmanager
async def owned(session: Session, spelled: Callable[[str], str]) -> AsyncIterator[KnowledgeServer]:
    """The memories of the session's project. Every call may raise Unreachable, Refused and Unwilling."""
    contract = load_contract()

    async def call(tool: str, arguments: JSON) -> JSON:
        is_signed = "author" in contract[tool].input_schema["properties"]
        try:
            return session.ask(tool, **arguments, **({"author": AUTHOR} if is_signed else {}))
        except LoreError as error:
            raise failure_of(error) from error

    try:
        yield KnowledgeServer({one.id: one.input_schema for one in contract}, call, spelled, knows_its_own=True)
    finally:
        session.close()
