"""Test that every interface answers searches while many answers wait for a model that hangs."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.harness import model_server
from tests.harness.commands import as_lore
from tests.harness.interfaces import mcp_over_http, serving
from tests.harness.model_server import ModelServer
from tests.harness.projects import copy_project, write_project

pytestmark = pytest.mark.later

JSON = dict[str, Any]
Ask = Callable[[str, JSON], Any]
WAITING = 70  # more than the threads of any shared pool
AT_WORK = 16  # answers written at the same time
SECONDS = 600  # a limit against endless runs


@pytest.fixture
def project(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project whose answers wait for the model longer than the searches take on a busy machine."""
    write_project(tmp_path, {"config/lore/config.toml": "[answer]\ntimeout_seconds = 600\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return copy_project(sample, tmp_path / "ferry", "token")


@pytest.mark.promise(24, 27)
def test_searches_are_answered_over_standard_input_and_output(project: Path) -> None:
    with model_server.serving(model_server.silence) as fake:
        endpoint = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": fake.url}

        @asynccontextmanager
        async def face() -> AsyncIterator[Ask]:
            command, *arguments = as_lore()
            environment = {**os.environ, **endpoint}
            given = StdioServerParameters(command=command, args=[*arguments, "mcp"], cwd=project, env=environment)
            async with Client(stdio_client(given)) as client:
                yield through(client)

        assert anyio.run(early_answers, face, fake) == []


@pytest.mark.parametrize("way", ["mcp", "api"])
@pytest.mark.promise(24, 27)
def test_searches_are_answered_over_http(project: Path, way: str) -> None:
    with model_server.serving(model_server.silence) as fake:
        endpoint = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": fake.url}
        with serving(project, variables=endpoint) as url:

            @asynccontextmanager
            async def mcp() -> AsyncIterator[Ask]:
                async with Client(mcp_over_http(url, {})) as client:
                    yield through(client)

            @asynccontextmanager
            async def api() -> AsyncIterator[Ask]:
                async with httpx2.AsyncClient(base_url=f"{url}/api", timeout=SECONDS) as client:
                    paths = {"ask_knowledge_base": "/knowledge/ask", "query_documents": "/documents/query"}

                    async def ask(name: str, arguments: JSON) -> JSON:
                        found: JSON = (await client.post(paths[name], json=arguments)).json()
                        return found

                    yield ask

            assert anyio.run(early_answers, mcp if way == "mcp" else api, fake) == []


def through(client: Client) -> Ask:
    async def ask(name: str, arguments: JSON) -> JSON:
        result = await client.call_tool(name, arguments)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    return ask


async def early_answers(face: Callable[[], AbstractAsyncContextManager[Ask]], fake: ModelServer) -> list[JSON]:
    """Return the replies that arrive before those to the searches, apart from rejections of queued questions."""
    answers: list[JSON] = []

    async def wait(number: int) -> None:
        answers.append(await ask("ask_knowledge_base", {"query": f"How do retries back off, case {number}?"}))

    async with face() as ask, anyio.create_task_group() as tasks:
        for number in range(WAITING):
            tasks.start_soon(wait, number)
        with anyio.fail_after(SECONDS):
            while len(fake.requests) < AT_WORK:
                await anyio.sleep(0.05)
            found = [await ask("query_documents", {"query": word}) for word in ("retry", "worker", "queue")]
        early = [answer for answer in answers if (answer.get("error") or {}).get("code") != "BUSY"]
        tasks.cancel_scope.cancel()
    assert all(result["results"] for result in found), json.dumps(found)[:500]
    return early
