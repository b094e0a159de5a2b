"""MCP over a line stream: standard input and output, or a client on the owner's socket.

The SDK drops lines that it cannot parse, and senders would wait. Here they get an error, which never quotes them.
"""

import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeAlias

import anyio
import mcp_types as types
from anyio.abc import ByteStream, ObjectReceiveStream, ObjectSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from lore_etl.core.text import is_encodable

GRACE_SECONDS = 10.0  # after the end of the input and each later message, for replies in progress
LONGEST_LINE = 32_000_000
BLOCK = 65_536
LONGEST_INTEGER = 4000  # digits: Python refuses to convert more than 4,300
ONE_OBJECT = "A message must be one JSON object on its own line; batches are not supported."
NOT_A_REQUEST = 'A message needs `jsonrpc`: "2.0", `method`: a string and, for a reply, `id`: a string or an integer.'
DISCONNECTED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead)
MCPServer: TypeAlias = Server[Any]


def serve_stdio(server: MCPServer) -> None:
    """Serve standard input and output until the input ends and all requests are answered."""

    async def run(source: BinaryIO, target: BinaryIO) -> None:
        output = anyio.wrap_file(target)

        async def send(data: bytes) -> None:
            await output.write(data)
            await output.flush()

        await Conversation(anyio.wrap_file(source), send).run(server)

    with _wire() as (source, target):
        anyio.run(run, source, target)
    sys.stderr.flush()


async def serve_lines(server: MCPServer, received: BufferedByteReceiveStream, stream: ByteStream) -> None:
    await Conversation(_lines(received), stream.send).run(server)


class Conversation:
    """The messages of one client; each request and each other line gets a reply.

    The end of the input is withheld until the replies are written, because the SDK drops those in progress.
    """

    def __init__(self, lines: AsyncIterable[bytes], send: Callable[[bytes], Awaitable[object]]) -> None:
        self._lines = lines
        self._send = send
        self._open: set[Any] = set()
        self._changed = anyio.Event()

    async def run(self, server: MCPServer) -> None:
        requests, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, replies = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_in, requests, write.clone())
            tasks.start_soon(self._pass_out, replies)
            await server.run(read, write, server.create_initialization_options())

    async def _pass_in(
        self, requests: ObjectSendStream[SessionMessage | Exception], refusals: ObjectSendStream[SessionMessage]
    ) -> None:
        async with requests, refusals:
            async for line in self._lines:
                try:
                    message = read_message(line)
                except Malformed as malformed:
                    await refusals.send(SessionMessage(malformed.reply))
                    continue
                if isinstance(message, types.JSONRPCRequest):
                    self._open.add(message.id)
                elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                    self._settle((message.params or {}).get("requestId"))
                if message is not None:
                    await requests.send(SessionMessage(message))
            is_waiting = True
            while self._open and is_waiting:  # some are never answered, such as requests with an invalid id
                with anyio.move_on_after(GRACE_SECONDS) as grace:  # the client can send SIGTERM to stop the wait
                    await self._changed.wait()
                is_waiting = not grace.cancelled_caught

    def _settle(self, number: object = None) -> None:
        """Note that a reply was sent, to the request with this id if it was the last one."""
        with suppress(TypeError):  # the id may be invalid
            self._open.discard(number)
        self._changed.set()
        self._changed = anyio.Event()

    async def _pass_out(self, replies: ObjectReceiveStream[SessionMessage]) -> None:
        async with replies:
            async for item in replies:
                with suppress(*DISCONNECTED, OSError):  # the client disconnected: drop the replies in progress
                    await self._send(_encoded(item.message) + b"\n")
                    self._settle()
                if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle(item.message.id)


def _encoded(message: types.JSONRPCMessage) -> bytes:
    """Encode a message as JSON; a reply that cannot be encoded becomes an error."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        error = types.ErrorData(code=types.INTERNAL_ERROR, message="The reply cannot be written as JSON.")
        reply = types.JSONRPCError(jsonrpc="2.0", id=getattr(message, "id", None), error=error)
        return reply.model_dump_json(by_alias=True).encode()


async def _lines(received: BufferedByteReceiveStream) -> AsyncIterator[bytes]:
    """Yield the lines from a client. One that is too long is replaced by an invalid one, so that it is rejected."""
    is_rest = False
    with suppress(*DISCONNECTED):
        while True:
            is_part = False
            try:
                line = await received.receive_until(b"\n", BLOCK if is_rest else LONGEST_LINE)
            except anyio.DelimiterNotFound:
                line, is_part = b"\0", True
                await received.receive_exactly(BLOCK)
            if not is_rest:
                yield line
            is_rest = is_part


@contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Reserve standard input and output for the protocol: other code cannot read, and prints to standard error."""
    with open(os.dup(0), "rb") as source, open(os.dup(1), "wb") as target, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        try:
            yield source, target
        finally:
            os.dup2(source.fileno(), 0)
            os.dup2(target.fileno(), 1)


class Malformed(ValueError):
    """A line that is not a message; `reply` is the response to it."""

    def __init__(self, code: int, message: str, value: object = None) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.reply = types.JSONRPCError(jsonrpc="2.0", id=_id_of(value), error=error)


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message on a line; None for a blank line or an invalid reply. Raises Malformed."""
    if not line.strip():
        return None
    value = _decoded(line)
    if not isinstance(value, dict):
        raise Malformed(types.INVALID_REQUEST, ONE_OBJECT)
    # the SDK's union would read a request with a wrong `id` as a notification
    asked = types.JSONRPCRequest if "id" in value else types.JSONRPCNotification
    answered = types.JSONRPCResponse if "result" in value else types.JSONRPCError
    try:
        return (asked if "method" in value else answered).model_validate(value, by_name=False)
    except ValidationError as error:
        if "method" not in value and value.keys() & {"result", "error"}:
            return None
        if all(problem["loc"][0] == "params" for problem in error.errors()):
            raise Malformed(types.INVALID_PARAMS, "`params` must be an object.", value) from error
        raise Malformed(types.INVALID_REQUEST, NOT_A_REQUEST, value) from error


def _decoded(line: bytes) -> object:
    """Decode a line as JSON, skipping a byte order mark. Raises Malformed, with the id if there is one."""
    value: object = None
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"), parse_int=_integer)
        line.decode("utf-8")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeError as error:
        reason = "The line is not valid UTF-8 or contains a lone surrogate."
        raise Malformed(types.PARSE_ERROR, reason, value) from error
    except RecursionError as error:
        raise Malformed(types.PARSE_ERROR, "The JSON is nested too deeply.", value) from error
    except ValueError as error:
        reason = "The line is not valid JSON, contains a number out of range, or is too long."
        raise Malformed(types.PARSE_ERROR, reason, value) from error
    return value


def _integer(digits: str) -> int | float:
    """Parse a number of any length; too long a number becomes infinite, which is rejected with the id intact."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _id_of(value: object) -> int | str | None:
    """Return the id of a message if it can be sent back."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found if is_encodable(found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
