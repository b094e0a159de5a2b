"""Test all of MCP with the real program: over pipes and HTTP, in protocol 2026-07-28 and the previous version."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from lore_server.contract import Contract
from tests.golden.write import TARGET as GOLDEN
from tests.harness.commands import run_lore, synced_project
from tests.harness.interfaces import bearer, mcp_over_http, over_pipes, serving
from tests.harness.projects import write_project

JSON = dict[str, Any]
Connect = Callable[[], Any]
FILES = {
    "lore.toml": "[owner]\nauto_sync_files = 0\n",  # otherwise the owner may sync before a test does
    "docs/guide.md": "# Guide\n\nThe zebra is striped.\n",
    "docs/long.md": "# Long\n\n" + "".join(f"Line {n} of a long file.\n\n" for n in range(3000)),
    "pkg/base.py": "class Base:\n    def run(self) -> int:\n        return 1\n",
}
VERSIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synced_project(tmp_path_factory.mktemp("mcp").resolve(), FILES)


@pytest.fixture(params=["pipes", "http"])
def connect(project: Path, request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Yield a function that opens a connection to the program."""
    if request.param == "pipes":
        yield lambda: over_pipes(project)
        return
    with serving(project) as url:
        yield lambda: mcp_over_http(url, bearer(project))


@pytest.mark.parametrize("mode", VERSIONS)
def test_every_transport_and_protocol_version_offers_everything(
    connect: Connect, mode: str, contract: Contract
) -> None:
    async def look() -> None:
        async with Client(connect(), mode=mode) as client:
            assert client.protocol_version == VERSIONS[mode]
            assert "lore://handbook" in (client.instructions or "")
            await _tools(client, contract)
            await _resources(client, mode)
            await _prompts(client)

    anyio.run(look)


async def _tools(client: Client, contract: Contract) -> None:
    listed = [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools
    ]
    assert listed == json.loads(GOLDEN.read_text(encoding="utf-8"))
    found = await client.call_tool("query_documents", {"query": "zebra", "max_tokens": 300})
    contract["query_documents"].check_result(found.structured_content)
    assert "\n1. docs/guide.md:1-3  [guide]" in found.content[0].text  # type: ignore[union-attr]
    wrong = await client.call_tool("query_documents", {"query": "zebra", "type": "guides"})
    assert wrong.is_error
    assert "Valid values: all, guide" in wrong.content[0].text  # type: ignore[union-attr]


async def _resources(client: Client, mode: str) -> None:
    handbook = (await client.read_resource("lore://handbook")).contents[0]
    assert isinstance(handbook, types.TextResourceContents)
    assert handbook.text.startswith("# Lore: the handbook")
    part, rest = (await client.read_resource("lore://source/docs/long.md")).contents
    following = (await client.read_resource(rest.uri)).contents[0]
    assert isinstance(part, types.TextResourceContents)
    assert isinstance(following, types.TextResourceContents)
    assert FILES["docs/long.md"].startswith(part.text + following.text)
    with pytest.raises(MCPError) as caught:
        await client.read_resource("lore://source/docs/gide.md")
    assert caught.value.code == (types.INVALID_PARAMS if mode == "auto" else -32002)
    assert "Did you mean docs/guide.md" in caught.value.message
    ref = types.ResourceTemplateReference(uri="lore://source/{path}")
    done = await client.complete(ref, {"name": "path", "value": "docs/g"})
    assert done.completion.values == ["docs/guide.md"]


async def _prompts(client: Client) -> None:
    names = [prompt.name for prompt in (await client.list_prompts()).prompts]
    assert names == ["research_question", "explain_class", "what_changed_since"]
    got = await client.get_prompt("explain_class", {"class_name": "Base"})
    assert '"Base"' in got.messages[0].content.text  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", VERSIONS)
def test_every_transport_and_protocol_version_reports_the_progress_of_a_sync(
    connect: Connect, mode: str, project: Path
) -> None:
    more = {f"docs/{mode}/{n}.md": f"# Page {n} {os.urandom(4).hex()}\n\nText of {n}.\n" for n in range(30)}
    write_project(project, more)
    seen: list[tuple[float, float | None, str | None]] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def run() -> JSON:
        async with Client(connect(), mode=mode) as client:
            return (
                await client.call_tool(
                    "manage_knowledge_base", {"action": "sync", "wait_seconds": 600}, progress_callback=watch
                )
            ).structured_content

    done = anyio.run(run)

    assert done["state"] == "done"
    assert [step for step, _, _ in seen] == sorted({step for step, _, _ in seen})
    assert any("embedding" in (message or "") for _, _, message in seen)
    assert all(total is None or step <= total for step, total, _ in seen)


def test_a_server_offers_only_the_selected_toolsets(project: Path) -> None:
    async def names() -> list[str]:
        async with Client(over_pipes(project, "--toolsets", "query,documents")) as client:
            with pytest.raises(MCPError, match="toolset `manage`"):
                await client.call_tool("healthcheck", {})
            return [tool.name for tool in (await client.list_tools()).tools]

    assert len(anyio.run(names)) == 7


def test_an_unknown_toolset_is_reported_at_the_start(project: Path) -> None:
    done = run_lore("mcp", "--toolsets", "query,nope", cwd=project)

    assert done.returncode == 2
    assert "Toolsets: query, documents, manage" in done.stderr
