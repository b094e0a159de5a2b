"""Retry policies: how often a failed job is tried again, and how long it waits before."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from ferry.errors import ConfigError

MAX_ATTEMPTS = 5
BASE_SECONDS = 2.0
FACTOR = 2.0
CAP_SECONDS = 300.0
JITTER = 0.1


@dataclass(frozen=True)
class RetryPolicy(ABC):
    """The base of all policies.

    `max_attempts` counts the first run too: 5 attempts are one run and up to four retries.
    """

    max_attempts: int = MAX_ATTEMPTS

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ConfigError("max_attempts must be at least 1")

    @abstractmethod
    def delay(self, attempt: int) -> float:
        """Seconds to wait after attempt number `attempt` (the first is 1) has failed."""

    def preview(self) -> list[float]:
        """The waits between all attempts, rounded to a tenth of a second; handy in a shell."""
        return [round(self.delay(attempt), 1) for attempt in range(1, self.max_attempts)]


@dataclass(frozen=True)
class ConstantBackoff(RetryPolicy):
    """The same wait every time. Until 1.1.0 this was the default, with 3 attempts and 10 s."""

    seconds: float = 10.0

    def delay(self, attempt: int) -> float:
        """Always `seconds`."""
        return self.seconds


@dataclass(frozen=True)
class ExponentialBackoff(RetryPolicy):
    """Waits that grow by `factor` with every attempt, up to `cap` seconds."""

    base: float = BASE_SECONDS
    factor: float = FACTOR
    cap: float = CAP_SECONDS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base <= 0 or self.factor < 1 or self.cap < self.base:
            raise ConfigError("exponential backoff needs base > 0, factor >= 1 and cap >= base")

    def delay(self, attempt: int) -> float:
        """`base * factor ** (attempt - 1)`, at most `cap`."""
        exponent = min(attempt - 1, 64)  # beyond that every cap is reached, and floats overflow
        return min(self.cap, self.base * self.factor**exponent)


@dataclass(frozen=True)
class JitteredBackoff(ExponentialBackoff):
    """Exponential waits spread by a random share, so that jobs that failed together part (issue #23).

    This is the default policy of a Queue since 2.0.0.

    Attributes:
        jitter: 0.1 spreads a wait of 8 s over 7.2 to 8.8 s.
        uniform: the random source, replaceable in tests.
    """

    jitter: float = JITTER
    uniform: Callable[[float, float], float] = random.uniform

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.jitter < 1:
            raise ConfigError("jitter must be at least 0 and below 1")

    def delay(self, attempt: int) -> float:
        """The exponential wait times a random number around 1; the cap holds after jitter."""
        spread = self.uniform(1 - self.jitter, 1 + self.jitter)
        return min(self.cap, super().delay(attempt) * spread)


NO_RETRY = ConstantBackoff(max_attempts=1)
