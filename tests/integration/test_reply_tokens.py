"""The model of each agent reads one form of a reply, the shorter one, and the budget is for that form."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import mcp_types as types
import pytest
from mcp.client._memory import InMemoryTransport as wired
from mcp.client.client import Client

from benchmarks.reply_tokens import QUESTION, READ_BY, Calling, as_json, calls, estimate, indexed, replies, text_of
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.execution.threads import Calls
from lore_server.mcp.mcp_server import DEFAULT_TOOLSETS, build_server
from lore_server.mcp.tools import TEXT_READERS
from lore_server.operations.table import render
from lore_server.replies.budget import CHARACTERS_PER_TOKEN, READS_TEXT
from tests.harness.models import HashModel, counter

pytestmark = pytest.mark.later

OTHERS: Calling = [
    ("query_documents", {**QUESTION, "brief": True}),
    ("search_memories", {"query": "error handlers"}),
    ("get_knowledge_file", {"filename": "errors"}),
]
MARKS = 150  # characters around the text that mark it as data


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    app = indexed(tmp_path_factory.mktemp("forms").resolve(), HashModel())
    yield app
    app.close()


@contextmanager
def read_as_text() -> Iterator[None]:
    token = READS_TEXT.set(True)
    try:
        yield
    finally:
        READS_TEXT.reset(token)


def test_the_ten_calls_are_of_the_tools_that_are_listed_by_default(app: App) -> None:
    listed = {operation.id for operation in app.contract if operation.toolset in DEFAULT_TOOLSETS}

    assert [operation for operation, _ in calls(app)] == [
        operation.id for operation in app.contract if operation.id in listed - {"cancel_job"}
    ]


@pytest.mark.parametrize("client", READ_BY)
def test_the_model_of_an_agent_reads_no_more_than_the_text_of_each_reply(app: App, client: str) -> None:
    found = list(replies(app, client, [*calls(app), *OTHERS]))

    assert client in TEXT_READERS
    for reply in found:
        for count in (estimate, counter().count):
            assert count(reply.read) <= 1.1 * count(reply.text)
        assert reply.room is None or len(reply.read) <= reply.room
        assert len(reply.text) >= len(reply.unknown_text) - MARKS
    data, text = (sum(len(getattr(reply, form)) for reply in found) for form in ("unknown_data", "unknown_text"))
    assert data > 1.3 * text  # otherwise, the calls would show nothing


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", ["claude-code", "claude-code (via mcp-remote 0.1.30)", "claude-code-router", ""])
def test_only_agents_get_no_data_and_the_client_library_accepts_both_forms(app: App, mode: str, name: str) -> None:
    calling = [*calls(app), *OTHERS, ("get_document_by_id", {"id": "none"})]

    async def results() -> tuple[list[types.Tool], list[types.CallToolResult]]:
        server = build_server(app.contract, Calls(app.contract, app.call), list(app.contract.toolsets()))
        info = types.Implementation(name=name, version="2.1.280")
        async with Client(wired(server), mode=mode, client_info=info) as client:
            tools = (await client.list_tools()).tools  # the client validates replies against their schemas
            return tools, [await client.call_tool(operation, arguments) for operation, arguments in calling]

    tools, found = anyio.run(results)

    is_agent = name.partition(" (")[0] == "claude-code"
    assert {tool.output_schema is None for tool in tools} == {is_agent}
    assert {result.structured_content is None for result in found} == {is_agent}
    assert found[-1].is_error
    assert "DOCUMENT_NOT_FOUND" in text_of(found[-1])
    for (operation, _), result in zip(calling, found[:-1], strict=False):
        if not is_agent:
            app.contract[operation].check_result(result.structured_content)


@pytest.mark.requirement("NEO-033")
@pytest.mark.parametrize("max_tokens", [200, 900, 20_000])
@pytest.mark.parametrize(
    ("operation", "arguments", "lists"),
    [
        ("get_class_hierarchy", {}, ["classes"]),
        ("get_class_hierarchy", {"root": "Starlette"}, ["classes", "members"]),
        ("list_sources", {}, ["sources"]),
        ("list_documents", {"limit": 1000}, ["documents"]),
        ("get_source", {"path": "routing.py"}, ["text"]),
    ],
)
def test_a_text_fills_its_budget_and_cursors_return_the_rest_once(
    app: App, operation: str, arguments: dict[str, object], lists: list[str], max_tokens: int
) -> None:
    whole = app.call(operation, {**arguments, "max_tokens": 1_000_000})
    room, asked, rows = max_tokens * CHARACTERS_PER_TOKEN, {**arguments, "max_tokens": max_tokens}, []
    with read_as_text():
        while True:
            reply = app.call(operation, asked)
            assert len(render(operation, reply).whole()) <= room
            rows += [row for name in lists for row in reply[name]]
            if "next_cursor" not in reply:
                break
            if max_tokens >= 900:
                assert len(render(operation, reply).whole()) > 0.75 * room
            asked["cursor"] = reply["next_cursor"]

    assert rows == [row for name in lists for row in whole[name]]


def test_the_text_of_an_answer_fills_its_budget_and_is_heard_once(app: App) -> None:
    asked, heard = {"query": "How does routing match a path?", "limit": 20, "max_tokens": 600}, list[str]()
    alone = app.call("ask_knowledge_base", asked)
    with read_as_text():
        filled = app.call("ask_knowledge_base", asked, Listener(text=heard.append))

    short, long = (len(render("ask_knowledge_base", reply).whole()) for reply in (alone, filled))
    assert "truncated" in alone
    assert short < long <= 600 * CHARACTERS_PER_TOKEN
    assert len(heard) == 1


def test_a_call_is_logged_once_however_often_its_reply_is_lengthened(app: App) -> None:
    call = {"query": "response", "limit": 50, "max_tokens": 900}
    before = app.call("get_insights", {})["questions"]
    alone = app.call("query_documents", call)
    with read_as_text():
        filled = app.call("query_documents", call)

    assert len(as_json(filled)) > len(as_json(alone))
    assert app.call("get_insights", {})["questions"] == before + 2
