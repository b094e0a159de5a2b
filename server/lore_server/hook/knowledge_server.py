"""A knowledge server as the hook sees it: which of its tools takes, finds and deletes memories, and in which words."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lore_server.hook.episode import Episode
from lore_server.hook.failures import Unwilling, UploadRefused

JSON = dict[str, Any]
CallTool = Callable[[str, JSON], Awaitable[JSON]]
"""Runs a tool and gives what it replied. Raises Unreachable, Refused, Unwilling."""

ADD = ("add_memory", "add_episode")
DELETE = ("delete_memory", "delete_episode")
LIST = ("get_episodes",)
SEARCH = ("search_memories", "search_memory_nodes", "search_nodes", "search_memory_facts", "search_facts")
BODY = ("body", "episode_body")
IDS = ("id", "uuid", "memory_id", "episode_id", "episode_uuid")
BODY_CHARACTERS, NAME_CHARACTERS = 5_000, 200  # of a server that does not say what it takes
LISTED = 1_000
_MISSING = re.compile(r"not[ _]found|no such|does not exist", re.IGNORECASE)


@dataclass(frozen=True)
class Tool:
    """A tool and the properties of its arguments."""

    name: str
    properties: Mapping[str, JSON]

    def first(self, names: Iterable[str]) -> str:
        """The first of these that is an argument of it. Raises Unwilling."""
        found = next((one for one in names if one in self.properties), None)
        if found is None:
            said = f"Its tool {self.name} has none of the arguments {', '.join(names)}."
            raise Unwilling(said, "Name a server whose tools are like Graphiti's or Lore's.")
        return found

    def most(self, argument: str, otherwise: int) -> int:
        """How many characters the argument may have."""
        return int(self.properties[argument].get("maxLength", otherwise))


class KnowledgeServer:
    """One knowledge server. Every call may raise Unreachable, Refused and Unwilling.

    `spelled` makes a query one for the database behind it; `knows_its_own` if it recognises a text that it has.
    """

    def __init__(
        self, tools: Mapping[str, JSON], call: CallTool, spelled: Callable[[str], str], knows_its_own: bool = False
    ) -> None:
        self._tools = {name: Tool(name, schema.get("properties", {})) for name, schema in tools.items()}
        self._call, self._spelled, self._knows_its_own = call, spelled, knows_its_own

    @property
    def limits(self) -> tuple[int, int]:
        """Most characters of a body and of a name."""
        add = self._needed(ADD)
        return add.most(add.first(BODY), BODY_CHARACTERS), add.most(add.first(("name",)), NAME_CHARACTERS)

    @property
    def can_delete(self) -> bool:
        """Whether it has a tool for it."""
        return self._tool(DELETE) is not None

    async def add(self, episode: Episode, replaces: str = "") -> tuple[str, bool]:
        """Send an episode: its id there, empty if the server tells none, and whether `replaces` made way for it."""
        add = self._needed(ADD)
        arguments = dict(arguments_of(add, episode))
        is_replaced = bool(replaces) and "replaces" in add.properties
        if is_replaced:
            arguments["replaces"] = replaces
        return id_in(checked(await self._call(add.name, arguments))), is_replaced

    async def find(self, mark: str, group_id: str, query: str) -> str:
        """The id of an episode that may have arrived; empty if it is not there, or the server need not be asked.

        `query` is what a server is asked that can search and not list.
        """
        listing, search = self._tool(LIST), self._tool(SEARCH)
        if self._knows_its_own or not (listing or search):
            return ""
        if listing is not None:
            limits = {name: LISTED for name in ("max_episodes", "last_n", "limit") if name in listing.properties}
            reply = await self._call(listing.name, {**_groups(listing, [group_id]), **limits})
        else:
            reply = await self.search(query, [group_id])
        return next((id_in(one) for one in _entries(checked(reply)) if _mentions(one, mark)), "")

    async def delete(self, memory: str) -> None:
        """Delete a memory; one that is not there is as good as deleted."""
        delete = self._needed(DELETE)
        try:
            checked(await self._call(delete.name, {delete.first(IDS): memory}))
        except UploadRefused as error:
            if not error.is_missing:
                raise

    async def search(self, query: str, groups: list[str]) -> JSON:
        """What its search finds for the query."""
        search = self._needed(SEARCH)
        asked = {search.first(("query", "q")): self._spelled(query), **_groups(search, groups)}
        return checked(await self._call(search.name, asked))

    def _tool(self, names: Iterable[str]) -> Tool | None:
        return next((self._tools[name] for name in names if name in self._tools), None)

    def _needed(self, names: Iterable[str]) -> Tool:
        found = self._tool(names)
        if found is None:
            said = f"The server has none of the tools {', '.join(names)}."
            raise Unwilling(said, "Name the address of a knowledge server, such as http://localhost:8000/mcp/.")
        return found


def arguments_of(add: Tool, episode: Episode) -> Iterator[tuple[str, Any]]:
    """The episode in the words of the server's tool, as far as it has them."""
    yield add.first(("name",)), episode.name
    yield add.first(BODY), episode.body
    told = {**episode.metadata, "sync_id": episode.mark}
    is_graph = "source_description" in add.properties
    about = "; ".join(f"{key}: {_plain(value)}" for key, value in told.items())
    timestamp = told.get("timestamp")
    offered = {
        "group_id": episode.group_id,
        "source": "text" if is_graph else episode.source,
        "source_description": about,
        "metadata": about if add.properties.get("metadata", {}).get("type") == "string" else told,
        **({"reference_time": timestamp} if _is_time(timestamp) else {}),
    }
    yield from ((key, value) for key, value in offered.items() if key in add.properties)


def checked(reply: JSON) -> JSON:
    """The reply, if it does not tell an error, as some servers do in a result. Raises Refused."""
    inner = reply.get("result")
    for one in (reply, inner if isinstance(inner, dict) else {}):
        error = one.get("error")
        if error and isinstance(error, str | bool):
            said = str(one.get("message") if error is True else error)[:500]
            raise UploadRefused(said, is_missing=bool(_MISSING.search(said)))
    return reply


def id_in(reply: JSON) -> str:
    """The id that a reply tells; empty if it tells none."""
    inner = reply.get("result")
    for one in (reply, inner if isinstance(inner, dict) else {}):
        for name in IDS:
            if isinstance(one.get(name), str | int) and one[name] != "":
                return str(one[name])
    return ""


def _groups(tool: Tool, groups: list[str]) -> JSON:
    if "group_ids" in tool.properties:
        return {"group_ids": groups} if groups else {}
    return {"group_id": groups[0]} if groups and "group_id" in tool.properties else {}


def _entries(value: Any) -> Iterator[JSON]:
    """Every object in a reply that has an id, the innermost first."""
    if isinstance(value, dict):
        for one in value.values():
            yield from _entries(one)
        if id_in(value):
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from _entries(one)


def _mentions(entry: JSON, mark: str) -> bool:
    """Whether it carries this very mark: that of a part begins like that of the whole."""
    return re.search(rf"{re.escape(mark)}(?![-\w])", json.dumps(entry, ensure_ascii=False)) is not None


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(str(value))
    except ValueError:
        return False
    return True
