"""A client that can ask its user does so before a mass delete, in the protocol of 2026 and in earlier ones."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client._memory import InMemoryTransport as wired
from mcp.client.client import Client

from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.threads import Calls
from lore_server.mcp.mcp_server import build_server
from tests.harness.calls import synced_app

PROJECT = {f"docs/page{number}.md": f"# Page {number}\n\nText {number}.\n" for number in range(10)}
DELETE = {"action": "delete", "wait_seconds": 60}
SYNC = {"action": "sync", "wait_seconds": 60}
MODES = ["legacy", "2026-07-28"]


@pytest.fixture
def app(tmp_path: Path, contract: Contract) -> Iterator[App]:
    with synced_app(tmp_path, PROJECT, contract) as app:
        yield app


def called(
    app: App, mode: str, arguments: dict[str, Any], answer: str | None
) -> tuple[types.CallToolResult, list[str]]:
    """Return the result of a call by a client whose user answers, or that cannot ask; and the questions."""
    asked = list[str]()

    async def ask(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult.model_validate({"action": answer, "content": {} if answer == "accept" else None})

    async def run() -> types.CallToolResult:
        server = build_server(app.contract, Calls(app.contract, app.call))
        async with Client(wired(server), mode=mode, elicitation_callback=ask if answer else None) as client:
            return await client.call_tool("manage_knowledge_base", arguments)

    return anyio.run(run), asked


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", ["accept", "decline", "cancel", None])
def test_the_user_decides_whether_the_index_is_deleted(app: App, mode: str, answer: str | None) -> None:
    result, asked = called(app, mode, DELETE, answer)

    assert len(asked) == (answer is not None)
    assert all("Deleting the index" in text for text in asked)
    assert bool(result.is_error) == (answer != "accept")
    assert ("refused" in str(result.content)) == (answer in ("decline", "cancel"))
    assert (app.call("list_sources", {})["total"] == len(PROJECT)) if answer != "accept" else True


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("answer", ["accept", "decline"])
def test_the_user_decides_whether_most_of_the_files_are_gone(app: App, mode: str, answer: str) -> None:
    shutil.rmtree(app.index.root / "docs")
    (app.index.root / "left.md").write_text("# Left\n\nText.\n")

    result, asked = called(app, mode, SYNC, answer)

    assert len(asked) == 1
    assert bool(result.is_error) == (answer == "decline")
    assert app.call("list_sources", {})["total"] == (1 if answer == "accept" else len(PROJECT))


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_confirms_is_not_asked(app: App, mode: str) -> None:
    result, asked = called(app, mode, {**DELETE, "confirm": True}, "decline")

    assert (result.is_error, asked) == (False, [])
