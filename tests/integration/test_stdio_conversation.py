"""The line handler with a real server on a real socket: every line from a client gets its reply."""

import asyncio
import json
import queue
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.server.lowlevel import Server

from lore_etl.config.settings import Settings
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.threads import Calls
from lore_server.mcp import lines as module
from lore_server.mcp.lines import serve_lines
from lore_server.mcp.mcp_server import build_server
from tests.harness.calls import sync_job
from tests.harness.models import HashModel
from tests.harness.projects import write_project
from tests.harness.trying import trying

JSON = dict[str, Any]
HELLO = {
    "jsonrpc": "2.0", "id": "hello", "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
SECONDS = 120
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[]))
ANY = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
TOOLS = ["query_documents", "get_source", "list_documents", "no_such_tool", "get_job"]
CALL = st.fixed_dictionaries(
    {"name": st.sampled_from(TOOLS) | ANY},
    optional={
        "arguments": st.fixed_dictionaries({}, optional={"query": ANY, "path": ANY, "limit": ANY, "id": ANY}) | ANY,
        "_meta": st.fixed_dictionaries({}, optional={"progressToken": ANY}) | ANY,
    },
)
METHODS = [
    "tools/call", "tools/list", "ping", "initialize", "resources/read", "prompts/get", "completion/complete",
    "logging/setLevel", "resources/subscribe", "server/discover", "no/such", "",
]  # fmt: skip
REQUEST = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS) | ANY},
    optional={"params": CALL | st.fixed_dictionaries({"uri": ANY, "name": ANY}) | ANY},
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[Server[Any]]:
    root = write_project(tmp_path_factory.mktemp("lines").resolve(), {"docs/a.md": "# Guide\n\nThe zebra.\n"})
    app = App(root, Settings(), contract, HashModel())
    assert sync_job(app)["state"] == "done"
    yield build_server(contract, Calls(contract, app.call))
    app.close()


def converse(mcp: Server[Any], sent: list[bytes], replies: int) -> list[JSON]:
    """Return the replies to these lines after a handshake; fail if there are too few."""

    async def run() -> list[JSON]:
        ours, theirs = socket.socketpair()
        async with await SocketStream.from_socket(ours) as client, await SocketStream.from_socket(theirs) as socket_:
            received = BufferedByteReceiveStream(client)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve_lines, mcp, BufferedByteReceiveStream(socket_), socket_)
                tasks.start_soon(send_all, client)
                with anyio.fail_after(SECONDS):
                    found = [json.loads(await received.receive_until(b"\n", 10**8)) for _ in range(replies + 1)]
                tasks.cancel_scope.cancel()
        assert next(reply for reply in found if reply["id"] == "hello")["result"]
        return [reply for reply in found if reply["id"] != "hello"]

    async def send_all(client: SocketStream) -> None:
        await client.send(json.dumps(HELLO).encode() + b"\n")
        for line in sent:
            await client.send(line + b"\n")

    return anyio.run(run)


