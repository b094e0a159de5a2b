"""Temporary failures are repeated within the deadline, and a model that keeps failing is left alone for a while."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lore_etl.config.settings import AnswerSettings
from lore_server.answer.writer_interface import ModelFailure, failed_status
from lore_server.answer.written_answers import PAUSE, SPENDING, CircuitBreaker, Spending, Timing, repeat


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


NOON = 1_795_348_800.0  # 2026-11-22 12:00 UTC
DAY = 86_400.0


def spending(folder: Path, requests: int = 0, tokens: int = 0, now: float = NOON) -> Spending:
    return Spending(folder, AnswerSettings(requests_per_minute=requests, tokens_per_day=tokens), lambda: now)


def test_the_requests_of_a_minute_are_limited_for_all_processes(tmp_path: Path) -> None:
    for _ in range(2):
        spending(tmp_path, requests=2).admit()

    with pytest.raises(ModelFailure, match="requests_per_minute"):
        spending(tmp_path, requests=2, now=NOON + 59).admit()
    spending(tmp_path, requests=2, now=NOON + 60).admit()


def test_the_tokens_of_a_day_are_limited_until_midnight(tmp_path: Path) -> None:
    spending(tmp_path, tokens=1000).count(999)
    spending(tmp_path, tokens=1000).admit()
    spending(tmp_path, tokens=1000).count(1)

    with pytest.raises(ModelFailure, match="tokens_per_day"):
        spending(tmp_path, tokens=1000, now=NOON + DAY / 2 - 1).admit()
    spending(tmp_path, tokens=1000, now=NOON + DAY / 2).admit()


def test_without_limits_nothing_is_recorded(tmp_path: Path) -> None:
    spending(tmp_path).admit()
    spending(tmp_path).count(10)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"day": "soon"}', '{"day": "2026-11-22", "tokens": "many"}'])
def test_a_damaged_record_starts_again(tmp_path: Path, content: str) -> None:
    (tmp_path / SPENDING).write_text(content)
    limited = spending(tmp_path, requests=1)

    limited.admit()
    with pytest.raises(ModelFailure):
        limited.admit()


def test_a_clock_that_was_ahead_blocks_nothing(tmp_path: Path) -> None:
    spending(tmp_path, requests=1, now=NOON + DAY).admit()

    spending(tmp_path, requests=1).admit()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_the_record_is_private(tmp_path: Path) -> None:
    spending(tmp_path / "state", requests=1).admit()

    assert (tmp_path / "state" / SPENDING).stat().st_mode & 0o077 == 0


def test_if_the_record_cannot_be_written_no_request_is_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(ModelFailure, match="cannot be recorded"):
        spending(tmp_path / "state", requests=1).admit()
