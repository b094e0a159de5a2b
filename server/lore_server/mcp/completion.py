"""Complete arguments as the user types: paths, class names and versions, from the index through the operations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

import mcp_types as types

from lore_etl.core.errors import LoreError
from lore_etl.core.text import last_part
from lore_server.execution.progress import NOBODY
from lore_server.execution.threads import Call, Calls
from lore_server.mcp.follow import Context

MAX_VALUES = 100  # the protocol's limit
ALL_TOKENS = 1_000_000


async def complete(calls: Calls, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """Complete an argument by its prefix; without an index there are no suggestions."""
    ref, name, typed = params.ref, params.argument.name, params.argument.value
    try:
        found = await calls.read(lambda call: _values(call, ref.type, name, typed))
    except LoreError:
        found = []
    values = types.Completion(values=found[:MAX_VALUES], total=len(found), has_more=len(found) > MAX_VALUES)
    return types.CompleteResult(completion=values)


def _values(call: Call, kind: str, name: str, typed: str) -> list[str]:
    match kind, name:
        case "ref/resource", "path":
            folder = typed.rpartition("/")[0]
            return _beginning(typed, _sources(call, **({"under": folder} if folder else {})))
        case "ref/prompt", "class_name":
            return _classes(call, typed)
        case "ref/prompt", "since":
            return _beginning(typed, (PurePosixPath(source).stem for source in _sources(call, type="release")))
    return []


def _sources(call: Call, **only: str) -> list[str]:
    rows = call("list_sources", {"max_tokens": ALL_TOKENS, **only}, NOBODY)["sources"]
    return [row["source"] for row in rows]


def _classes(call: Call, typed: str) -> list[str]:
    rows = call("get_class_hierarchy", {"max_tokens": ALL_TOKENS}, NOBODY)["classes"]
    names = [row["class"] for row in rows if row["source"]]
    return _beginning(typed, names) or [name for name in names if _beginning(typed, [last_part(name)])]


def _beginning(typed: str, values: Iterable[str]) -> list[str]:
    return [value for value in values if value.casefold().startswith(typed.casefold())]
