"""A passage in which the query words are close together is more relevant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.proximity import STEM, WINDOW, proximities, stems

GAP = " ".join(["filler"] * WINDOW)


def near(question: str, text: str) -> float:
    return proximities(question, [text])[0]


INSIDE, OUTSIDE = (" ".join(["filler"] * (WINDOW - fewer)) for fewer in (2, 1))
SHARES: dict[str, list[tuple[str, str, float]]] = {
    "adjacent words score one and missing words score zero": [
        ("ferry dawn", "At dawn the ferry leaves.", 1),
        ("ferry dawn", "Tides are kept in tables.", 0),
        ("ferry dawn", "", 0),
    ],
    "the wording of a comparison is not sought": [
        ("what is the difference between a ferry and dawn", "At dawn the ferry leaves.", 1),
        ("how does a ferry differ from dawn", "At dawn the ferry leaves.", 1),
    ],
    "the rest of a contraction is not sought": [
        ("what's the ferry at dawn", "At dawn the ferry leaves.", 1),
        ("why can't the ferry at dawn", "At dawn the ferry leaves.", 1),
        ("Where\u2019re ferry and dawn", "At dawn the ferry leaves.", 1),
        ("it'll ferry dawn", "At dawn the ferry leaves.", 1),
    ],
    "distant words score by the best window with some of them": [
        ("ferry dawn", f"The ferry waits. {GAP} At dawn it leaves.", 1 / 2),
        ("ferry dawn", f"ferry {GAP} ferry at dawn", 1),
    ],
    "a window has the given number of words": [
        ("ferry dawn", f"ferry {INSIDE} dawn", 1),
        ("ferry dawn", f"ferry {OUTSIDE} dawn", 1 / 2),
    ],
    "word forms and parts of names are found": [
        ("crossing", text, 1) for text in ("crossings", "Crossed", "crossing_time", "theCrossing")
    ],
}


@pytest.mark.parametrize("rows", SHARES.values(), ids=SHARES)
def test_the_proximity_of_the_query_words(rows: list[tuple[str, str, float]]) -> None:
    assert len("cross") == STEM
    for question, text, share in rows:
        assert near(question, text) == pytest.approx(share), (question, text)


def test_the_order_and_frequency_of_words_do_not_count() -> None:
    assert near("ferry dawn", "dawn ferry") == near("ferry dawn", "ferry dawn") == pytest.approx(1)
    assert near("ferry dawn", "ferry ferry ferry") == near("ferry dawn", "ferry") < 1


def test_a_rare_word_weighs_more_than_a_word_in_every_text() -> None:
    texts = ["the ferry leaves", "a lantern hangs", "ferry", "ferry", "ferry"]

    common, rare, *_ = proximities("ferry lantern", texts)

    assert 0 < common < rare < 1
    assert common + rare == pytest.approx(1)


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
