"""Temporary failures are repeated within the deadline, and a model that keeps failing is left alone for a while."""

from collections.abc import Callable

import pytest

from lore_server.answer.writer_interface import ModelFailure, failed_status
from lore_server.answer.written_answers import PAUSE, CircuitBreaker, Timing, repeat


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def timing(self, random: float = 0.5) -> Timing:
        return Timing(lambda: self.now, lambda: random, self.sleep)


def failing(*failures: ModelFailure) -> tuple[list[ModelFailure], Callable[[], None]]:
    """Return the failures that are left, and a function that raises one at each call."""
    left = [*failures]

    def call() -> None:
        if left:
            raise left.pop(0)

    return left, call


BUSY = failed_status(503, None)


def test_pauses_double_and_are_random() -> None:
    clock = Clock()
    _, call = failing(BUSY, BUSY, BUSY)

    repeat(call, 4, 1060, clock.timing())
    assert clock.slept == [0.25, 0.5, 1.0]


def test_a_retry_waits_as_long_as_the_server_asks_and_a_random_time_more() -> None:
    clock = Clock()
    _, call = failing(failed_status(429, "7"))

    repeat(call, 2, 1060, clock.timing())
    assert clock.slept == [7.25]


@pytest.mark.parametrize("failure", [failed_status(429, "60"), ModelFailure("late", True, 9.9)])
def test_no_retry_starts_after_the_deadline(failure: ModelFailure) -> None:
    clock = Clock()
    left, call = failing(failure, failure)

    with pytest.raises(ModelFailure):
        repeat(call, 5, 1010, clock.timing())
    assert (len(left), clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("failures", "attempts", "status"),
    [([BUSY, BUSY], 2, 503), *(([failed_status(status, None)], 5, status) for status in (400, 401, 403, 404))],
)
def test_the_last_attempt_reports_its_failure_and_a_lasting_one_is_the_last(
    failures: list[ModelFailure], attempts: int, status: int
) -> None:
    left, call = failing(*failures, BUSY)

    with pytest.raises(ModelFailure, match=str(status)):
        repeat(call, attempts, 1060, Clock().timing())
    assert left == [BUSY]


@pytest.mark.parametrize("value", [None, "", "soon", "-1", "1e9", "²", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_an_unusual_retry_after_is_ignored(value: str | None) -> None:
    assert failed_status(429, value).retry_after is None


def test_after_three_failures_the_model_gets_a_pause_and_then_one_trial() -> None:
    clock = Clock()
    breaker = CircuitBreaker(lambda: clock.now)
    for _ in range(3):
        breaker.check()
        breaker.record(BUSY)

    with pytest.raises(ModelFailure, match="asked again in 30 s"):
        breaker.check()
    clock.now += PAUSE
    breaker.check()
    with pytest.raises(ModelFailure, match="asked again"):
        breaker.check()
    breaker.record(None)
    breaker.check()
    breaker.check()


def test_a_failed_trial_starts_another_pause_as_long_as_the_server_asks() -> None:
    clock = Clock()
    breaker = CircuitBreaker(lambda: clock.now)
    for _ in range(3):
        breaker.record(BUSY)
    clock.now += PAUSE
    breaker.check()
    breaker.record(failed_status(429, "90"))

    with pytest.raises(ModelFailure, match="in 90 s"):
        breaker.check()


def test_an_answer_or_a_lasting_failure_resets_the_count_of_failures() -> None:
    breaker = CircuitBreaker(lambda: 0.0)
    for failure in (BUSY, BUSY, None, BUSY, BUSY, failed_status(400, None), BUSY):
        breaker.record(failure)

    breaker.check()
