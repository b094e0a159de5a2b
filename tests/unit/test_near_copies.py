"""Of near-copies, only the best is among the first results, unless the question asks for each of them."""

import random

import pytest

from lore_server.query import similar
from lore_server.query.ranking import Ranked
from lore_server.query.similar import suspects
from tests.harness.chunks import make_chunk

COMMON = " ".join(f"word{n}" for n in range(20))


def ranked(*texts: str, term: str = "keywords") -> list[Ranked]:
    """Return results with these texts, the best first."""
    return [
        Ranked(f"{n}.md", 9.0 - n, make_chunk(f"{n}.md", text=text), [(term, 9.0 - n)]) for n, text in enumerate(texts)
    ]


def order(results: list[Ranked]) -> str:
    return "".join(result.source.removesuffix(".md") for result in results)


NEAR = [f"{COMMON} {n}" for n in range(3)]


def test_near_copies_come_after_the_first_five_others_and_all_scores_are_explained() -> None:
    results = similar.spread(ranked(NEAR[0], NEAR[1], "a", "b", NEAR[2], "c", "d", "e"))

    assert order(results) == "02356147"
    assert [result.score for result in results] == [9, 7, 6, 4, 3, 3, 3, 2]
    assert all(sum(value for _, value in result.why) == result.score for result in results)


@pytest.mark.parametrize("term", sorted(similar.MEANT))
def test_results_without_near_copies_and_those_that_the_question_asks_for_one_by_one_keep_their_places(
    term: str,
) -> None:
    half = " ".join(COMMON.split()[:10] + [f"other{n}" for n in range(10)])

    for results in (ranked("a", "b", "c", "d", "e", "a"), ranked(COMMON, half, "a"), ranked(*NEAR, "a", term=term)):
        assert similar.spread(results) == results


def test_near_copies_are_a_crowd_only_if_they_leave_no_five_others() -> None:
    assert order(similar.crowd(ranked(*NEAR, "a"))) == "12"
    assert similar.crowd(ranked(*NEAR, "a", "b", "c", "d")) == []


TEXT = "# Install v1.2\n\nPull the anchor, then [start](a.md) the engine.\n\nThe end of this page is long enough."


def result(source: str, text: str, type_: str = "guide") -> Ranked:
    return Ranked(source, 1.0, make_chunk(source, type_, text), [])


@pytest.mark.parametrize("other", [TEXT, TEXT.replace("1.2", "2.0"), TEXT.replace("a.md", "b.md"), TEXT.upper()])
def test_results_with_the_same_passage_may_be_copies(other: str) -> None:
    found = suspects([result("a.md", TEXT), result("b.md", other), result("c.md", "Another page.")])

    assert [each.source for each in found] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("text", "type_"), [(TEXT.replace("anchor", "rope"), "guide"), (TEXT, "blog"), (f"{TEXT} More.", "guide")]
)
def test_passages_that_only_end_alike_or_have_another_type_are_not_compared(text: str, type_: str) -> None:
    assert suspects([result("a.md", TEXT), result("b.md", text, type_)]) == []


def prose(seed: int, words: int = 60, changed: int = 0) -> str:
    """Return a text of random words, of which the first ones are others than in the text with the same seed."""
    chance = random.Random(seed)
    found = [f"w{chance.randrange(5_000)}" for _ in range(words)]
    return " ".join([*(f"changed{n}" for n in range(changed)), *found[changed:]])


def test_texts_that_nearly_repeat_each_other_are_groups_of_which_the_one_with_most_text_comes_first() -> None:
    texts = [prose(1), prose(2), prose(3), prose(2, changed=2), prose(3, changed=3), prose(3).upper(), prose(4)]
    half_the_words_and_short_texts = [prose(1), prose(1, changed=30), "import os", "import os", "", ""]
    many_copies = [prose(1, changed=n % 3) for n in range(3_000)]

    assert similar.repeated(texts) == [[2, 4, 5], [1, 3]]
    assert similar.repeated(half_the_words_and_short_texts) == []
    assert similar.repeated(many_copies) == [list(range(3_000))]


def test_nearly_all_near_copies_among_thousands_of_texts_are_found() -> None:
    pairs = [(prose(seed, changed=0), prose(seed, changed=3)) for seed in range(300)]
    others = [prose(seed) for seed in range(300, 2_000)]

    found = similar.repeated([text for pair in pairs for text in pair] + others)

    assert all(len(group) == 2 and group[1] == group[0] + 1 < 600 for group in found)
    assert len(found) >= 297
