"""Excerpts show the relevant lines and keep a reply within its budget."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.operations.table import render
from lore_server.replies.paging import excerpt, fit_results

PASSAGE = "\n".join(f"line {n} about nothing" for n in range(40)) + "\nthe worker drains its queue\nthe end of it"


def test_a_short_passage_is_shown_completely() -> None:
    assert excerpt("one\ntwo", ["two"], 100) == "one\ntwo"


def test_the_excerpt_is_taken_around_the_query_words() -> None:
    shown = excerpt(PASSAGE, ["drain", "queue"], 120)

    assert "the worker drains its queue" in shown
    assert shown.startswith("…\n")


def test_one_long_line_is_cut_around_the_match() -> None:
    shown = excerpt("word " * 500 + "needle here" + " word" * 500, ["needle"], 200)

    assert "needle" in shown
    assert len(shown) <= 200


@given(st.text(max_size=3000), st.lists(st.text(max_size=8), max_size=4), st.integers(20, 500))
def test_an_excerpt_never_exceeds_its_limit(text: str, words: list[str], characters: int) -> None:
    assert len(excerpt(text, words, characters)) <= characters + 4


@pytest.mark.parametrize("text", ["Wait … and see.", "…", "short", "a\n…\nb"])
def test_only_a_shortened_result_is_marked_as_truncated(text: str) -> None:
    whole: Any = {"id": "a", "excerpt": ""}
    cut: Any = {"id": "b", "excerpt": ""}
    fit_results([whole], [text], ["see"], 500)
    fit_results([cut], [f"{text}\n" * 400], ["see"], 500)

    assert (whole["excerpt"], "cut" in whole) == (text, False)
    assert cut["cut"] is True


def test_the_hint_for_the_full_text_appears_only_if_a_result_was_truncated() -> None:
    place = {"source": "a.md", "type": "guide", "origin": "project", "lines": [1, 2], "heading": ""}
    result = {**place, "id": "a1", "score": 1.0, "excerpt": "Wait … here."}
    memory = {"id": "m", "name": "M", "path": "@lore/memories/main/m.md", "score": 1.0, "excerpt": "Wait … here."}
    for operation, row, hint in (("query_documents", result, "(cut)"), ("search_memories", memory, "(whole: ")):
        assert hint not in render(operation, {"results": [row]}).body
        assert hint in render(operation, {"results": [row | {"cut": True}]}).body


@given(st.integers(1, 100), st.integers(300, 15_000), st.sampled_from([PASSAGE, '"\\\n' * 500, "\x00" * 900]))
def test_results_stay_within_their_character_limit(count: int, characters: int, passage: str) -> None:
    results: list[Any] = [{"source": f"docs/{n}.md", "excerpt": "", "score": 1.0} for n in range(count)]

    fitting = fit_results(results, [passage] * count, ["worker"], characters)
    size = sum(len(json.dumps(result, ensure_ascii=False)) + 2 for result in results[:fitting])

    assert 1 <= fitting <= count
    assert size <= characters
