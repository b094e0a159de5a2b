"""Calls share a limited number of threads and the result of an identical concurrent call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context

import pytest

from lore_etl.core.errors import Busy, DeadlineExceeded
from lore_server.execution.threads import CLIENT, Lane, Together, Turns


class Held:
    """Work that tells when it has begun, and returns when it is let go."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.began, self.go_on, self._failure = threading.Event(), threading.Event(), failure

    def __call__(self) -> int:
        self.began.set()
        assert self.go_on.wait(120)
        if self._failure:
            raise self._failure
        return 1


def test_a_full_pool_rejects_calls_until_a_slot_is_free() -> None:
    lane, slow = Lane[int]("test", 1, queue_seconds=0.01), Held()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lane.run, "slow", slow, 30)
        assert slow.began.wait(120)
        with pytest.raises(Busy, match="1 calls are already running"):
            lane.run("second", lambda: 2, 30)
        slow.go_on.set()
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


def begun(calls: list[Future[None]]) -> int:
    return sum(call.done() and call.exception() is None for call in calls)


def test_one_client_cannot_take_all_slots_and_has_one_fewer_while_there_are_others() -> None:
    turns = Turns(slots=4, of_one=2, most_waiting=100)
    many = [turns.ask("many") for _ in range(10)]
    assert begun(many) == 2
    assert begun([turns.ask("one")]) == 1

    turns.end("many")
    assert begun(many) == 2  # of which one has ended
    turns.end("one")
    assert begun(many) == 3
    assert begun([turns.ask("one"), turns.ask("other")]) == 2


def test_clients_take_turns_for_a_free_slot() -> None:
    turns = Turns(slots=2, of_one=3, most_waiting=100)
    calls = {client: [turns.ask(client) for _ in range(number)] for client, number in (("a", 6), ("b", 2), ("c", 1))}
    order, running = list[str](), ["a", "a"]
    while running:
        before = {client: begun(calls[client]) for client in calls}
        turns.end(running.pop(0))
        more = [client for client in calls if begun(calls[client]) > before[client]]
        running += more
        order += more

    assert order == ["a", "b", "c", "a", "b", "a", "a"]


def test_if_too_many_wait_the_newest_call_of_the_longest_line_is_refused() -> None:
    turns = Turns(slots=1, of_one=1, most_waiting=3)
    many = [turns.ask("many") for _ in range(6)]
    one = turns.ask("one")

    assert [call.done() for call in many] == [True, False, False, True, True, True]
    assert isinstance(many[3].exception(0), Busy)
    turns.end("many")
    turns.end("many")
    assert begun([one]) == 1


def test_a_call_that_no_longer_waits_gets_no_slot() -> None:
    turns = Turns(slots=1, of_one=1, most_waiting=3)
    first, second, third = turns.ask("a"), turns.ask("b"), turns.ask("b")

    assert turns.leave("b", second)
    assert not turns.leave("a", first)  # it has begun
    turns.end("a")
    assert (second.done(), begun([third])) == (False, 1)


def test_a_client_is_known_by_the_context_of_its_calls() -> None:
    """Its own calls wait for each other, and that of another client begins."""
    lane, slow = Lane[int]("test", 2, 120, of_one=1), Held()

    def run(client: str, work: Callable[[], int]) -> int:
        CLIENT.set(client)
        return lane.run("call", work, 120)

    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(copy_context().run, run, "many", slow) for _ in range(2)]
        assert slow.began.wait(120)
        assert pool.submit(copy_context().run, run, "one", lambda: 2).result(120) == 2
        slow.go_on.set()
        assert [call.result(120) for call in calls] == [1, 1]
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
    together, fail = Together[int](), Held(Busy("It is taken."))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(together.run, "a", fail)
        assert fail.began.wait(120)
        key = Key("a")
        second = pool.submit(together.run, key, fail)
        assert key.asked.wait(120)
        fail.go_on.set()
        for future in (first, second):
            with pytest.raises(Busy):
                future.result(30)
    assert together.run("a", lambda: 1) == 1
