"""Calls share a limited number of threads and the result of an identical concurrent call."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from lore_etl.core.errors import Busy, DeadlineExceeded
from lore_server.execution.lanes import Lane, Together


def test_a_full_pool_rejects_calls_until_a_slot_is_free() -> None:
    lane, go_on, began = Lane[int]("test", 1, queue_seconds=0.01), threading.Event(), threading.Event()

    def slow() -> int:
        began.set()
        assert go_on.wait(120)
        return 1

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lane.run, "slow", slow, 30)
        assert began.wait(120)
        with pytest.raises(Busy, match="1 calls are already running"):
            lane.run("second", lambda: 2, 30)
        go_on.set()
        assert first.result(30) == 1
    assert Lane[int]("test", 1, 30).run("third", lambda: 3, 30) == 3
    lane.close()


def test_a_call_past_its_deadline_keeps_its_slot_until_it_ends() -> None:
    lane, go_on, ended = Lane[int]("test", 1, queue_seconds=0.01), threading.Event(), threading.Event()

    def slow() -> int:
        assert go_on.wait(120)
        ended.set()
        return 1

    with pytest.raises(DeadlineExceeded, match="slow took over"):
        lane.run("slow", slow, 0.01)
    with pytest.raises(Busy):
        lane.run("next", lambda: 2, 30)
    go_on.set()
    assert ended.wait(120)
    lane.close()


def test_settling_waits_for_the_calls_that_are_running() -> None:
    lane, go_on, began, order = Lane[int]("test", 2, 1), threading.Event(), threading.Event(), list[str]()

    def slow() -> int:
        began.set()
        assert go_on.wait(120)
        order.append("the call")
        return 1

    def settle() -> None:
        lane.settle()
        order.append("settled")

    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(lane.run, "slow", slow, 30)
        assert began.wait(120)
        settled = pool.submit(settle)
        go_on.set()
        assert call.result(30) == 1
        settled.result(30)
    assert order == ["the call", "settled"]
    lane.settle()  # nothing is running
    lane.close()


class Key(str):
    """A key that tells when it is first looked up."""

    def __new__(cls, text: str) -> Key:
        key = super().__new__(cls, text)
        key.asked = threading.Event()
        return key

    asked: threading.Event

    def __hash__(self) -> int:
        self.asked.set()
        return super().__hash__()


def test_calls_that_arrive_during_an_identical_one_share_the_next() -> None:
    """A result is never older than its call: what changes after the beginning of a run is not in its result."""
    together, go_on, read, state, runs = Together[int](), threading.Event(), threading.Event(), [0], list[int]()

    def work() -> int:
        found = state[0]
        runs.append(1)
        read.set()
        assert go_on.wait(120)
        return found

    with ThreadPoolExecutor(21) as pool:
        first = pool.submit(together.run, "a", work)
        assert read.wait(120)
        state[0] = 1  # of which no key tells
        keys = [Key("a") for _ in range(19)]
        others: list[Future[int]] = [pool.submit(together.run, key, work) for key in keys]
        assert all(key.asked.wait(120) for key in keys)
        assert pool.submit(together.run, "b", lambda: 8).result(30) == 8
        go_on.set()
        assert first.result(30) == 0
        assert {future.result(30) for future in others} == {1}

    assert len(runs) == 2


def test_a_failure_reaches_its_callers_and_the_next_call_tries_again() -> None:
    together, go_on, began = Together[int](), threading.Event(), threading.Event()

    def fail() -> int:
        began.set()
        assert go_on.wait(120)
        raise Busy("It is taken.")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(together.run, "a", fail)
        assert began.wait(120)
        key = Key("a")
        second = pool.submit(together.run, key, fail)
        assert key.asked.wait(120)
        go_on.set()
        for future in (first, second):
            with pytest.raises(Busy):
                future.result(30)
    assert together.run("a", lambda: 1) == 1
