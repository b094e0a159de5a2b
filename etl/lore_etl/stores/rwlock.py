"""Readers see the stores before a change or after it: the moment in which both stores move on excludes them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Many readers, or one switch. A waiting switch goes before new readers, so that it comes at all.

    Reading is not reentrant: a reader that enters again while a switch waits would wait for itself.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._switching = False
        self.switches = 0  # how often they moved on

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Nothing moves on meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def switching(self) -> Iterator[None]:
        """Nobody reads meanwhile; only one thread switches at a time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._switching = True
            self._changed.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            with self._changed:
                self._switching = False
                self.switches += 1
                self._changed.notify_all()
