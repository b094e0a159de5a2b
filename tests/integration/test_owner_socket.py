"""The socket of an owner, in this process."""

import json
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import anyio
import anyio.to_thread
import pytest
from anyio.abc import SocketAttribute, SocketStream

from lore_server.app import App
from lore_server.owner.listen import Connections, SocketServer, until_quiet
from tests.harness.commands import SECONDS

TOKEN = "played"
MCP = "lore_server.mcp.mcp_server"


class HeldImport(MetaPathFinder):
    """A finder that holds the import of a module until the import is released."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.reached = threading.Event()
        self.released = threading.Event()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == self._name:
            self.reached.set()
            assert self.released.wait(SECONDS)


async def say(stream: SocketStream, want: str) -> None:
    await stream.send(json.dumps({"token": TOKEN, "want": want}).encode() + b"\n")


def test_other_clients_are_answered_while_mcp_is_imported_for_the_first_agent(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    mcp = HeldImport(MCP)
    monkeypatch.delitem(sys.modules, MCP, raising=False)
    monkeypatch.setattr(sys, "meta_path", [mcp, *sys.meta_path])

    async def talk() -> tuple[bytes, bytes]:
        server = SocketServer(app, TOKEN, Connections(), lambda: {"kind": "background"})
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(SocketAttribute.local_port)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, server.welcome)
            async with await anyio.connect_tcp("127.0.0.1", port) as agent:
                await say(agent, "mcp")
                assert await anyio.to_thread.run_sync(mcp.reached.wait, SECONDS)
                async with await anyio.connect_tcp("127.0.0.1", port) as shell:
                    await say(shell, "status")
                    status = await shell.receive()
                mcp.released.set()
                greeting = await agent.receive()
            tasks.cancel_scope.cancel()
        return status, greeting

    status, greeting = anyio.run(talk)

    assert json.loads(status) == {"ok": True, "kind": "background"}
    assert json.loads(greeting.splitlines()[0])["ok"] is True


def test_an_owner_without_clients_stays_until_its_job_has_ended() -> None:
    looks = 0

    def is_needed() -> bool:
        nonlocal looks
        looks += 1
        return looks < 4

    anyio.run(until_quiet, Connections(), 0.01, is_needed)

    assert looks == 4


def test_an_owner_with_a_client_stays() -> None:
    async def main() -> None:
        connections = Connections()
        async with connections.inside(""):
            with anyio.move_on_after(0.2) as time:
                await until_quiet(connections, 0.01, lambda: False)
            assert time.cancelled_caught
        await until_quiet(connections, 0.01, lambda: False)

    anyio.run(main)
