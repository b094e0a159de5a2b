"""How often, and how long after a failure, a server is asked again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from lore_server.hook.failures import Unreachable


@dataclass
class Patience:
    """Pauses that double, with some chance in them so that hooks which failed together do not come back together.

    `attempts` in a row may fail; the pauses begin at `first` seconds and grow to `longest`. A server that names a time
    is waited for up to `most_asked` seconds.
    """

    attempts: int = 5
    first: float = 0.5
    longest: float = 8.0
    most_asked: float = 60.0
    chance: Callable[[], float] = random.random
    _failed: int = 0

    def after(self, failure: Unreachable) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        self._failed += 1
        if self._failed >= self.attempts or failure.wait_seconds > self.most_asked:
            return None
        pause: float = min(self.longest, self.first * 2 ** (self._failed - 1))
        return max(failure.wait_seconds, pause * (0.75 + self.chance() / 2))

    def renew(self) -> None:
        """Something went well."""
        self._failed = 0
