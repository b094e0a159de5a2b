"""A slow source, read for so long and no longer: the timeouts of HTTP clients begin anew with each byte."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue


def within(seconds: float, source: Iterator[str]) -> Iterator[str]:
    """What the source gives, as it comes. Whoever gives up closes what the source reads from.

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
