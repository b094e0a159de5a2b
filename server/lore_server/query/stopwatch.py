"""Measure the steps of a search."""

from __future__ import annotations

import time
from collections.abc import Callable


class Stopwatch:
    """The seconds of consecutive steps. A step lasts from the end of the step before it; equal names are added up."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._last = now()
        self.seconds: dict[str, float] = {}

    def end(self, step: str) -> None:
        """Record that a step has ended."""
        moment = self._now()
        self.seconds[step] = self.seconds.get(step, 0.0) + moment - self._last
        self._last = moment