@trying(5, database=None)
@given(st.lists(REQUEST, min_size=1, max_size=20))
def test_every_request_gets_exactly_one_reply(server: Server[Any], requests: list[JSON]) -> None:
    sent = [json.dumps({**request, "id": number}).encode() for number, request in enumerate(requests)]

    replies = converse(server, [*sent, b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}'], len(requests) + 1)

    assert Counter(reply["id"] for reply in replies) == Counter([*range(len(requests)), "last"])
    assert all(("result" in reply) != ("error" in reply) for reply in replies)


@trying(5, database=None)
@example([b"\0"])  # as Lore itself replaces a line that is too long
@given(st.lists(st.binary(min_size=1, max_size=30).filter(lambda line: b"\n" not in line and b"{" not in line)))
@pytest.mark.promise(29)
def test_every_invalid_line_gets_an_error_without_an_id(server: Server[Any], lines: list[bytes]) -> None:
    lines = [line for line in lines if line.strip()]

    replies = converse(server, [*lines, b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}'], len(lines) + 1)

    assert Counter(reply["id"] for reply in replies) == Counter({None: len(lines), "last": 1})
    assert {reply["error"]["code"] for reply in replies if reply["id"] is None} <= {-32700, -32600}


@pytest.mark.promise(29)
def test_only_the_line_that_is_too_long_is_rejected(server: Server[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 200_000)
    ping = b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}'

    replies = converse(server, [b'{"x": "' + b"x" * 500_000 + b'"}', ping + b" " * 300_000, ping], 3)

    assert [reply["id"] for reply in replies] == [None, None, "last"]


def test_a_reply_that_cannot_be_serialized_becomes_an_error_for_its_request(contract: Contract) -> None:
    half = {"source": "\ud800", "type": "guide", "lines": 1}
    params = {"name": "list_sources", "arguments": {}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    (reply,) = converse(build_server(contract, Calls(contract, lambda *_: {"sources": [half], "total": 1})), [line], 1)

    assert (reply["id"], reply["error"]["code"]) == (1, -32603)


class HeldClock(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when the test says so."""

    now = 0.0

    def time(self) -> float:
        return self.now


class SlowCalls:
    """Calls that each report a step when the test allows it; the last step is the result."""

    def __init__(self) -> None:
        self._steps = queue.Queue[None]()

    def step(self) -> None:
        self._steps.put(None)

    def __call__(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        for number in range(arguments["limit"]):
            self._steps.get(timeout=SECONDS)
            if number + 1 < arguments["limit"]:
                listener.progress("embed", number, 0)
        return {"total": 0, "documents": [], "freshness": {"state": "fresh"}}


def after_the_input(contract: Contract, requests: Sequence[JSON], messages: int, pause: float) -> list[JSON]:
    """End the input after the requests, then let the time pass before each step; return the messages that arrive."""
    calls, found = SlowCalls(), list[JSON]()
    mcp = build_server(contract, Calls(contract, calls))

    async def run() -> None:
        ours, theirs = socket.socketpair()
        async with await SocketStream.from_socket(ours) as client, await SocketStream.from_socket(theirs) as socket_:
            received = BufferedByteReceiveStream(client)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve_lines, mcp, BufferedByteReceiveStream(socket_), socket_)
                for request in (HELLO, *requests):
                    await client.send(json.dumps(request).encode() + b"\n")
                await received.receive_until(b"\n", 10**8)
                await client.send_eof()
                for _ in range(messages):
                    for _ in range(100):  # the server reads the end of the input
                        await anyio.lowlevel.checkpoint()
                    asyncio.get_running_loop().now += pause  # type: ignore[attr-defined]
                    for _ in range(100):
                        await anyio.lowlevel.checkpoint()
                    calls.step()
                    with suppress(anyio.EndOfStream, anyio.IncompleteRead):
                        found.append(json.loads(await received.receive_until(b"\n", 10**8)))

    anyio.run(run, backend_options={"loop_factory": HeldClock})
    return found


def listing(number: int, steps: int) -> JSON:
    params = {"name": "list_documents", "arguments": {"limit": steps}, "_meta": {"progressToken": number}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("requests", "messages"),
    [
        ([listing(number, 1) for number in range(4)], [0, 1, 2, 3]),
        ([listing(7, 4)], [*["notifications/progress"] * 3, 7]),
    ],
    ids=["other replies", "progress of its own call"],
)
def test_a_reply_arrives_after_the_end_of_the_input_while_other_messages_do(
    contract: Contract, requests: list[JSON], messages: list[object]
) -> None:
    found = after_the_input(contract, requests, 4, module.GRACE_SECONDS - 1)

    assert sorted((message.get("method") or message["id"] for message in found), key=messages.index) == messages
    assert found[-1].get("method") is None


def test_a_conversation_without_messages_ends_some_time_after_its_input(contract: Contract) -> None:
    (message,) = after_the_input(contract, [listing(7, 1)], 1, module.GRACE_SECONDS + 1)

    assert (message["id"], message["error"]["message"]) == (7, "Connection closed")
