"""Two legs become one score between 0 and 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.query.fuse import fuse
from tests.harness.chunks import candidate, make_chunk

CHUNK = make_chunk("a.md")
scores = st.none() | st.floats(-1, 100, allow_nan=False)


@given(st.lists(st.tuples(scores, scores), max_size=20), st.floats(0, 1))
def test_parts_are_never_negative_and_sum_to_at_most_one(rows: list[tuple[float, float]], weight: float) -> None:
    for vector, keyword in fuse([candidate(CHUNK, *row) for row in rows], weight):
        assert 0 <= vector <= weight + 1e-9
        assert 0 <= keyword <= 1 - weight + 1e-9


def test_the_best_of_both_legs_gets_everything_and_what_a_leg_missed_gets_nothing_of_it() -> None:
    rows = [candidate(CHUNK, 0.9, 10.0), candidate(CHUNK, 0.5, None), candidate(CHUNK, None, 4.0)]

    assert fuse(rows, 0.6) == [pytest.approx((0.6, 0.4)), (0.0, 0.0), (0.0, 0.0)]


def test_a_single_hit_of_a_leg_counts_in_full() -> None:
    assert fuse([candidate(CHUNK, None, 3.0)], 0.3) == [(0.0, 0.7)]
