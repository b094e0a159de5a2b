"""A passage in which the query words are close together is more relevant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.proximity import STEM, WINDOW, proximities, stems

GAP = " ".join(["filler"] * WINDOW)


def near(question: str, text: str) -> float:
    return proximities(question, [text])[0]


def test_adjacent_words_score_one_and_missing_words_score_zero() -> None:
    assert near("ferry dawn", "At dawn the ferry leaves.") == pytest.approx(1)
    assert near("ferry dawn", "Tides are kept in tables.") == 0
    assert near("ferry dawn", "") == 0


@pytest.mark.parametrize(
    "question", ["what is the difference between a ferry and dawn", "how does a ferry differ from dawn"]
)
def test_the_wording_of_a_comparison_is_not_sought(question: str) -> None:
    assert near(question, "At dawn the ferry leaves.") == pytest.approx(1)


@pytest.mark.parametrize(
    "question",
    ["what's the ferry at dawn", "why can't the ferry at dawn", "Where\u2019re ferry and dawn", "it'll ferry dawn"],
)
def test_the_rest_of_a_contraction_is_not_sought(question: str) -> None:
    assert near(question, "At dawn the ferry leaves.") == pytest.approx(1)


def test_distant_words_score_by_the_best_window_with_some_of_them() -> None:
    apart = near("ferry dawn", f"The ferry waits. {GAP} At dawn it leaves.")

    assert apart == pytest.approx(1 / 2)
    assert near("ferry dawn", f"ferry {GAP} ferry at dawn") == pytest.approx(1)


def test_a_window_has_the_given_number_of_words() -> None:
    inside, outside = ["filler"] * (WINDOW - 2), ["filler"] * (WINDOW - 1)

    assert near("ferry dawn", " ".join(["ferry", *inside, "dawn"])) == pytest.approx(1)
    assert near("ferry dawn", " ".join(["ferry", *outside, "dawn"])) == pytest.approx(1 / 2)


def test_the_order_and_frequency_of_words_do_not_count() -> None:
    assert near("ferry dawn", "dawn ferry") == near("ferry dawn", "ferry dawn") == pytest.approx(1)
    assert near("ferry dawn", "ferry ferry ferry") == near("ferry dawn", "ferry") < 1


def test_a_rare_word_weighs_more_than_a_word_in_every_text() -> None:
    texts = ["the ferry leaves", "a lantern hangs", "ferry", "ferry", "ferry"]

    common, rare, *_ = proximities("ferry lantern", texts)

    assert 0 < common < rare < 1
    assert common + rare == pytest.approx(1)


@pytest.mark.parametrize("text", ["crossings", "Crossed", "crossing_time", "theCrossing"])
def test_word_forms_and_parts_of_names_are_found(text: str) -> None:
    assert len("cross") == STEM
    assert near("crossing", text) == pytest.approx(1)


def test_without_words_or_texts_every_score_is_zero() -> None:
    assert proximities("", ["ferry"]) == [0.0]
    assert proximities("ferry", []) == []


vocabulary = st.sampled_from(["ferry", "dawn", "tide", "filler", "x"])


@given(st.lists(vocabulary, max_size=4), st.lists(st.lists(vocabulary, max_size=60).map(" ".join), max_size=5))
def test_a_score_is_a_share_and_at_least_that_of_any_part_of_the_text(words: list[str], texts: list[str]) -> None:
    found = proximities(" ".join(words), texts)

    assert len(found) == len(texts)
    assert all(-1e-9 <= proximity <= 1 + 1e-9 for proximity in found)
    for share, text in zip(found, texts, strict=True):
        common = set(words) & set(text.split())
        assert (share > 1e-9) == bool(common)


@pytest.mark.parametrize(
    "text", ["HTTPServer parseURL2 v1.2B_x $a__b", "ABC aB Ab1C 9Z zz", "snake_case CamelCase camelCase"]
)
def test_words_of_plain_and_of_other_texts_are_divided_alike(text: str) -> None:
    assert stems(text) == stems(f"{text} é")[:-1]
