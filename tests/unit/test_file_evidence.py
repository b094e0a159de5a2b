"""A file counts with the evidence of all its passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.query.hybrid import MAX_PASSAGES, files
from lore_server.query.ranking import HYBRID, Ranked, Terms
from tests.harness.chunks import make_chunk


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
