"""The destination of memories: Lore's own, or the server that the command line or the environment names.

A project's configuration cannot choose it: the project may be untrusted, and the memories belong to the user.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from lore_etl.config.project import knowledge_home
from lore_etl.core.errors import (
    ConfigError,
    LoreError,
    NotFound,
    ProviderError,
    ProviderUnavailable,
    TokenRequired,
    UnknownOperation,
    UsageError,
)
from lore_etl.core.json_types import JSON
from lore_server.hook.memory_files import MARK_DIGITS, Episode
from lore_server.owner.session import Session

CallTool = Callable[[str, JSON], Awaitable[JSON]]
"""Calls a tool and returns its reply. Raises ServerUnreachable, ServerUnusable, MemoryRefused."""

DATABASE = "MADEINOZ_KNOWLEDGE_DB"
MARK = "sync_id"  # the key of an episode's mark in its metadata
# the tools and arguments of Lore, then those of Graphiti
ADD, LIST = ("add_memory",), ("get_episodes",)
DELETE, SEARCH = ("delete_memory", "delete_episode"), ("search_memories", "search_nodes")
BODY = ("body", "episode_body")
IDS = ("id", "uuid", "memory_id", "episode_id", "episode_uuid")
MAX_BODY, MAX_NAME = 5_000, 200  # characters, if the server's schema has no limit
MAX_LISTED = 1_000
_BUSY = 75
_SPECIAL = re.compile(r'[+\-&|!(){}\[\]^"~*?:\\/]')
_MISSING = re.compile(r"not[ _]found|no such|does not exist", re.IGNORECASE)
URLS = ("LORE_HOOK_URL", "MADEINOZ_KNOWLEDGE_MCP_URL")
TOKEN = "LORE_HOOK_TOKEN"
AUTHOR = "lore hook"


class ServerUnreachable(ProviderUnavailable):
    """The server does not respond, or asks for a later attempt. It may still have processed the request."""

    def __init__(self, message: str, retry_after: float = 0) -> None:
        super().__init__(message, "No memory is lost; the next session tries again.")
        self.retry_after = retry_after


class ServerUnusable(ProviderUnavailable):
    """The server cannot accept memories: the token is wrong, or it has no tool for them."""


class MemoryRefused(ProviderError):
    """The server rejects this request. `is_missing`: the memory to delete does not exist."""

    def __init__(self, message: str, is_missing: bool = False) -> None:
        super().__init__(message, "Correct the named memory file, then run the hook again.")
        self.is_missing = is_missing or bool(_MISSING.search(message))


def failure_of(error: LoreError) -> LoreError:
    """Convert an error that a Lore server returned."""
    if error.exit_code == _BUSY:
        return ServerUnreachable(error.message)
    if isinstance(error, TokenRequired):
        return ServerUnusable(error.message, "Set LORE_HOOK_TOKEN to the server's token.")
    if isinstance(error, UnknownOperation):
        return ServerUnusable(error.message, error.hint)
    return MemoryRefused(error.message, is_missing=isinstance(error, NotFound))


def escaped(query: str) -> str:
    """Write a backslash before each special character of Lucene's syntax."""
    return _SPECIAL.sub(r"\\\g<0>", query)


