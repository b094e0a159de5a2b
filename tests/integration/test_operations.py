"""The table of operations: contract and services must match, and a new tool needs a single line."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import yaml
from jsonschema import Draft202012Validator
from mcp.client._memory import InMemoryTransport
from mcp.client.client import Client
from starlette.applications import Starlette

from lore_etl.config.settings import Settings
from lore_etl.core.errors import ConfigError, InternalError
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.contract import Contract, Operation
from lore_server.execution.threads import Calls
from lore_server.http.access import Token
from lore_server.http.application import api_routes
from lore_server.http.guard import Crowd, Guard
from lore_server.http.site import Site
from lore_server.mcp.mcp_server import build_server
from lore_server.operations.table import OPERATIONS, Entry, render
from lore_server.replies.reply_text import ReplyText
from tests.harness.calls import edit
from tests.harness.models import HashModel

JSON = dict[str, Any]
ECHO = yaml.safe_load("""
operationId: echo
tags: [query]
summary: Repeat a text
description: Repeats a text.
x-mcp: {title: Echo, readOnlyHint: true, idempotentHint: true, openWorldHint: false}
x-deadline-seconds: 120
parameters:
  - {name: text, in: query, required: true, schema: {type: string, maxLength: 100}}
  - {name: times, in: query, schema: {type: integer, maximum: 9, default: 2}}
  - {name: end, in: query, schema: {type: string, maxLength: 100}}
responses:
  "200":
    description: The text
    content:
      application/json:
        schema:
          type: object
          additionalProperties: false
          required: [echo]
          properties: {echo: {type: string, maxLength: 1000}}
""")


@pytest.fixture
def with_echo(contract: Contract) -> Contract:
    """Return the contract with an additional operation."""
    document = copy.deepcopy(contract.document)
    document["paths"]["/echo"] = {"get": ECHO}
    return Contract(document)


def shown(reply: JSON) -> ReplyText:
    return ReplyText(f"I say {reply['echo']}")


def opened(root: Path, contract: Contract) -> App:
    return App(root.resolve(), Settings(), contract, HashModel())


@pytest.fixture
def app(tmp_path: Path, with_echo: Contract, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """Return an application with the operation: a section of the contract, a method and a line in the table."""

    def echo(*, text: str, times: int, end: str = "", listener: Listener) -> JSON:
        listener.text("heard")
        return {"echo": text * times + end}

    monkeypatch.setitem(OPERATIONS, "echo", Entry(lambda its: echo, shown))
    app = opened(tmp_path, with_echo)
    yield app
    app.close()


def test_an_added_operation_is_called_with_defaults_and_its_listener_and_rendered(app: App) -> None:
    texts: list[str] = []
    reply = app.call("echo", {"text": "ab"}, Listener(text=texts.append))

    assert (reply, texts) == ({"echo": "abab"}, ["heard"])
    assert render("echo", reply).whole() == "I say abab"


def test_an_added_operation_is_a_tool_over_mcp(app: App) -> None:
    async def called() -> tuple[list[str], Any]:
        server = build_server(app.contract, Calls(app.contract, app.call))
        async with Client(InMemoryTransport(server)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, await client.call_tool("echo", {"text": "ab", "times": 1, "end": "!"})

    tools, result = anyio.run(called)

    assert "echo" in tools
    assert result.structured_content == {"echo": "ab!"}
    assert "\nI say ab!\n" in result.content[0].text


def test_an_added_operation_is_a_route_over_http(app: App) -> None:
    async def got() -> httpx2.Response:
        site = Site("echo", app.index.root, Token("token", "the test"))
        routes = api_routes(app.contract, Calls(app.contract, app.call), site)
        transport = httpx2.ASGITransport(Guard(Starlette(routes=routes), site, Crowd()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            return await client.get("/api/echo", params={"text": "ab"})

    assert anyio.run(got).json() == {"echo": "abab"}


@pytest.mark.requirement("NEO-038")
def test_an_operation_without_a_line_in_the_table_or_the_reverse_prevents_the_start(
    tmp_path: Path, contract: Contract, with_echo: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="Contract and operations differ: echo"):
        opened(tmp_path, with_echo)
    monkeypatch.setitem(OPERATIONS, "echo", Entry(lambda its: lambda: {}, shown))

    with pytest.raises(ConfigError, match="Contract and operations differ: echo"):
        opened(tmp_path, contract)


def too_few(*, text: str, times: int) -> JSON:
    raise AssertionError


def too_many(*, text: str, times: int, end: str = "", more: str = "") -> JSON:
    raise AssertionError


def by_position(text: str, times: int, end: str = "") -> JSON:
    raise AssertionError


def required_that_may_be_missing(*, text: str, times: int, end: str) -> JSON:
    raise AssertionError


@pytest.mark.parametrize("method", [too_few, too_many, by_position, required_that_may_be_missing])
def test_a_method_whose_parameters_differ_from_the_contract_prevents_the_start(
    tmp_path: Path, with_echo: Contract, monkeypatch: pytest.MonkeyPatch, method: Any
) -> None:
    monkeypatch.setitem(OPERATIONS, "echo", Entry(lambda its: method, shown))

    with pytest.raises(ConfigError, match="The parameters of the method for echo differ from the contract"):
        opened(tmp_path, with_echo)


def test_a_passage_of_a_single_line_is_cited_by_that_line() -> None:
    rows = [{"id": "a", "type": "guide", "source": "docs/guide.md", "lines": lines} for lines in ([63, 63], [63, 64])]

    text = render("list_documents", {"documents": rows, "total": 2}).body

    assert [line.rpartition(" ")[2] for line in text.splitlines()] == ["docs/guide.md:63", "docs/guide.md:63-64"]


def test_the_quick_check_of_a_reply_rejects_the_same_replies_as_the_contract(hash_app: App) -> None:
    edit(hash_app, {"docs/a.md": "# Alpha\n\nText.\n", "a.py": "class A(B):\n    def f(self): ...\n"})
    calls: list[tuple[str, JSON]] = [
        ("query_documents", {"query": "alpha", "explain": True, "facets": True}),
        ("get_class_hierarchy", {"root": "A"}),
        ("list_sources", {}),
        ("healthcheck", {}),
        ("get_job", {"id": "latest"}),
    ]
    verdicts = []
    for name, arguments in calls:
        operation, reply = hash_app.contract[name], hash_app.call(name, arguments)
        schema = Draft202012Validator(operation.output_schema)
        for changed in changed_replies(reply):
            verdicts.append((_is_refused(operation, changed), not schema.is_valid(changed)))

    assert len(verdicts) > 500
    assert [ours for ours, _ in verdicts] == [exact for _, exact in verdicts]
    assert {exact for _, exact in verdicts} == {False, True}


def changed_replies(reply: Any) -> Iterator[Any]:
    """Yield copies of a value with one part replaced by a value of another type, or left out."""
    yield from (None, True, -1, 0.5, 10**30, "", "2026-02-30", [], {})
    if isinstance(reply, dict):
        for key, value in reply.items():
            yield {other: reply[other] for other in reply if other != key}
            yield from ({**reply, key: changed} for changed in changed_replies(value))
        yield {**reply, "unknown": 1}
    elif isinstance(reply, list):
        for index, value in enumerate(reply[:2]):
            yield from ([*reply[:index], changed, *reply[index + 1 :]] for changed in changed_replies(value))
        yield reply * 2


def _is_refused(operation: Operation, result: object) -> bool:
    try:
        operation.check_result(result)
    except InternalError:
        return True
    return False
