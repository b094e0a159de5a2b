"""MCP over a stream of lines: standard input and output, or a client on the owner's socket."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

GRACE_SECONDS = 10.0  # after the end of the input, for replies that are still being made
LONGEST_LINE = 32_000_000
Gone = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead)


def serve_stdio(server: Server[Any]) -> None:
    """Answer on standard input and output until the input ends and what was asked is answered."""

    async def run() -> None:
        async with stdio_server() as (read, write):
            await _serve(server, read, write)

    anyio.run(run)
    sys.stderr.flush()


async def serve_lines(server: Server[Any], received: BufferedByteReceiveStream, stream: ByteStream) -> None:
    """Answer a client on a socket until it leaves and what it asked is answered."""
    async with _messages(received, stream) as (read, write):
        await _serve(server, read, write)


async def _serve(server: Server[Any], read: Any, write: Any) -> None:
    pending = _Pending()
    requests, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    replies, sent = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pending.pass_in, read, requests)
        tasks.start_soon(pending.pass_out, sent, write)
        await server.run(received, replies, server.create_initialization_options())


@asynccontextmanager
async def _messages(received: BufferedByteReceiveStream, stream: ByteStream) -> AsyncIterator[tuple[Any, Any]]:
    """A socket as a pair of streams of messages, framed as on standard input and output: one line each."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def reader() -> None:
        async with incoming:
            while True:
                try:
                    line = await received.receive_until(b"\n", LONGEST_LINE)
                    await incoming.send(_message(line))
                except (*Gone, anyio.DelimiterNotFound):
                    return

    async def writer() -> None:
        async with outgoing:
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(*Gone):  # the client left; what is still being made for it is dropped
                    await stream.send(text.encode() + b"\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader)
        tasks.start_soon(writer)
        yield read, write


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(
            types.jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
        )
    except Exception as error:  # noqa: BLE001 - the top of a face: the SDK decides what to do with what is no message
        return error


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
                with suppress(*Gone):
                    await target.send(item)
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._open.discard(item.message.id)
                    self._changed.set()
                    self._changed = anyio.Event()
