"""The destination of memories: Lore's own, or the server that the command line or the environment names.

A project's configuration cannot choose it: the project may be untrusted, and the memories belong to the user.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from lore_etl.config.project import knowledge_home
from lore_etl.core.errors import ConfigError, LoreError, UsageError
from lore_etl.core.json_types import JSON
from lore_server.hook.knowledge_server import KnowledgeServer, failure_of
from lore_server.owner.session import Session

URLS = ("LORE_HOOK_URL", "MADEINOZ_KNOWLEDGE_MCP_URL")
TOKEN = "LORE_HOOK_TOKEN"
AUTHOR = "lore hook"


@dataclass(frozen=True)
class Target:
    """A knowledge server; without a URL, Lore's own. `name` is for people and contains no secret."""

    url: str = field(repr=False)
    token: str = field(repr=False)
    name: str
    folder: Path
    key: str

    def file(self, suffix: str) -> Path:
        return self.folder / f"{self.key}.{suffix}"


def target_of(url: str | None, environment: Mapping[str, str], index: Path) -> Target:
    """Return the server at the URL, else the server in the environment, else the owner of the project's index.

    Raises UsageError for an invalid URL, ConfigError for one in the environment and for an invalid token.
    """
    folder = knowledge_home(environment) / "hook"
    given = url or next((environment[name] for name in URLS if environment.get(name)), "")
    if not given:
        return Target("", "", "Lore", folder, _key(f"lore {index}"))
    try:
        parts = urlsplit(given.strip())
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        kind = UsageError if url else ConfigError
        raise kind("Invalid knowledge server URL.", "Expected e.g. http://localhost:8000/mcp/.")
    token = environment.get(TOKEN, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"{TOKEN} has characters that an HTTP header cannot contain.", "Use printable ASCII.")
    public = parts._replace(netloc=parts.netloc.rpartition("@")[2].lower(), fragment="")
    name = urlunsplit(public._replace(query=""))
    return Target(urlunsplit(parts), token, name, folder, _key(urlunsplit(public)))


def target_for(session: Session, url: str | None) -> Target:
    return target_of(url, os.environ, session.place.folder)


@asynccontextmanager
async def own_memories(session: Session, escape: Callable[[str], str]) -> AsyncIterator[KnowledgeServer]:
    """Use the memories of the session's project as a knowledge server, through the project's owner."""
    from lore_server.contract import load_contract  # slow to import; only needed in the background

    contract = load_contract()

    async def call(tool: str, arguments: JSON) -> JSON:
        is_signed = "author" in contract[tool].input_schema["properties"]
        try:
            return session.ask(tool, **arguments, **({"author": AUTHOR} if is_signed else {}))
        except LoreError as error:
            raise failure_of(error) from error

    try:
        schemas = {operation.id: operation.input_schema for operation in contract}
        yield KnowledgeServer(schemas, call, escape, deduplicates=True)
    finally:
        session.close()


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
