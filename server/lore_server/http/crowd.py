"""Tell refused clients when to return, so that a crowd does not spend the server's time on further refusals."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

WINDOW_SECONDS = 5.0
LONGEST_SECONDS = 60


class Crowd:
    """The requests that were answered and refused in the last seconds; older ones count exponentially less."""

    def __init__(self, now: Callable[[], float] = time.monotonic, chance: random.Random | None = None) -> None:
        self._now = now
        self._chance = chance or random.Random()
        self._answered = self._refused = 0.0
        self._at = now()

    def count_answer(self) -> None:
        self._fade()
        self._answered += 1

    def count_refusal(self) -> int:
        """Return the seconds for `Retry-After`: about the time that answering the refused requests would take.

        They differ by a factor of up to three, so that clients that were refused together do not return together.
        """
        self._fade()
        self._refused += 1
        seconds = WINDOW_SECONDS * self._refused / max(1.0, self._answered)
        return min(LONGEST_SECONDS, max(1, round(seconds * self._chance.uniform(0.5, 1.5))))

    def _fade(self) -> None:
        now = self._now()
        share = math.exp((self._at - now) / WINDOW_SECONDS)
        self._answered, self._refused, self._at = self._answered * share, self._refused * share, now
