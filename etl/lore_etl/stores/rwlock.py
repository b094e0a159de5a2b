"""Exclude readers while stores switch to a new state or close, so that they see either the old or the new state."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """A lock for many readers or one switch, which precedes new readers; so entering again would block forever."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._switching = False
        self.switches = 0  # the number of beginnings and ends of switches so far

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    def settled(self) -> int:
        """Return `switches` outside a switch, after waiting for the end of one; it differs once the next has begun."""
        with self._changed:
            self._changed.wait_for(lambda: self.switches % 2 == 0)
            return self.switches

    @contextmanager
    def switching(self) -> Iterator[None]:
        """Switch while there are no readers; only one thread switches at a time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._switching = True
            self._changed.wait_for(lambda: not self._readers)
            self.switches += 1
        try:
            yield
        finally:
            with self._changed:
                self._switching = False
                self.switches += 1
                self._changed.notify_all()
