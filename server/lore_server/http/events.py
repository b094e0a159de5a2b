"""Server-sent events: an answer while it is written. A disconnect frees the working thread."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lore_etl.core.errors import Cancelled, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_server.contract import EVENTS, Operation
from lore_server.execution.threads import Calls
from lore_server.http.guard import RENEW
from lore_server.replies.problem import problem

HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": \n\n"
Stream = AsyncGenerator[bytes, None]


class Events(StreamingResponse):
    """A streaming response that closes its source when it ends."""

    media_type = EVENTS

    def __init__(self, source: Stream) -> None:
        super().__init__(source, headers={"X-Accel-Buffering": "no"})
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._source), aclosing(self._while_allowed(scope)) as self.body_iterator:
            await super().__call__(scope, receive, send)

    async def _while_allowed(self, scope: Scope) -> Stream:
        """Stream until the token is revoked or expires."""
        async for event in self._source:
            try:
                await scope[RENEW]()
            except LoreError as error:
                yield event_of("problem", problem(error))
                return
            yield event


def wants_events(request: Request) -> bool:
    """Return whether `Accept` names events and does not exclude them with `q=0`."""
    ranges = [part.strip().lower().split(";") for part in request.headers.get("accept", "").split(",")]
    return any(kind.strip() == EVENTS and "q=0" not in map(str.strip, rest) for kind, *rest in ranges)


async def answer_events(operation: Operation, arguments: JSON, calls: Calls) -> Stream:
    """Stream `text` events, then `result` or `problem`."""
    loop, queue, disconnected = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Any]](), threading.Event()

    def send_text(text: str) -> None:
        if disconnected.is_set():
            raise Cancelled("The client disconnected.")
        loop.call_soon_threadsafe(queue.put_nowait, ("text", text))

    async def work() -> None:
        try:
            queue.put_nowait(("result", await calls.run(operation.id, arguments, Listener(text=send_text))))
        except Exception as error:  # noqa: BLE001 - outermost boundary: the client receives every error
            queue.put_nowait(("problem", problem(error)))

    worker = loop.create_task(work())
    try:
        while True:
            try:
                kind, value = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield _HEARTBEAT
                continue
            yield event_of(kind, value)
            if kind != "text":
                return
    finally:
        disconnected.set()
        worker.cancel()


def event_of(kind: str, value: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
