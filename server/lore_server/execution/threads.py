"""Run calls in bounded worker threads with deadlines; calls that wait for a job or a model take none from searches."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Generic, TypeVar

import anyio
import anyio.to_thread

from lore_etl.core.errors import Busy, DeadlineExceeded, InternalError, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_server.contract import Contract, Queue

Call = Callable[[str, JSON, Listener], JSON]
Result = TypeVar("Result")
CLIENT = ContextVar("client", default="")  # the session or the address that the current call comes from
PROJECTS = ContextVar[tuple[str, ...]]("projects", default=())  # of many, those that the current call is about
MOST_WAITING = 128
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


class Turns:
    """The slots of a lane; clients take turns, so that one with many calls hardly delays others.

    A client has at most `of_one` slots, and while there are others one fewer: calls compete for the processors.
    """

    def __init__(self, slots: int, of_one: int, most_waiting: int = MOST_WAITING) -> None:
        self._slots = slots
        self._of_one = of_one
        self._most_waiting = most_waiting
        self._guard = threading.Lock()
        self._running = Counter[str]()
        self._lines: dict[str, deque[Future[None]]] = {}  # the waiting calls of each client, in the order of the turns

    def ask(self, client: str) -> Future[None]:
        """Return a future that is done when a call of the client may begin, or raises Busy."""
        turn = Future[None]()
        with self._guard:
            self._lines.setdefault(client, deque()).append(turn)
            self._admit()
            if sum(map(len, self._lines.values())) > self._most_waiting:
                longest = max(reversed(self._lines), key=lambda client: len(self._lines[client]))
                newest = self._lines[longest][-1]
                self._remove(longest, newest)
                newest.set_exception(Busy(f"{self._most_waiting} calls are already waiting."))
        return turn

    def leave(self, client: str, turn: Future[None]) -> bool:
        """Wait no longer; return False if the call was admitted or refused meanwhile."""
        with self._guard:
            if turn.done():
                return False
            self._remove(client, turn)
            return True

    def end(self, client: str) -> None:
        with self._guard:
            self._running -= Counter([client])
            self._admit()

    def _remove(self, client: str, turn: Future[None]) -> None:
        self._lines[client].remove(turn)
        if not self._lines[client]:
            del self._lines[client]

    def _admit(self) -> None:
        """Give the free slots to the clients whose turn it is; each then goes to the end of the order."""
        while self._running.total() < self._slots:
            is_alone = len(self._running.keys() | self._lines.keys()) == 1
            most = self._of_one if is_alone else max(1, self._of_one - 1)
            client = next((client for client in self._lines if self._running[client] < most), None)
            if client is None:
                return
            line = self._lines.pop(client)
            line.popleft().set_result(None)
            self._running[client] += 1
            if line:
                self._lines[client] = line


class Lane(Generic[Result]):
    """A worker pool for one kind of call, so that calls that wait for a remote model do not block the others."""

    def __init__(self, name: str, size: int, queue_seconds: float, of_one: int | None = None) -> None:
        self._size = size
        self._queue_seconds = queue_seconds
        self._turns = Turns(size, of_one or size)
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._running: set[Future[Result]] = set()

    def run(self, name: str, work: Callable[[], Result], seconds: float) -> Result:
        """Return the result of the work. Raises Busy, and DeadlineExceeded: the work goes on, and keeps its slot."""
        client = CLIENT.get()
        turn = self._turns.ask(client)
        if not wait([turn], self._queue_seconds).done and self._turns.leave(client, turn):
            raise Busy(f"{self._size} calls are already running.")
        turn.result()
        future = self._pool.submit(work)
        self._running.add(future)

        def end(done: Future[Result]) -> None:
            self._running.discard(done)
            self._turns.end(client)

        future.add_done_callback(end)
        try:
            return future.result(timeout=seconds)
        except FutureTimeout as error:
            if future.done():
                raise InternalError("A component of Lore timed out.") from error
            raise DeadlineExceeded(f"{name} took over {seconds:g} s.") from error

    def settle(self) -> None:
        wait(set(self._running))

    def close(self, wait: bool = True) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=True)


class Together(Generic[Result]):
    """A runner of which identical calls share the next run: it begins after them, so it has their callers' changes."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: dict[Hashable, Future[Result]] = {}
        self._next: dict[Hashable, Future[Result]] = {}

    def run(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return the result of the work, or of the same work that another thread begins after this call."""
        with self._guard:
            shared, before = self._next.get(key), self._running.get(key)
            if shared is None:
                future = self._next[key] = Future[Result]()
        if shared is not None:
            return shared.result()
        if before is not None:
            wait([before])
        with self._guard:
            self._running[key] = self._next.pop(key)
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._guard:
                if self._running.get(key) is future:
                    del self._running[key]
        return future.result()
