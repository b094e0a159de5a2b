"""Replies without a token budget stay within the limit and report truncation."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.model import Problem, SyncReport
from lore_server.answer.answer_service import bounded
from lore_server.contract import Contract
from lore_server.replies import budget
from lore_server.services.job import Job

LIMIT = budget.REPLY_TOKENS * budget.CHARACTERS_PER_TOKEN
FRESH = {"state": "fresh"}


def done(report: SyncReport) -> Job:
    return Job("sync", state="done", ended=0.0, report=report)


def test_a_report_of_a_thousand_long_failures_is_truncated_to_the_limit(contract: Contract) -> None:
    failed = [Problem(f"{'folder/' * 500}{n}.md", 'reason "\n" ' * 200) for n in range(1000)]
    report = SyncReport(failed=failed, skipped=failed * 2, warnings=["a warning\x00" * 200] * 300)

    record = done(report).record()
    contract["get_job"].check_result(record)

    assert budget.size(record) <= LIMIT
    kept = {name: len(record["report"][name]) for name in ("failed", "skipped", "warnings")}
    assert min(kept.values()) >= 1
    note = (
        f"{300 - kept['warnings']} warnings and {1000 - kept['failed']} failed and {2000 - kept['skipped']:,} skipped"
    )
    assert record["report"]["truncated"].startswith(note)


def test_a_report_within_the_limit_is_not_truncated() -> None:
    failed = [Problem(f"docs/{n}.md", "It is not UTF-8.") for n in range(100)]

    record = done(SyncReport(failed=failed)).record()

    assert len(record["report"]["failed"]) == 100
    assert "truncated" not in record["report"]


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
