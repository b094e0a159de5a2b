"""A total deadline for a slow source; the timeouts of HTTP clients restart with each byte."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import TypeVar

import httpx2

Item = TypeVar("Item")


class OpenConnections:
    """An HTTP client that keeps its connections. Another thread may end the response that a thread reads."""

    def __init__(self) -> None:
        self._reading: dict[threading.Thread, httpx2.Response] = {}
        self.client = httpx2.Client(event_hooks={"response": [self._note]})  # follows no redirect to another host

    def within(self, left: Callable[[], float], source: Iterator[Item]) -> Iterator[Item]:
        """Yield from a source that reads from this client, until `left` returns no more seconds.

        If the consumer stops, the response is closed.

        Raises:
            TimeoutError: the source did not end in time.
        """
        read: SimpleQueue[list[Item] | BaseException | None] = SimpleQueue()

        def pump() -> None:
            try:
                for item in source:
                    read.put([item])
                read.put(None)
            except BaseException as error:  # noqa: BLE001 - handed over, and raised where it is waited for
                read.put(error)
            finally:
                self._reading.pop(threading.current_thread(), None)

        thread = threading.Thread(target=pump, name="answer", daemon=True)
        thread.start()
        try:
            while (item := _next(read, left())) is not None:
                yield from item
        finally:
            if response := self._reading.pop(thread, None):
                response.close()

    def _note(self, response: httpx2.Response) -> None:
        self._reading[threading.current_thread()] = response


def _next(read: SimpleQueue[list[Item] | BaseException | None], seconds: float) -> list[Item] | None:
    try:
        item = read.get(timeout=max(0.0, seconds))
    except Empty:
        raise TimeoutError from None
    if isinstance(item, BaseException):
        raise item
    return item
