"""Values that were read recently stay in memory until they change or others take their place."""

from __future__ import annotations

from lore_etl.stores.snapshot import Kept


def test_the_least_recently_used_values_make_room_for_others() -> None:
    kept = Kept[str, int](3)
    kept.put({"a": 1, "b": 2, "c": 3})

    assert kept.get(["a", "x"]) == {"a": 1}
    kept.put({"d": 4, "e": 5})

    assert kept.get("abcde") == {"a": 1, "d": 4, "e": 5}


def test_dropped_values_are_gone_and_others_stay() -> None:
    kept = Kept[str, int](3)
    kept.put({"a": 1, "b": 2})

    kept.drop(["a", "unknown"])

    assert kept.get("ab") == {"b": 2}


def test_a_value_that_was_read_before_a_drop_is_not_kept() -> None:
    kept = Kept[str, int](3)

    def read(keys: list[str]) -> dict[str, int]:
        kept.drop(keys)
        return dict.fromkeys(keys, 1)

    assert kept.read(["a"], read) == {"a": 1}
    assert kept.get("a") == {}
