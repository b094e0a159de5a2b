"""Confidence combines the similarity and the rare words of the best passage."""

from __future__ import annotations

from collections.abc import Iterable

from lore_server.query.confidence import DOUBTFUL, confidence
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import make_chunk

TEXT = "The lighthouse keeper lights the lamp at dusk."


def even(words: Iterable[str]) -> dict[str, float]:
    return dict.fromkeys(words, 1.0)


def sure(question: str, *found: Candidate) -> float:
    return confidence(question, Candidates(list(found)), even)


def test_a_similar_passage_with_every_word_gives_high_confidence() -> None:
    assert sure("who lights the lamp", Candidate(make_chunk("a.md", text=TEXT), 0.9, 5.0)) == 0.95


def test_a_dissimilar_passage_without_any_word_gives_low_confidence() -> None:
    assert sure("kubernetes operators", Candidate(make_chunk("a.md", text=TEXT), 0.2, 0.0)) < DOUBTFUL


def test_similarity_and_words_must_occur_in_the_same_passage() -> None:
    near = Candidate(make_chunk("a.md", text="something else"), 0.8, 0.0)
    literal = Candidate(make_chunk("b.md", text=TEXT), 0.0, 9.0)
    both = Candidate(make_chunk("c.md", text=TEXT), 0.8, 9.0)

    assert sure("who lights the lamp", near, literal) == 0.5
    assert sure("who lights the lamp", near, literal, both) == 0.9


def test_rare_words_count_more_than_common_ones() -> None:
    candidate = Candidate(make_chunk("a.md", text="lamp"), 0.0, 1.0)
    rarity = {"lamp": 9.0, "common": 1.0}

    found = confidence("common lamp", Candidates([candidate]), lambda words: {word: rarity[word] for word in words})

    assert found == 0.45


def test_without_vectors_only_the_words_count() -> None:
    assert sure("who lights the lamp", Candidate(make_chunk("a.md", text=TEXT), None, 5.0)) == 1.0


def test_without_candidates_or_words_the_confidence_is_zero() -> None:
    assert sure("lamp") == 0.0
    assert sure("what is it", Candidate(make_chunk("a.md", text=TEXT), 0.0, 0.0)) == 0.0
