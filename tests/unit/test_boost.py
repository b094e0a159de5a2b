"""Tests of the boosts and excerpts of knowledge search."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from lore_etl.config.settings import DocsSettings
from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.framework.best_sentence import best_sentence
from lore_server.framework.unified_search import boosted
from lore_server.query.parse import parse
from lore_server.query.proximity import stems_of
from lore_server.query.query_service import SearchOutcome
from lore_server.query.ranking import Ranked
from lore_server.query.retrieve import Candidate, QueryVector

TODAY = datetime.date(2026, 11, 21)


def chunk(source: str = "PRPs/a.md", text: str = "Text.", **fields: Any) -> Chunk:
    values: dict[str, Any] = {"id": source, "kind": "section", "title": "Title", "lines": (1, 9), **fields}
    return Chunk(source=source, text=text, type=KnowledgeType.PRP, **values)


def ranked(score: float, chunk: Chunk) -> Ranked:
    return Ranked(chunk.source, score, chunk, [("keywords", score)])


def scores(
    question: str,
    *found: Ranked,
    relevance: float = 0.6,
    similar: dict[str, float] | None = None,
    recent: tuple[str, ...] = (),
    **weights: float,
) -> dict[str, float]:
    settings = DocsSettings.model_validate(weights)
    candidates = [Candidate(chunk(source), vector) for source, vector in (similar or {}).items()]
    outcome = SearchOutcome(
        query=parse(question),
        type=None,
        vector=QueryVector(),
        ranked=list(found),
        passages=[],
        candidates=candidates,
        among=None,
        confidence=relevance,
        relevance=relevance,
        unknown=None,
        degraded=None,
        today=TODAY,
    )
    done = boosted(outcome, lambda value: value.tags, recent, settings)
    for result in done:
        assert sum(value for _, value in result.why) == pytest.approx(result.score)
    return {result.source: round(result.score, 3) for result in done}


def test_the_base_score_is_a_share_of_the_relevance_and_at_least_the_similarity() -> None:
    found = ranked(200, chunk("a")), ranked(50, chunk("b")), ranked(-10, chunk("c"))

    assert scores("retry", *found) == {"a": 0.6, "b": 0.15, "c": 0.0}
    assert scores("retry", *found, similar={"c": 0.4}) == {"a": 0.6, "c": 0.4, "b": 0.15}


@pytest.mark.requirement("UQ-026")
def test_no_boost_raises_a_score_above_one() -> None:
    both = chunk("both", title="Error codes", tags=("errors",))

    assert scores("error", ranked(100, chunk("plain")), ranked(90, both), relevance=0.9) == {"both": 1.0, "plain": 0.9}


@pytest.mark.requirement("KM-038", "UQ-020", "UQ-021")
def test_tags_title_and_a_recent_change_add_the_documented_boosts() -> None:
    tagged, titled, both = chunk("tagged", tags=("errors",)), chunk("titled", title="Error codes"), chunk("all")
    both = replace(both, tags=("error",), title="Errors")
    found = [ranked(100, chunk("plain")), ranked(100, tagged), ranked(100, titled), ranked(100, both)]

    assert scores("error", *found, recent=("all",)) == {"all": 0.96, "titled": 0.78, "tagged": 0.72, "plain": 0.6}
    assert scores("error", *found, recent=("all",), tag_weight=0, title_weight=0, recent_weight=0.5)["all"] == 0.9


def test_a_boost_is_proportional_to_the_share_of_significant_words() -> None:
    half = ranked(100, chunk("half", title="The handling of it", tags=("handling", "tabs")))

    assert scores("how do I handle API errors", ranked(100, chunk("none")), half)["half"] == round(
        0.6 * (1 + (0.2 + 0.3) / 3), 3
    )


def test_common_words_and_folder_names_add_no_boost() -> None:
    code = chunk("examples/patterns/retry.py", title="examples/patterns/retry.py", tags=("how to",))

    assert scores("how to use the", ranked(10, code)) == {code.source: 0.6}
    assert scores("examples patterns", ranked(10, code)) == {code.source: 0.6}
    assert scores("retry", ranked(10, code)) == {code.source: 0.78}


def test_no_boost_ranks_a_superseded_document_above_its_successor() -> None:
    old = chunk("old.md", title="Errors", tags=("errors",), superseded_by="new.md")
    oldest = chunk("oldest.md", title="Errors", tags=("errors",), superseded_by="old.md")
    found = scores("errors", ranked(100, chunk("new.md", title="Faults")), ranked(90, old), ranked(80, oldest))

    assert list(found) == ["new.md", "old.md", "oldest.md"]


def test_no_results_give_no_boosts() -> None:
    assert scores("error") == {}
    assert list(scores("x", ranked(-5, chunk("a")), ranked(-9, chunk("b")))) == ["a", "b"]


def excerpt(question: str, *texts: str, source: str = "a.md") -> str:
    return best_sentence(stems_of(question), [chunk(source, text) for text in texts])


@pytest.mark.requirement("UQ-024")
def test_the_excerpt_is_the_sentence_with_the_most_query_words() -> None:
    text = "# Errors\n\nSome intro text that says hello. Error handling is critical here. More text follows."

    assert excerpt("error handling", text) == "Error handling is critical here."
    assert excerpt("nowhere", text) == "Some intro text that says hello."
    assert excerpt("handling", "Another passage without it.", text) == "Error handling is critical here."


@pytest.mark.parametrize("word", ["first", "middle", "last"])
@pytest.mark.requirement("UQ-025")
def test_a_long_sentence_is_cut_between_words_around_the_match(word: str) -> None:
    filler = "and some more of the same " * 12
    found = excerpt(word, f"The first of them {filler} a middle one {filler} and the last.")

    assert word in found
    assert len(found) <= 200
    assert found.startswith("…") == (word != "first")
    assert found.endswith("…") == (word != "last")
    assert set(found.strip("….").split()) <= {*filler.split(), *"The first of them a middle one the last".split()}


@pytest.mark.requirement("UQ-025")
def test_every_text_has_an_excerpt_of_at_most_200_characters() -> None:
    assert excerpt("x", "# Only a heading") == "# Only a heading"
    assert len(excerpt("x", "x" * 1_000)) <= 200
    assert excerpt("x", "") == ""
    assert excerpt("backoff", "# Retry with backoff when it fails\nretry()\n", source="a.py").startswith("Retry with")
