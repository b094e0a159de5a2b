"""Clients that show MCP Apps get an app with an answer and a class tree; all others get neither it nor its data."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.extension import advertise

from lore_server.mcp.tools import TEXT_READERS
from tests.harness.apps import APP_TYPE, EXTENSION
from tests.harness.commands import synced_project
from tests.harness.interfaces import bearer, mcp_over_http, over_pipes, serving

FILES = {
    "docs/guide.md": "# Guide\n\nThe zebra is striped.\n",
    "pkg/base.py": "class Base: ...\nclass Sub(Base): ...\n",
}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask_knowledge_base", {"query": "What is the zebra?"}),
    ("get_class_hierarchy", {"root": "Base"}),
    ("query_documents", {"query": "zebra"}),
)
SHOWN = {"ask_knowledge_base", "get_class_hierarchy"}
Connect = Callable[[], Any]
Seen = tuple[list[types.Tool], list[types.CallToolResult]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synced_project(tmp_path_factory.mktemp("apps").resolve(), FILES)


@pytest.fixture(params=["pipes 2026", "pipes 2025", "http 2026"])
def transport(project: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Connect, str]]:
    """Yield a function that connects to the program, and the mode of the client."""
    kind, version = request.param.split()
    mode = "auto" if version == "2026" else "legacy"
    if kind == "pipes":
        yield lambda: over_pipes(project), mode
        return
    with serving(project) as url:
        yield lambda: mcp_over_http(url, bearer(project)), mode


def seen(transport: tuple[Connect, str], name: str, kinds: object = None) -> Seen:
    """Return the tools and results of a client with this name, which announces these media types of apps."""
    connect, mode = transport
    extensions = None if kinds is None else [advertise(EXTENSION, {"mimeTypes": kinds})]

    async def look() -> Seen:
        info = types.Implementation(name=name, version="1")
        async with Client(connect(), mode=mode, client_info=info, extensions=extensions) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(*call) for call in CALLS]

    return anyio.run(look)


@pytest.mark.parametrize("name", ["any-client", "claude-code"])
def test_a_client_that_shows_apps_learns_which_tools_have_one_and_reads_it(
    transport: tuple[Connect, str], name: str
) -> None:
    tools, results = seen(transport, name, [APP_TYPE])

    uris = {tool.name: (tool.meta or {}).get("ui", {}).get("resourceUri") for tool in tools}
    assert {tool for tool, uri in uris.items() if uri} == SHOWN
    for (tool, _), result in zip(CALLS, results, strict=True):
        is_hidden = name in TEXT_READERS  # the model of such a client would read the data instead of the text
        assert (result.structured_content is None) == is_hidden
        data = (result.meta or {}).get("lore/data")
        assert (data is not None) == (is_hidden and tool in SHOWN)
        assert (result.structured_content or data or {"freshness": 1})["freshness"]
    connect, mode = transport

    async def read() -> Any:
        async with Client(connect(), mode=mode) as client:
            return (await client.read_resource(uris["get_class_hierarchy"] or "")).contents

    (page,) = anyio.run(read)
    assert page.mime_type == APP_TYPE
    assert page.text.startswith("<!doctype html>")
    assert page.meta == {"ui": {"prefersBorder": True}}  # no domains: the host allows no network


@pytest.mark.parametrize("kinds", [None, [], ["text/html"], 5])
def test_other_clients_see_no_app(transport: tuple[Connect, str], kinds: object) -> None:
    for name in ("any-client", "claude-code"):
        tools, results = seen(transport, name, kinds)

        assert tools
        assert not any("ui" in (tool.meta or {}) for tool in tools)
        assert not any("lore/data" in (result.meta or {}) for result in results)
