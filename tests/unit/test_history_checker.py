"""The checker of histories accepts what is right and names what is wrong."""

from collections.abc import Sequence

import pytest

from tests.harness.history import Edit, History, Listing, Read, Sync, Write, violations

A, B = "a.md", "b.md"
EDITS = [Edit(0, 1, A, 1), Edit(1, 2, B, 1), Edit(10, 11, A, 2), Edit(12, 13, B, 2)]


def read(start: float, end: float, a: int | Sequence[int], b: int = 0, state: str = "fresh") -> Read:
    """Return a read that shows these versions; no version of b.md if it is 0."""
    shown = {A: frozenset([a] if isinstance(a, int) else a)}
    return Read(start, end, state, shown | ({B: frozenset([b])} if b else {}))


def history(*reads: Read, syncs: Sequence[Sync] = ()) -> History:
    return History(frozenset({A, B}), EDITS, list(reads), list(syncs))


@pytest.mark.parametrize(
    "good",
    [
        history(),
        history(read(3, 4, 1, 1), read(14, 15, 2, 2)),
        history(read(3, 10.5, 1, 1)),  # the edit may not have happened yet
        history(read(11, 11.5, 2, 1)),  # between the two edits
        history(read(11, 20, 2, 1)),
        history(read(14, 15, 1, 1, "stale"), read(14, 15, 2, 1, "partial")),
        history(read(14, 15, [1, 2], 1, "stale")),
        history(read(14, 15, 1, state="partial")),
        history(read(14, 16, 2, 2), read(15, 17, 1, 1, "stale")),
        history(read(14, 15, 1, 1, "stale"), syncs=[Sync(9, 13.5)]),  # the sync may have read before the edits
        history(read(13, 15, 1, 1, "stale"), syncs=[Sync(13.2, 13.5)]),  # the read began before the sync ended
        history(read(20, 21, 2, 2), syncs=[Sync(3, 4), Sync(14, 15)]),
    ],
)
def test_a_right_history_is_accepted(good: History) -> None:
    assert violations(good) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (history(read(14, 15, 2, 1)), "never were"),  # two states
        (history(read(3, 4, [1, 2], 1)), "never were"),  # two states of one file
        (history(read(11.5, 11.8, 1, 1)), "never were"),  # the edit had ended
        (history(read(3, 4, 1, 2)), "never were"),  # from the future
        (history(read(14, 15, 2, 7)), "never were"),  # a version that nobody wrote
        (history(read(3, 4, 1)), "misses ['b.md']"),
        (history(read(10.1, 10.2, 2, 1), read(10.3, 10.4, 1, 1)), "goes back in ['a.md']"),
        (history(read(10.1, 10.2, 2, 1, "stale"), read(10.3, 10.4, 1, 1)), "goes back in ['a.md']"),
        (history(read(20, 21, 2, 1, "stale"), syncs=[Sync(14, 15)]), "shows older versions of ['b.md']"),
        (history(read(20, 21, [1, 2], 2, "partial"), syncs=[Sync(14, 15)]), "shows older versions of ['a.md']"),
        (history(read(20, 21, 1, state="stale"), syncs=[Sync(14, 15), Sync(3, 4)]), "shows older versions"),
    ],
)
def test_a_broken_promise_is_named(bad: History, reason: str) -> None:
    found = violations(bad)

    assert len(found) == 1
    assert reason in found[0]


def test_an_acknowledged_write_must_be_in_every_later_list() -> None:
    kept = History(frozenset(), writes=[Write(0, 1, "x"), Write(2, 5, "y")])
    kept.listings = [Listing(2, 3, frozenset("x")), Listing(6, 7, frozenset("xy")), Listing(3, 4, frozenset("xy"))]
    lost = History(frozenset(), writes=kept.writes, listings=[*kept.listings, Listing(8, 9, frozenset("y"))])

    assert violations(kept) == []
    assert [text.partition(":")[0] for text in violations(lost)] == ["a list misses ['x']"]
