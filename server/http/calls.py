"""Calls from the event loop: each in a thread, and those that only wait in other threads than those that work."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread

from server.contract import Operation
from server.listener import NOBODY, Listener
from server.mcp.build import Call

WORKING = 64
WAITING = 512  # a thread each, asleep until a job ends


class Calls:
    """Runs operations without holding up the event loop."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._working = anyio.CapacityLimiter(WORKING)
        self._waiting = anyio.CapacityLimiter(WAITING)

    async def run(self, operation: Operation, arguments: dict[str, Any], listener: Listener = NOBODY) -> dict[str, Any]:
        """An operation's result. Raises LoreError; who stops waiting leaves the thread to its work."""
        limiter = self._waiting if operation.is_waiting else self._working
        return await anyio.to_thread.run_sync(
            self._call, operation.id, arguments, listener, abandon_on_cancel=True, limiter=limiter
        )
