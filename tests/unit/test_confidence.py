"""Confidence combines the similarity and the rare words of the best passage."""

from collections.abc import Iterable

from lore_server.query.confidence import DOUBTFUL, fit, has_foreign_letters
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import make_chunk

TEXT = "The lighthouse keeper lights the lamp at dusk."


def even(words: Iterable[str]) -> dict[str, float]:
    return dict.fromkeys(words, 1.0)


def sure(question: str, *found: Candidate) -> float:
    return fit(question, Candidates(list(found)), even).confidence


def test_confidence_is_the_similarity_and_the_share_of_words_of_the_best_passage() -> None:
    def of_passage(question: str, vector: float | None, keyword: float) -> float:
        return sure(question, Candidate(make_chunk("a.md", text=TEXT), vector, keyword))

    assert of_passage("who lights the lamp", 0.9, 5.0) == 0.95
    assert of_passage("kubernetes operators", 0.2, 0.0) < DOUBTFUL
    assert of_passage("who lights the lamp", None, 5.0) == 1.0  # without vectors only the words count
    assert of_passage("what is it", 0.0, 0.0) == sure("lamp") == 0.0


def test_similarity_and_words_must_occur_in_the_same_passage() -> None:
    near = Candidate(make_chunk("a.md", text="something else"), 0.8, 0.0)
    literal = Candidate(make_chunk("b.md", text=TEXT), 0.0, 9.0)
    both = Candidate(make_chunk("c.md", text=TEXT), 0.8, 9.0)

    assert sure("who lights the lamp", near, literal) == 0.5
    assert sure("who lights the lamp", near, literal, both) == 0.9


def test_rare_words_count_more_than_common_ones() -> None:
    candidate = Candidate(make_chunk("a.md", text="lamp"), 0.0, 1.0)
    rarity = {"lamp": 9.0, "common": 1.0}

    found = fit("common lamp", Candidates([candidate]), lambda words: {word: rarity[word] for word in words}).confidence

    assert found == 0.45


def test_words_in_a_script_that_the_passages_lack_do_not_count() -> None:
    english = Candidate(make_chunk("a.md", text=TEXT), 0.4, 5.0)
    chinese = Candidate(make_chunk("b.md", text="灯塔管理员点亮灯。"), 0.4, 5.0)

    assert sure("lamp 是谁点亮的？", english) == sure("lamp", english)
    assert sure("谁点亮灯塔？", english) == 0.4
    assert sure("什么天气？", chinese) < sure("灯塔", chinese) == 0.7


def test_letters_are_foreign_if_the_best_passages_are_not_written_in_their_script() -> None:
    english = Candidates([Candidate(make_chunk("a.md", text=TEXT + " 灯"), 0.4, 5.0)])
    japanese = Candidates([Candidate(make_chunk("b.md", text="灯台のランプ lamp"), 0.4, 5.0)])

    assert has_foreign_letters("ランプとは？", english)
    assert has_foreign_letters("Что такое lamp?", english)
    assert not has_foreign_letters("who lights the café's lamp, v1.2?", english)
    assert not has_foreign_letters("ランプとは lamp？", japanese)
