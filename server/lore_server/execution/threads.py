"""Make calls from an event loop, each in a thread.

Calls that wait for a job or a model take no threads from searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread

from lore_etl.core.errors import InternalError, LoreError
from lore_etl.core.json_types import JSON
from lore_server.contract import Contract, Queue
from lore_server.execution.progress import NOBODY, Listener

Call = Callable[[str, JSON, Listener], JSON]
Result = TypeVar("Result")
THREADS = 512  # threads per queue, most of them idle: App limits the concurrent work


@contextmanager
def noting(note: Callable[[str], None]) -> Iterator[None]:
    """Note how a call ends: `done`, or the code of its error."""
    outcome = InternalError.code
    try:
        yield
        outcome = "done"
    except LoreError as error:
        outcome = error.code
        raise
    finally:
        note(outcome)


class Calls:
    """A runner of operations that does not block the event loop. If a caller stops waiting, its thread continues."""

    def __init__(self, contract: Contract, call: Call) -> None:
        self._contract = contract
        self._call = call
        self._threads = {queue: anyio.CapacityLimiter(THREADS) for queue in Queue}
        self.running = 0

    async def run(self, operation: str, arguments: JSON, listener: Listener = NOBODY) -> JSON:
        return await self._run(partial(self._call, operation, arguments, listener), self._contract[operation].queue)

    async def read(self, work: Callable[[Call], Result]) -> Result:
        """Run work that makes several read-only calls, and return its result."""
        return await self._run(partial(work, self._call), Queue.INDEX)

    async def _run(self, work: Callable[[], Result], queue: Queue) -> Result:
        self.running += 1
        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads[queue])
        finally:
            self.running -= 1
