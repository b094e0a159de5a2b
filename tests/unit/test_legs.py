"""Each leg alone: its results, their order, and each file once."""

import pytest

from lore_server.query.retrieve import LEGS, Candidate, Candidates, best_of_files, passages_of
from tests.harness.chunks import make_chunk

HEAD = make_chunk("a.md", anchor="head", lines=(1, 2))
TAIL = make_chunk("a.md", anchor="tail", lines=(3, 4))
OTHER = make_chunk("b.py", "src")
FOUND = Candidates(
    [Candidate(HEAD, 0.4, 7.0), Candidate(TAIL, 0.9), Candidate(OTHER, 0.7, 2.0)],
    by_meaning=[(TAIL.id, 0.9), (OTHER.id, 0.7), (HEAD.id, 0.4)],
    by_word=[(HEAD.id, 7.0), (OTHER.id, 2.0)],
)


def test_the_vector_leg_orders_chunks_by_similarity() -> None:
    found = passages_of(FOUND, "vectors")

    assert [(result.chunk, result.score) for result in found] == [(TAIL, 0.9), (OTHER, 0.7), (HEAD, 0.4)]
    assert [result.source for result in found] == ["a.md", "b.py", "a.md"]


def test_the_keyword_leg_contains_only_chunks_with_a_query_word() -> None:
    assert [(result.chunk, result.score) for result in passages_of(FOUND, "keywords")] == [(HEAD, 7.0), (OTHER, 2.0)]


@pytest.mark.parametrize("leg", LEGS)
def test_a_score_depends_only_on_its_leg(leg: str) -> None:
    assert all(result.why == [(leg, result.score)] for result in passages_of(FOUND, leg))


@pytest.mark.parametrize("leg", LEGS)
def test_a_leg_without_results_has_no_passages(leg: str) -> None:
    assert passages_of(Candidates([]), leg) == []
    assert best_of_files([]) == []


def test_a_file_appears_once_with_its_best_passage_and_order_is_kept() -> None:
    found = best_of_files(passages_of(FOUND, "vectors"))

    assert [(result.source, result.chunk) for result in found] == [("a.md", TAIL), ("b.py", OTHER)]
    assert [result.chunk for result in best_of_files(passages_of(FOUND, "keywords"))] == [HEAD, OTHER]
