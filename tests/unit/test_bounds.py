"""Excerpts show the relevant lines, and replies stay within their budget or limit."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.model import Problem, SyncReport
from lore_server.answer.answer_service import bounded
from lore_server.contract import Contract
from lore_server.operations.table import render
from lore_server.replies import budget
from lore_server.replies.paging import excerpt, fit_results
from lore_server.services.job import Job

LIMIT = budget.REPLY_TOKENS * budget.CHARACTERS_PER_TOKEN
FRESH = {"state": "fresh"}


def done(report: SyncReport) -> Job:
    return Job("sync", state="done", ended=0.0, report=report)


def test_a_report_of_a_thousand_long_failures_is_truncated_to_the_limit_and_a_shorter_one_is_not(
    contract: Contract,
) -> None:
    failed = [Problem(f"{'folder/' * 500}{n}.md", 'reason "\n" ' * 200) for n in range(1000)]
    short = done(SyncReport(failed=[Problem(f"docs/{n}.md", "It is not UTF-8.") for n in range(100)])).record()
    record = done(SyncReport(failed=failed, skipped=failed * 2, warnings=["a warning\x00" * 200] * 300)).record()
    contract["get_job"].check_result(record)

    assert budget.size(record) <= LIMIT
    kept = {name: len(record["report"][name]) for name in ("failed", "skipped", "warnings")}
    assert min(kept.values()) >= 1
    note = (
        f"{300 - kept['warnings']} warnings and {1000 - kept['failed']} failed and {2000 - kept['skipped']:,} skipped"
    )
    assert record["report"]["truncated"].startswith(note)
    assert (len(short["report"]["failed"]), "truncated" in short["report"]) == (100, False)


@given(st.integers(0, 100), st.integers(0, 20), st.text(max_size=400), st.integers(1, 200))
def test_an_answer_is_truncated_to_the_limit(citations: int, references: int, text: str, times: int) -> None:
    cited = [{"n": n + 1, "source": "d/" * 200, "lines": [1, 2], "quote": text} for n in range(citations)]
    found = [{"source": "s/" * 300, "type": "src", "title": text, "lines": [1, 2], "score": 1.0}] * references
    parts = {"citations": cited, "references": found}
    reply: Any = {"answer": text * times, "mode": "extractive", **parts, "freshness": FRESH}

    shown = bounded(reply)

    assert budget.size(shown) <= LIMIT
    is_cut = any(shown[name] != reply[name] for name in ("answer", "citations", "references"))
    assert ("truncated" in shown) == is_cut
    assert reply["answer"].startswith(shown["answer"])


@given(st.text(), st.integers(0, 200))
def test_a_truncated_text_is_the_longest_prefix_that_fits(text: str, characters: int) -> None:
    cut = budget.prefix(text, characters)

    assert text.startswith(cut)
    assert budget.size(cut) - 2 <= characters
    assert cut == text or budget.size(text[: len(cut) + 1]) - 2 > characters


@given(st.text(max_size=300), st.integers(10, 200))
def test_a_text_is_truncated_at_a_line_end_if_a_whole_line_fits(text: str, characters: int) -> None:
    taken = budget.fitting_lines(text, characters)

    assert text.startswith(taken)
    assert budget.size(taken) - 2 <= characters
    assert taken == text or taken.endswith("\n") or "\n" not in budget.prefix(text, characters)


PASSAGE = "\n".join(f"line {n} about nothing" for n in range(40)) + "\nthe worker drains its queue\nthe end of it"


def test_an_excerpt_is_taken_around_the_query_words_and_a_short_passage_is_shown_completely() -> None:
    around = excerpt(PASSAGE, ["drain", "queue"], 120)
    of_one_line = excerpt("word " * 500 + "needle here" + " word" * 500, ["needle"], 200)

    assert "the worker drains its queue" in around
    assert around.startswith("…\n")
    assert "needle" in of_one_line
    assert len(of_one_line) <= 200
    assert excerpt("one\ntwo", ["two"], 100) == "one\ntwo"


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
    parts = render("search_memories", {"results": [memory | {"parts": 3}]}).body
    assert "(this part of 3: get_source @lore/memories/main/m.md)" in parts


@given(st.integers(1, 100), st.integers(300, 15_000), st.sampled_from([PASSAGE, '"\\\n' * 500, "\x00" * 900]))
def test_results_stay_within_their_character_limit(count: int, characters: int, passage: str) -> None:
    results: list[Any] = [{"source": f"docs/{n}.md", "excerpt": "", "score": 1.0} for n in range(count)]

    fitting = fit_results(results, [passage] * count, ["worker"], characters)
    size = sum(len(json.dumps(result, ensure_ascii=False)) + 2 for result in results[:fitting])

    assert 1 <= fitting <= count
    assert size <= characters