def query_escaping(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Return the function that escapes queries for the database in `MADEINOZ_KNOWLEDGE_DB`. Raises ConfigError."""
    databases: dict[str, Callable[[str], str]] = {"neo4j": str, "falkordb": escaped, "falkorodb": escaped}
    name = environment.get(DATABASE, "").strip().lower() or "neo4j"
    if name not in databases:
        hint = f"Valid values: {', '.join(databases)}. The default is neo4j."
        raise ConfigError(f"{DATABASE} is `{name[:100]}`, which is not a supported database.", hint)
    return databases[name]


class Tool(NamedTuple):
    """A tool and the schemas of its arguments."""

    name: str
    arguments: Mapping[str, JSON]

    def argument(self, *names: str) -> str:
        """Return the first of the names that the tool accepts. Raises ServerUnusable."""
        for name in names:
            if name in self.arguments:
                return name
        message = f"The server's tool {self.name} takes none of the arguments {', '.join(names)}."
        raise ServerUnusable(message, "Use a server with the tools of Lore or Graphiti.")

    def max_length(self, argument: str, default: int) -> int:
        return int(self.arguments[argument].get("maxLength", default))


class KnowledgeServer:
    """The memories on one server. Every call may raise ServerUnreachable, ServerUnusable and MemoryRefused.

    `deduplicates`: the server itself recognises a text that it already has.
    """

    def __init__(
        self, schemas: Mapping[str, JSON], call: CallTool, escape: Callable[[str], str], deduplicates: bool = False
    ) -> None:
        self._tools = {name: Tool(name, schema.get("properties", {})) for name, schema in schemas.items()}
        self._call, self._escape, self._deduplicates = call, escape, deduplicates

    @property
    def limits(self) -> tuple[int, int]:
        """The maximum number of characters of a body and of a name."""
        add = self._tool(ADD)
        return add.max_length(add.argument(*BODY), MAX_BODY), add.max_length(add.argument("name"), MAX_NAME)

    @property
    def replaces(self) -> bool:
        """Whether the server replaces a memory in one step with adding another."""
        return "replaces" in self._tool(ADD).arguments

    async def add(self, episode: Episode, replaces: str = "") -> str:
        """Send an episode. Return its id, empty if the server returns no id."""
        add = self._tool(ADD)
        arguments = {**arguments_of(add, episode), **({"replaces": replaces} if replaces else {})}
        return id_in(checked(await self._call(add.name, arguments)))

    async def find(self, digest: str, group_id: str) -> list[str]:
        """Return the ids of all episodes of a file with this digest, if the server can list or search them."""
        mark = digest[:MARK_DIGITS]
        if self._deduplicates or not mark:
            return []
        if self._has(LIST):
            tool = self._tool(LIST)
            limit = {"max_episodes": MAX_LISTED} if "max_episodes" in tool.arguments else {}
            return _ids_with(mark, checked(await self._call(tool.name, {**_groups(tool, [group_id]), **limit})))
        return _ids_with(mark, await self.search(mark, [group_id])) if self._has(SEARCH) else []

    async def delete(self, memory: str) -> None:
        """Delete a memory, if it exists."""
        if not self._has(DELETE):
            raise MemoryRefused("the server has no tool to delete it")
        tool = self._tool(DELETE)
        try:
            checked(await self._call(tool.name, {tool.argument(*IDS): memory}))
        except MemoryRefused as error:
            if not error.is_missing:
                raise

    async def search(self, query: str, groups: list[str]) -> JSON:
        tool = self._tool(SEARCH)
        return checked(await self._call(tool.name, {"query": self._escape(query), **_groups(tool, groups)}))

    def _has(self, names: Sequence[str]) -> bool:
        return any(name in self._tools for name in names)

    def _tool(self, names: Sequence[str]) -> Tool:
        for name in names:
            if name in self._tools:
                return self._tools[name]
        message = f"The server has none of the tools {', '.join(names)}."
        raise ServerUnusable(message, "Give the URL of a knowledge server, e.g. http://localhost:8000/mcp/.")


def arguments_of(add: Tool, episode: Episode) -> JSON:
    """Return those arguments for an episode that the server's tool accepts."""
    required = {add.argument("name"): episode.name, add.argument(*BODY): episode.body}
    metadata = {**episode.metadata, MARK: episode.mark}
    lists = {key: ", ".join(map(str, value)) for key, value in metadata.items() if isinstance(value, list)}
    description = "; ".join(f"{key}: {value}" for key, value in {**metadata, **lists}.items())
    optional = {
        "group_id": episode.group_id,
        "source": "text" if "source_description" in add.arguments else episode.source,
        "source_description": description,
        "metadata": description if add.arguments.get("metadata", {}).get("type") == "string" else metadata,
    }
    return {**required, **{key: value for key, value in optional.items() if key in add.arguments}}


def checked(reply: JSON) -> JSON:
    """Return the reply, unless it reports an error in a result, as some servers do. Raises MemoryRefused."""
    for level in _levels(reply):
        error = level.get("error")
        if error and isinstance(error, str | bool):
            raise MemoryRefused(str(level.get("message") if error is True else error)[:500])
    return reply


def id_in(reply: JSON) -> str:
    """Return the id in a reply; empty if there is no id."""
    values = (level.get(name) for level in _levels(reply) for name in IDS)
    return next((str(value) for value in values if isinstance(value, str | int) and value != ""), "")


def _levels(reply: JSON) -> list[JSON]:
    inner = reply.get("result")
    return [reply, inner] if isinstance(inner, dict) else [reply]


def _groups(tool: Tool, groups: list[str]) -> JSON:
    return {"group_ids": groups} if groups and "group_ids" in tool.arguments else {}


def _ids_with(mark: str, value: Any) -> list[str]:
    """Return the ids of the innermost objects of a reply that have this mark."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    inner = [found for child in children for found in _ids_with(mark, child)]
    if inner or not isinstance(value, dict) or not id_in(value):
        return inner
    return [id_in(value)] if re.search(rf"{MARK}\W{{1,8}}{mark}", json.dumps(value, ensure_ascii=False)) else []


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
    """Return the server at the URL, else in the environment, else the index's owner. Raises UsageError, ConfigError."""
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


@asynccontextmanager
async def own_memories(session: Session) -> AsyncIterator[KnowledgeServer]:
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
        yield KnowledgeServer(schemas, call, str, deduplicates=True)
    finally:
        session.close()


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
