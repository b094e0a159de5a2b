"""A total deadline for a slow source; the timeouts of HTTP clients restart with each byte."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue


def within(seconds: float, source: Iterator[str]) -> Iterator[str]:
    """Yield from the source as it produces. A consumer that stops must close the underlying source.

    Raises:
        TimeoutError: it had not ended in time.
    """
    read: SimpleQueue[str | BaseException | None] = SimpleQueue()

    def pump() -> None:
        try:
            for piece in source:
                read.put(piece)
            read.put(None)
        except BaseException as error:  # noqa: BLE001 - handed over, and raised where it is waited for
            read.put(error)

    threading.Thread(target=pump, name="answer", daemon=True).start()
    deadline = time.monotonic() + seconds
    while True:
        try:
            item = read.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise TimeoutError from None
        if item is None:
            return
        if isinstance(item, BaseException):
            raise item
        yield item
