"""Values that were read recently stay in memory until they change, and a gate separates readers from a switch."""

import threading

import pytest

from lore_etl.stores.snapshot import Gate, Kept


def test_the_least_recently_used_values_make_room_for_others() -> None:
    kept = Kept[str, int](3)
    kept.put({"a": 1, "b": 2, "c": 3})

    assert kept.get(["a", "x"]) == {"a": 1}
    kept.put({"d": 4, "e": 5})

    assert kept.get("abcde") == {"a": 1, "d": 4, "e": 5}


def test_dropped_values_are_gone_others_stay_and_one_that_was_read_before_a_drop_is_not_kept() -> None:
    kept = Kept[str, int](3)
    kept.put({"a": 1, "b": 2})

    def read(keys: list[str]) -> dict[str, int]:
        kept.drop(keys)
        return dict.fromkeys(keys, 1)

    kept.drop(["a", "unknown"])
    assert kept.get("ab") == {"b": 2}
    assert kept.read(["a"], read) == {"a": 1}
    assert kept.get("ab") == {"b": 2}


SECONDS = 120


def test_readers_do_not_exclude_each_other() -> None:
    gate, both = Gate(), threading.Barrier(2)

    def read() -> None:
        with gate.reading():
            both.wait(SECONDS)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)

    assert not both.broken


def test_a_switch_waits_for_current_readers_and_precedes_new_readers() -> None:
    gate, order = Gate(), list[str]()
    reading, let_go = threading.Event(), threading.Event()

    def first() -> None:
        with gate.reading():
            reading.set()
            let_go.wait(SECONDS)
            order.append("first reader")

    def switch() -> None:
        with gate.switching():
            order.append("switch")

    def second() -> None:
        with gate.reading():
            order.append("second reader")

    threads = [threading.Thread(target=first), threading.Thread(target=switch), threading.Thread(target=second)]
    threads[0].start()
    reading.wait(SECONDS)
    threads[1].start()
    while not gate._switching:
        assert threads[1].is_alive()
    threads[2].start()
    let_go.set()
    for thread in threads:
        thread.join(SECONDS)

    assert order == ["first reader", "switch", "second reader"]


def test_an_error_inside_the_gate_releases_it() -> None:
    gate = Gate()

    for way in (gate.reading, gate.switching):
        with pytest.raises(ValueError, match="inside"), way():
            raise ValueError("inside")

    with gate.switching():
        pass
