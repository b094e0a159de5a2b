"""Fusion combines the legs, the path and the cross-encoder into a score, by the kind of query."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.errors import ConfigError
from lore_etl.core.model import Chunk
from lore_server.query.hybrid import MAX_PASSAGES, MAX_SHARE, files, flatness, fuse, vector_share
from lore_server.query.parse import parse
from lore_server.query.ranking import CLASSIC, HYBRID, Ranked, Terms, blend, weights
from lore_server.query.retrieve import Candidate, Candidates, Stopwatch, best_of_files, passages_of
from tests.harness.chunks import make_chunk
from tests.harness.projects import ROOT
from tests.harness.refusals import refused

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


def test_each_part_is_relative_to_the_best_of_its_kind_and_a_chunk_without_a_vector_counts_as_the_average_hit() -> None:
    relative = fuse(found((0.8, 10, 0), (0.4, 5, 3)), 0.6)
    parts = fuse(found((0.9, 1, 0), (0.3, 1, 0), (0.1, 0, 0), (None, 1, 0)), 1.0)

    assert relative == [pytest.approx((0.6, 0.4, 0)), pytest.approx((0.3, 0.2, 1))]
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


def test_vectors_weigh_more_if_words_fit_many_chunks_equally_a_passage_is_close_and_the_words_are_few() -> None:
    long = "fixed a leak of connections in retries of the worker when the lane of a schedule was closed twice"

    assert share(STEEP) < share(USUAL, text=long) < share(USUAL) < share(FLAT)
    assert share(USUAL, closest=0.6) < share(USUAL, closest=0.7)
    assert share(FLAT, closest=0.4) == share(STEEP)


def test_words_decide_until_there_are_vectors_and_vectors_gain_with_each() -> None:
    shares = [share(USUAL, embedded=number) for number in (0, 5, 25, 50, 75, 100)]

    assert shares == sorted(shares)
    assert shares[0] == 0 < shares[1] < 0.05
    assert shares[-1] == share(USUAL)
    assert share([]) > 0  # without keyword hits, missing vectors do not matter


@given(st.lists(st.floats(0, 100), max_size=120), st.floats(0, 1))
def test_the_share_of_the_vectors_is_bounded(scores: list[float], closest: float) -> None:
    assert 0 <= share(sorted(scores, reverse=True), closest) <= MAX_SHARE


def ranked(*scores: float) -> list[Ranked]:
    files = [(f"{number}.md", score) for number, score in enumerate(scores)]
    return [Ranked(name, score, make_chunk(name), [("vectors", score)]) for name, score in files]


def test_the_cross_encoder_can_swap_two_close_results_and_its_equal_scores_keep_the_order() -> None:
    assert [result.source for result in blend(ranked(100, 98, 20), [0.1, 0.9, 0.2])] == ["1.md", "0.md", "2.md"]
    assert [result.source for result in blend(ranked(9, 5, 1), [0.5, 0.5, 0.5])] == ["0.md", "1.md", "2.md"]


@given(st.lists(st.tuples(st.floats(-50, 300), st.floats(-10, 10)), min_size=2, max_size=20))
def test_scores_stay_in_their_range_and_their_terms_add_up(rows: list[tuple[float, float]]) -> None:
    before = ranked(*(score for score, _ in rows))

    after = blend(before, [opinion for _, opinion in rows])

    low, high = min(result.score for result in before), max(result.score for result in before)
    for result in after:
        assert low - 1e-6 <= result.score <= high + 1e-6
        assert sum(value for _, value in result.why) == pytest.approx(result.score)


HEAD = make_chunk("a.md", anchor="head", lines=(1, 2))
TAIL = make_chunk("a.md", anchor="tail", lines=(3, 4))
OTHER = make_chunk("b.py", "src")
FOUND = Candidates(
    [Candidate(HEAD, 0.4, 7.0), Candidate(TAIL, 0.9), Candidate(OTHER, 0.7, 2.0)],
    by_meaning=[(TAIL.id, 0.9), (OTHER.id, 0.7), (HEAD.id, 0.4)],
    by_word=[(HEAD.id, 7.0), (OTHER.id, 2.0)],
)


@pytest.mark.parametrize(
    ("leg", "passages", "best"),
    [
        ("vectors", [(TAIL, 0.9), (OTHER, 0.7), (HEAD, 0.4)], [TAIL, OTHER]),
        ("keywords", [(HEAD, 7.0), (OTHER, 2.0)], [HEAD, OTHER]),
    ],
)
def test_a_leg_orders_its_chunks_by_its_own_score_and_a_file_appears_once_with_its_best_passage(
    leg: str, passages: list[tuple[Chunk, float]], best: list[Chunk]
) -> None:
    results = passages_of(FOUND, leg)

    assert [(result.chunk, result.score) for result in results] == passages
    assert all(result.source == result.chunk.source for result in results)
    assert all(result.why == [(leg, result.score)] for result in results)
    assert [(result.source, result.chunk) for result in best_of_files(results)] == [(one.source, one) for one in best]
    assert passages_of(Candidates([]), leg) == best_of_files([]) == []


def passage(source: str, *terms: tuple[str, float], line: int = 1) -> Ranked:
    return Ranked(source, sum(value for _, value in terms), make_chunk(source, lines=(line, line)), list(terms))


def test_a_file_combines_the_best_vector_and_the_best_words_of_different_passages() -> None:
    words = passage("a.md", ("vectors", 10.0), ("keywords", 50.0))
    meaning = passage("a.md", ("vectors", 50.0), ("keywords", 5.0), line=9)
    both = passage("b.md", ("vectors", 40.0), ("keywords", 40.0))

    ranked = files([both, words, meaning], HYBRID)

    assert ranked["a.md"].score > ranked["b.md"].score
    assert ranked["a.md"].chunk is words.chunk


def test_further_passages_with_the_words_raise_a_file_by_less_and_less() -> None:
    def score(number: int) -> float:
        lines = range(1, MAX_PASSAGES + 4)
        passages = [passage("a.md", ("keywords", 20.0 if line <= number else 0.0), line=line) for line in lines]
        return files([passage("b.md", ("keywords", 50.0)), *passages], HYBRID)["a.md"].score

    gains = [score(number + 1) - score(number) for number in range(1, MAX_PASSAGES + 2)]

    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0
    assert gains[-1] == 0


def test_a_further_passage_counts_less_if_most_files_are_single_passages() -> None:
    two = [passage("a.md", ("keywords", 20.0)), passage("a.md", ("keywords", 20.0), line=2)]

    def score(names: str) -> float:
        others = [passage(name, ("vectors", 1.0), line=line) for line, name in enumerate(names, start=3)]
        return files([passage("best.md", ("keywords", 50.0)), *two, *others], {**HYBRID, "furtherPassages": 0.5})[
            "a.md"
        ].score

    assert score("bbbb") > score("bbcc") > score("bcde") > 20


def test_further_passages_count_more_where_code_is_best() -> None:
    def score(*more: tuple[str, float]) -> float:
        best = passage("best.py", ("keywords", 50.0), *more)
        two = [passage("a.py", ("keywords", 20.0), line=line) for line in (1, 2)]
        return files([best, *two], HYBRID)["a.py"].score

    assert score(("codeMatch", 5.0)) > score() > 20


def test_many_poor_passages_do_not_outrank_a_good_one() -> None:
    poor = [passage("long.md", ("keywords", 15.0), line=line) for line in range(1, 100)]
    others = [passage(f"other{number}.md", ("keywords", 10.0)) for number in range(60)]

    ranked = files([passage("short.md", ("keywords", 50.0)), *poor, *others], HYBRID)

    assert ranked["short.md"].score > 2 * ranked["long.md"].score


terms = st.lists(
    st.tuples(st.sampled_from(["vectors", "keywords", "proximity", "sourceMatch"]), st.floats(0, 100)),
    max_size=4,
    unique_by=lambda term: term[0],
)


@given(st.lists(st.tuples(st.sampled_from("abc"), terms), max_size=20))
def test_the_terms_of_a_file_add_up_to_its_score(rows: list[tuple[str, Terms]]) -> None:
    passages = sorted((passage(source, *why) for source, why in rows), key=lambda one: -one.score)

    for source, ranked in files(passages, HYBRID).items():
        assert ranked.source == source
        assert ranked.score == pytest.approx(sum(value for _, value in ranked.why))


def test_every_weight_of_the_hybrid_ranking_can_be_looked_up() -> None:
    documented = (ROOT / "docs" / "searching.md").read_text(encoding="utf-8")

    assert [name for name in HYBRID if f"`{name}`" not in documented] == []


def test_an_override_changes_only_its_weight_and_an_unknown_weight_is_reported_with_the_most_similar_name() -> None:
    assert weights("classic", {"ticketPenalty": -20}) == {**CLASSIC, "ticketPenalty": -20}
    with refused(ConfigError, hint="`ticketPenalty`"):
        weights("hybrid", {"ticketPenalti": 1})


def test_a_step_lasts_from_the_end_of_the_step_before_and_a_repeated_step_is_added_up() -> None:
    moments = iter((10.0, 11.0, 13.0, 17.0))
    watch = Stopwatch(lambda: next(moments))

    for step in ("keywords", "vectors", "keywords"):
        watch.end(step)

    assert watch.seconds == {"keywords": 5.0, "vectors": 2.0}
