"""Retry failed requests to a model, and stop calling a model that keeps failing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from lore_server.answer.answer_model import ModelFailure

LONGEST_WAIT = 4.0
FAILURES = 3
PAUSE = 30.0
LONGEST_PAUSE = 600.0


class Timing(NamedTuple):
    """The clock in seconds, a random number below 1, and a pause."""

    clock: Callable[[], float]
    random: Callable[[], float]
    sleep: Callable[[float], None]


def attempting(attempts: int, deadline: float, timing: Timing) -> Retrying:
    """Return a policy that repeats temporary failures with jitter, after `Retry-After` and before the deadline."""

    def wait(state: RetryCallState) -> float:
        longest = min(LONGEST_WAIT, 0.5 * 2 ** (state.attempt_number - 1))
        jitter: float = longest * timing.random()
        return (_failure(state).retry_after or 0.0) + jitter

    def is_too_late(state: RetryCallState) -> bool:
        return timing.clock() + state.upcoming_sleep >= deadline

    return Retrying(
        stop=lambda state: stop_after_attempt(attempts)(state) or is_too_late(state),
        wait=wait,
        retry=retry_if_exception(lambda error: isinstance(error, ModelFailure) and error.is_temporary),
        sleep=timing.sleep,
        reraise=True,
    )


def _failure(state: RetryCallState) -> ModelFailure:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ModelFailure)
    return error


class CircuitBreaker:
    """Rejects questions for a while after several temporary failures in a row; then one question is a trial."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._failures = 0
        self._closed_until = 0.0

    def check(self) -> None:
        """Raise ModelFailure if the model is not to be called now."""
        with self._guard:
            seconds = self._closed_until - self._clock()
            if seconds > 0:
                raise ModelFailure(f"the answer model failed repeatedly; it is asked again in {seconds:.0f} s")
            if self._failures >= FAILURES:
                self._closed_until = self._clock() + PAUSE  # the others wait for this trial

    def record(self, failure: ModelFailure | None) -> None:
        """Count a temporary failure; any other result is a sign that the model works."""
        with self._guard:
            if failure is None or not failure.is_temporary:
                self._failures, self._closed_until = 0, 0.0
                return
            self._failures += 1
            if self._failures >= FAILURES:
                pause = min(LONGEST_PAUSE, max(PAUSE, failure.retry_after or 0.0))
                self._closed_until = self._clock() + pause
