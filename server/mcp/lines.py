"""MCP over a stream of lines: standard input and output, or the owner's socket."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from server.lazy import Lazy

GRACE_SECONDS = 10.0  # after the end of the input, for replies that are still being made


def serve_stdio(server: Server[Any], loaded: Lazy) -> None:
    """Answer on standard input and output until the input ends and what was asked is answered."""

    async def run() -> None:
        pending = _Pending()
        async with stdio_server() as (read, write):
            loaded.begin()
            requests, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            replies, sent = anyio.create_memory_object_stream[SessionMessage](0)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pending.pass_in, read, requests)
                tasks.start_soon(pending.pass_out, sent, write)
                await server.run(received, replies, server.create_initialization_options())

    anyio.run(run)
    sys.stderr.flush()


class _Pending:
    """Holds the end of the input back until every request has its reply: the SDK drops those still running."""

    def __init__(self) -> None:
        self._open: set[Any] = set()
        self._changed = anyio.Event()

    async def pass_in(self, source: Any, target: Any) -> None:
        async with target:
            async for item in source:
                message = item.message if isinstance(item, SessionMessage) else None
                if isinstance(message, types.JSONRPCRequest):
                    self._open.add(message.id)
                elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._open.discard((message.params or {}).get("requestId"))
                await target.send(item)
            with anyio.move_on_after(GRACE_SECONDS):
                while self._open:
                    await self._changed.wait()

    async def pass_out(self, source: Any, target: Any) -> None:
        async with target:
            async for item in source:
                await target.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(item.message.id)
                    self._changed.set()
                    self._changed = anyio.Event()
