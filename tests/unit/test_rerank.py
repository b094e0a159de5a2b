"""Reranking weighs the cross-encoder's score by half and moves only reranked results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.ranking import Ranked, blend
from tests.harness.chunks import make_chunk


def ranked(*scores: float) -> list[Ranked]:
    files = [(f"{number}.md", score) for number, score in enumerate(scores)]
    return [Ranked(name, score, make_chunk(name), [("vectors", score)]) for name, score in files]


def test_the_cross_encoder_can_swap_two_close_results() -> None:
    found = blend(ranked(100, 98, 20), [0.1, 0.9, 0.2])

    assert [result.source for result in found] == ["1.md", "0.md", "2.md"]


def test_equal_scores_of_the_cross_encoder_keep_the_order() -> None:
    assert [result.source for result in blend(ranked(9, 5, 1), [0.5, 0.5, 0.5])] == ["0.md", "1.md", "2.md"]


@given(st.lists(st.tuples(st.floats(-50, 300), st.floats(-10, 10)), min_size=2, max_size=20))
def test_scores_stay_in_their_range_and_their_terms_add_up(rows: list[tuple[float, float]]) -> None:
    before = ranked(*(score for score, _ in rows))

    after = blend(before, [opinion for _, opinion in rows])

    low, high = min(result.score for result in before), max(result.score for result in before)
    for result in after:
        assert low - 1e-6 <= result.score <= high + 1e-6
        assert sum(value for _, value in result.why) == pytest.approx(result.score)
