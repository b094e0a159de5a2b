"""Measures checked against values computed by hand, intervals, and the paired test."""

from math import log2
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lore_server.evaluation.measures import MEASURES, Comparison, compare, interval, per_question

values_between = st.floats(0, 1)


def measured(grades: dict[str, int], run: list[str]) -> dict[str, float]:
    """Return the measures of a single question."""
    return {name: found["q"] for name, found in per_question({"q": grades}, {"q": run}).items()}


def values(*numbers: float) -> dict[str, float]:
    return {f"q{place}": number for place, number in enumerate(numbers)}


# --- measures ----------------------------------------------------------------------------------------------------


def test_a_perfect_run_scores_one_on_every_measure() -> None:
    assert measured({"a": 2, "b": 1}, ["a", "b", "c"]) == pytest.approx(dict.fromkeys(MEASURES, 1.0))


def test_ndcg_counts_grades_discounted_by_the_logarithm_of_the_rank() -> None:
    gained = 1 / log2(2 + 1) + 3 / log2(4 + 1)
    ideal = 3 / log2(1 + 1) + 1 / log2(2 + 1)

    assert measured({"a": 3, "b": 1}, ["x", "b", "y", "a"])["ndcg@10"] == pytest.approx(gained / ideal)


def test_ndcg_and_its_ideal_use_ten_ranks() -> None:
    many = {f"d{number}": 1 for number in range(30)}

    assert measured(many, [f"d{number}" for number in range(10)])["ndcg@10"] == pytest.approx(1.0)
    assert measured({"a": 1}, [*"0123456789", "a"])["ndcg@10"] == 0


def test_recall_is_the_share_of_relevant_documents_of_any_grade() -> None:
    run = ["a", *(f"x{number}" for number in range(10)), "b"]
    found = measured({"a": 5, "b": 1, "c": 1, "no": 0}, run)

    assert (found["recall@10"], found["recall@100"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))


def test_the_order_of_the_run_counts_and_neither_names_nor_unjudged_documents_nor_negative_grades() -> None:
    assert measured({"a": 1}, ["a", "z"])["mrr@10"] == measured({"z": 1}, ["z", "a"])["mrr@10"] == 1
    assert measured({"a": 1, "bad": -1}, ["bad", "unjudged", "a"]) == measured({"a": 1}, ["x", "y", "a"])


@pytest.mark.parametrize(("place", "value"), [(1, 1.0), (2, 0.5), (10, 0.1), (11, 0.0)])
def test_mrr_is_the_reciprocal_rank_of_the_first_relevant_document(place: int, value: float) -> None:
    run = [f"x{number}" for number in range(1, place)] + ["a", "b"]

    assert measured({"a": 1, "b": 1}, run)["mrr@10"] == pytest.approx(value)


@pytest.mark.parametrize("runs", [{}, {"q": []}, {"q": ["x"]}, {"other": ["a"]}])
def test_a_question_without_a_hit_scores_zero_and_counts(runs: dict[str, list[str]]) -> None:
    assert per_question({"q": {"a": 1}}, runs) == {name: {"q": 0.0} for name in MEASURES}


def test_a_question_without_relevant_documents_has_no_value() -> None:
    found = per_question({"q": {"a": 1}, "none": {}, "zero": {"a": 0}}, {"q": ["a"], "none": ["a"], "zero": ["a"]})

    assert found == {name: {"q": 1.0} for name in MEASURES}
    assert per_question({}, {}) == {name: {} for name in MEASURES}


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), max_size=8),
    st.lists(st.sampled_from("abcdefghij"), unique=True),
)
def test_every_value_is_between_zero_and_one(grades: dict[str, int], run: list[str]) -> None:
    for found in per_question({"q": grades}, {"q": run}).values():
        assert all(0 <= value <= 1 + 1e-9 for value in found.values())


# --- intervals ---------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(values_between, max_size=60))
def test_the_interval_contains_the_mean_and_is_deterministic(numbers: list[float]) -> None:
    low, high = interval(numbers)

    assert low - 1e-9 <= (fmean(numbers) if numbers else 0.0) <= high + 1e-9
    assert interval(numbers) == (low, high)


def test_the_interval_approaches_the_normal_distribution_and_more_questions_give_a_narrower_one() -> None:
    numbers = np.random.default_rng(7).random(1_000)
    reach = 1.96 * numbers.std(ddof=1) / len(numbers) ** 0.5
    few, many = interval([0, 1] * 10), interval([0, 1] * 100)

    assert interval(list(numbers)) == pytest.approx((numbers.mean() - reach, numbers.mean() + reach), abs=0.003)
    assert many[1] - many[0] < (few[1] - few[0]) / 2


# --- the paired test ---------------------------------------------------------------------------------------------


def test_only_questions_in_both_runs_are_compared_and_equal_runs_do_not_differ() -> None:
    same = {"a": 0.5, "b": 0.5}

    for ours, theirs in ((same, same), ({**same, "new": 0.0}, {**same, "old": 1.0}), ({"a": 1.0}, {"b": 1.0})):
        assert compare(ours, theirs) == Comparison(0.0, (0.0, 0.0), 1.0)
        assert not compare(ours, theirs).is_loss


def test_a_clear_loss_is_significant_and_the_reverse_is_not_a_loss() -> None:
    good, bad = values(*[0.8, 0.9, 0.7] * 10), values(*[0.6, 0.8, 0.6] * 10)

    lost, won = compare(bad, good), compare(good, bad)

    assert lost.difference == pytest.approx(-4 / 30)
    assert lost.interval[0] < lost.difference < lost.interval[1] < 0
    assert lost.p < 0.01
    assert lost.is_loss
    assert (won.difference, won.p) == pytest.approx((4 / 30, lost.p), abs=0.002)
    assert not won.is_loss


def test_noise_around_zero_is_not_significant_and_a_small_steady_loss_among_varied_questions_is() -> None:
    random = np.random.default_rng(3)
    ours, theirs = random.random(200), random.random(200)
    found = compare(values(*ours), values(*theirs))
    varied = np.random.default_rng(5).random(50)

    assert found.interval[0] < 0 < found.interval[1]
    assert found.p > 0.05
    assert not found.is_loss
    assert compare(values(*(varied - 0.02)), values(*varied)).is_loss


def test_five_questions_are_never_significant_and_six_can_be() -> None:
    """Five differences of the same sign occur by chance with probability 1/32, and 1/16 on both sides."""
    assert compare(values(*[0.0] * 5), values(*[1.0] * 5)).p == pytest.approx(2 / 32)
    assert compare(values(*[0.0] * 6), values(*[1.0] * 6)).is_loss


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(values_between, values_between), max_size=40))
def test_a_p_value_is_a_share_and_deterministic(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = values(*(pair for pair, _ in pairs)), values(*(other for _, other in pairs))

    found = compare(ours, theirs)

    assert 0 < found.p <= 1
    assert compare(ours, theirs) == found
