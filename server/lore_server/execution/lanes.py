"""Bounded worker pools with deadlines; identical concurrent calls are coalesced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Generic, TypeVar

from lore_etl.core.errors import Busy, DeadlineExceeded, InternalError

Result = TypeVar("Result")


class Lane(Generic[Result]):
    """A worker pool for one kind of call, so that calls that wait for a remote model do not block the others."""

    def __init__(self, name: str, size: int, queue_seconds: float) -> None:
        self._size = size
        self._queue_seconds = queue_seconds
        self._slots = threading.BoundedSemaphore(size)
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._running: set[Future[Result]] = set()

    def run(self, name: str, work: Callable[[], Result], seconds: float) -> Result:
        """Run the work and return its result.

        Raises:
            Busy: no slot became free in time.
            DeadlineExceeded: the work took too long; it continues and keeps its slot until it ends.
        """
        if not self._slots.acquire(timeout=self._queue_seconds):
            raise Busy(f"{self._size} calls are already running.")
        future = self._pool.submit(work)
        self._running.add(future)
        future.add_done_callback(self._end)
        try:
            return future.result(timeout=seconds)
        except FutureTimeout as error:
            if future.done():
                raise InternalError("A component of Lore timed out.") from error
            raise DeadlineExceeded(f"{name} took over {seconds:g} s.") from error

    def settle(self) -> None:
        """Wait for the calls that are running now."""
        wait(set(self._running))

    def _end(self, future: Future[Result]) -> None:
        self._running.discard(future)
        self._slots.release()

    def close(self, wait: bool = True) -> None:
        """Accept no more calls, and wait for the running ones."""
        self._pool.shutdown(wait=wait, cancel_futures=True)


class Together(Generic[Result]):
    """A runner that executes identical calls one after the other; those that wait share one run.

    A call joins no run that began before it: such a result might be older than a change that the caller has made.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: dict[Hashable, Future[Result]] = {}
        self._next: dict[Hashable, Future[Result]] = {}

    def run(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return the result of the work, or of the same work that another thread begins after this call.

        Raises its errors.
        """
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
            result = work()
        except BaseException as error:
            future.set_exception(error)
            raise
        else:
            future.set_result(result)
            return result
        finally:
            with self._guard:
                if self._running.get(key) is future:
                    del self._running[key]
