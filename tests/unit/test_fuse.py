"""Fusion combines both legs and the path into a score, weighted by the kind of query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.fuse import LEAST_SHARE, MOST_SHARE, flatness, fuse, vector_share
from lore_server.query.parse import parse
from lore_server.query.retrieve import Candidate, Candidates
from lore_server.query.weights import HYBRID
from tests.harness.chunks import make_chunk

CHUNK = make_chunk("a.md")
similarities = st.none() | st.floats(-1, 1)
points = st.floats(0, 100)


def found(*rows: tuple[float | None, float, float]) -> list[Candidate]:
    return [Candidate(CHUNK, *row) for row in rows]


@given(st.lists(st.tuples(similarities, points, points), max_size=20), st.floats(0, 1))
def test_each_part_is_between_zero_and_its_weight(rows: list[tuple[float | None, float, float]], share: float) -> None:
    for vector, keyword, path in fuse(found(*rows), share):
        assert 0 <= vector <= share + 1e-9
        assert 0 <= keyword <= 1 - share + 1e-9
        assert 0 <= path <= 1


def test_each_part_is_relative_to_the_best_value_of_its_kind() -> None:
    assert fuse(found((0.8, 10, 0), (0.4, 5, 3)), 0.6) == [
        pytest.approx((0.6, 0.4, 0)),
        pytest.approx((0.3, 0.2, 1)),
    ]


def test_a_chunk_without_an_embedding_counts_as_the_least_similar() -> None:
    parts = fuse(found((0.9, 1, 0), (0.3, 1, 0), (None, 1, 0)), 1.0)

    assert parts[2][0] == pytest.approx(parts[1][0])


def test_rare_words_separate_scores_and_words_in_every_chunk_do_not() -> None:
    assert flatness([9.0]) == pytest.approx(0.01)
    assert flatness([9.0] * 200) == pytest.approx(1.0)
    assert flatness([]) == 0.0


def share(text: str, scores: list[float]) -> float:
    hits = [(str(number), score) for number, score in enumerate(scores)]
    return vector_share(parse(text), Candidates([], by_word=hits), HYBRID)


def test_vectors_weigh_more_for_common_words_and_less_for_exact_names() -> None:
    steep, usual, flat = [9.0] + [1.0] * 99, [9.0] + [4.0] * 99, [9.0] * 100

    assert share("how do retries back off", steep) < share("how do retries back off", usual)
    assert share("how do retries back off", usual) < share("how do retries back off", flat)
    assert share("how does RetryPolicy back off", usual) < share("how do retries back off", usual)


@given(st.lists(st.floats(0, 100), max_size=120), st.sampled_from(["RetryPolicy", "how do retries back off"]))
def test_both_legs_always_count(scores: list[float], text: str) -> None:
    assert LEAST_SHARE <= share(text, sorted(scores, reverse=True)) <= MOST_SHARE
