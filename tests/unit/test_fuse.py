"""Fusion combines both legs and the path into a score, weighted by the kind of query."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.hybrid import MAX_SHARE, flatness, fuse, vector_share
from lore_server.query.parse import parse
from lore_server.query.ranking import HYBRID
from lore_server.query.retrieve import Candidate, Candidates
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


def test_a_chunk_without_an_embedding_counts_as_the_average_keyword_hit() -> None:
    parts = fuse(found((0.9, 1, 0), (0.3, 1, 0), (0.1, 0, 0), (None, 1, 0)), 1.0)

    assert parts[3][0] == pytest.approx((parts[0][0] + parts[1][0]) / 2)


def test_a_text_that_many_files_repeat_says_less_in_both_legs() -> None:
    banner = [Candidate(make_chunk(f"docs/{n}.md", text="No longer maintained."), 0.9, 9.0) for n in range(16)]
    page = Candidate(make_chunk("docs/page.md", text="How to maintain the ferry."), 0.6, 6.0)

    parts = fuse([*banner, page], 0.5)

    assert parts[0] == pytest.approx((0.5 * 0.45 / 0.6, 0.5 * 4.5 / 6, 0))
    assert parts[-1] == pytest.approx((0.5, 0.5, 0))


@pytest.mark.requirement("UQ-019")
def test_rare_words_separate_scores_and_words_in_every_chunk_do_not() -> None:
    assert flatness([9.0]) == pytest.approx(0.01)
    assert flatness([9.0] * 200) == pytest.approx(1.0)
    assert flatness([]) == 0.0


def share(
    scores: list[float], closest: float = 0.7, embedded: int | None = None, text: str = "how do retries back off"
) -> float:
    """Return the vector share for these keyword hits, of which the first `embedded` have a vector."""
    chunks = [replace(CHUNK, id=str(number)) for number in range(len(scores))]
    known = len(scores) if embedded is None else embedded
    candidates = [
        Candidate(chunk, closest if number < known else None, score)
        for number, (chunk, score) in enumerate(zip(chunks, scores, strict=True))
    ]
    by_word = [(chunk.id, score) for chunk, score in zip(chunks, scores, strict=True)]
    return vector_share(parse(text), Candidates(candidates, [("0", closest)] if known else [], by_word), HYBRID)


STEEP, USUAL, FLAT = [9.0] + [1.0] * 99, [9.0] + [4.0] * 99, [9.0] * 100


def test_vectors_weigh_more_if_words_fit_many_chunks_equally_and_a_passage_is_close() -> None:
    assert share(STEEP) < share(USUAL) < share(FLAT)
    assert share(USUAL, closest=0.6) < share(USUAL, closest=0.7)
    assert share(FLAT, closest=0.4) == share(STEEP)


def test_many_words_need_the_vectors_less() -> None:
    long = "fixed a leak of connections in retries of the worker when the lane of a schedule was closed twice"

    assert share(STEEP) < share(USUAL, text=long) < share(USUAL)


def test_words_decide_until_there_are_vectors_and_vectors_gain_with_each() -> None:
    shares = [share(USUAL, embedded=number) for number in (0, 5, 25, 50, 75, 100)]

    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] == share(USUAL)
    assert shares[1] < 0.05


def test_without_keyword_hits_the_share_does_not_depend_on_missing_vectors() -> None:
    assert share([]) > 0


@given(st.lists(st.floats(0, 100), max_size=120), st.floats(0, 1))
def test_the_share_of_the_vectors_is_bounded(scores: list[float], closest: float) -> None:
    assert 0 <= share(sorted(scores, reverse=True), closest) <= MAX_SHARE
