"""Clients take turns: every interface tells the worker pools whose call it is."""

import json
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial

import anyio
import httpx2
import pytest
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_server.app import App
from lore_server.execution.threads import CLIENT
from lore_server.http.protocol import LimitedProtocol
from lore_server.owner.listen import Connections, SocketServer
from tests.harness.commands import SECONDS
from tests.integration.test_http_limits import serving

TOKEN = "played"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}}


@pytest.fixture
def clients(hash_app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the clients of the calls so far."""
    call, found = hash_app.call, list[str]()

    def record(operation: str, arguments: JSON, listener: Listener = NOBODY) -> JSON:
        found.append(CLIENT.get())
        return call(operation, arguments, listener)

    monkeypatch.setattr(hash_app, "call", record)
    yield found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of this machine")
@pytest.mark.promise(24)
def test_over_http_the_clients_are_addresses(hash_app: App, clients: list[str]) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    with serving(hash_app, LimitedProtocol) as (host, port):
        for address in ("127.0.0.1", "127.0.0.2"):
            transport = httpx2.HTTPTransport(local_address=address)
            with httpx2.Client(base_url=f"http://{host}:{port}", transport=transport, timeout=SECONDS) as client:
                client.get("/api/sources")
                client.post("/mcp", json=LIST, headers=headers)

    assert clients == ["127.0.0.1"] * 2 + ["127.0.0.2"] * 2


@pytest.mark.promise(24)
def test_over_the_socket_each_connection_is_a_client(hash_app: App, clients: list[str]) -> None:
    server = SocketServer(hash_app, TOKEN, Connections())
    hello = {"token": TOKEN, "want": "call"}
    request = {"operation": "list_sources", "arguments": {}}

    async def talk() -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(SocketAttribute.local_port)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, server.welcome)
            async with AsyncExitStack() as stack:
                connect = partial(anyio.connect_tcp, "127.0.0.1", port)
                for stream in [await stack.enter_async_context(await connect()) for _ in range(2)]:
                    replies = BufferedByteReceiveStream(stream)
                    for message in (hello, request, request):
                        await stream.send(json.dumps(message).encode() + b"\n")
                        await replies.receive_until(b"\n", 1_000_000)
            tasks.cancel_scope.cancel()

    anyio.run(talk)

    assert clients[0] == clients[1] != clients[2] == clients[3]
