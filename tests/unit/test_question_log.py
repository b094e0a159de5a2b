"""The log of questions is private, bounded and without secrets, and can be switched off."""

import stat
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.policy import split
from lore_etl.config.project import STATE
from lore_etl.config.settings import InsightsSettings
from lore_server.cli.eval_commands import JUDGEMENTS, QUESTIONS, judged_set
from lore_server.services.insights import followed, grouped, latencies, unfound
from lore_server.services.question_log import ASK, SEARCH, AskedQuestion, QuestionLog, is_prose

FOUND = {"references": [{"source": "docs/a.md"}], "citations": [{"source": "docs/a.md", "id": "c1"}], "found": True}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    return tmp_path / "state"


def opened(**settings: Any) -> QuestionLog:
    return QuestionLog(Path("/project"), InsightsSettings(**settings))


def note(log: QuestionLog, *queries: str, operation: str = ASK, **reply: Any) -> None:
    for query in queries:
        log.note(operation, {"query": query}, {**FOUND, "results": [{"source": "a"}], **reply}, 0.01)


def texts(log: QuestionLog) -> list[str]:
    return [asked.query for asked in log.rows(90) if asked.query]


def file_of(state: Path) -> Path:
    (file,) = (state / "insights").iterdir()
    return file


def test_questions_are_kept_in_a_file_that_only_the_user_can_read(state: Path) -> None:
    log = opened()
    note(log, "how are jobs retried?")
    log.close()

    assert stat.S_IMODE(file_of(state).stat().st_mode) == 0o600
    assert stat.S_IMODE(file_of(state).parent.stat().st_mode) == 0o700
    assert texts(opened()) == ["how are jobs retried?"]


def transactions(state: Path) -> int:
    """Return the number of transactions that changed the file, which its header counts."""
    (file,) = (state / "insights").glob("*.sqlite")
    return int.from_bytes(file.read_bytes()[24:28], "big")


def test_questions_in_quick_succession_are_written_together(state: Path) -> None:
    log = opened()
    note(log, "how are jobs retried?")
    assert texts(log) == ["how are jobs retried?"]
    before = transactions(state)
    queries = [f"question {letter}" for letter in "abcdefghijklmnopqrst"]
    note(log, *queries)
    log.close()

    assert transactions(state) - before < len(queries) / 2
    assert texts(opened())[1:] == queries


def test_nothing_is_written_if_the_log_is_disabled_and_projects_have_separate_logs(state: Path) -> None:
    disabled = opened(log=False)
    note(disabled, "how are jobs retried?")
    assert texts(disabled) == []
    disabled.close()
    assert not state.exists()

    log, other = opened(), QuestionLog(Path("/other"), InsightsSettings())
    note(log, "mine")
    assert (texts(log), texts(other)) == (["mine"], [])


def test_the_oldest_questions_and_those_older_than_the_limit_are_deleted(state: Path) -> None:
    old = QuestionLog(Path("/project"), InsightsSettings(), now=lambda: 1_000_000_000)
    note(old, "long ago")
    assert texts(old) == ["long ago"]
    old.close()
    log = opened(max_questions=10)
    assert texts(log) == []
    note(log, *(f"question number {number}" for number in range(25)))

    assert texts(log) == [f"question number {number}" for number in range(15, 25)]
    log.close()
    assert b"long ago" not in file_of(state).read_bytes()


def test_a_secret_in_a_question_is_not_stored(state: Path) -> None:
    token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    log = opened()
    note(log, f"why is {token} refused?")
    log.mark(f"why is {token} refused?", "docs/a.md", verdict="right")
    log.close()

    assert token.encode() not in file_of(state).read_bytes()
    assert texts(opened()) == ["why is [redacted-github-token] refused?"]


def test_only_prose_is_stored_without_a_check_for_secrets() -> None:
    prose = ["how do I turn it off?", "What's the read/write lock's purpose (in short)?", "重试策略是什么"]
    others = ["what is v2.0.0", "password=hunter", "why is ABCDEFGHIJKLMNOPQRSTUVWX refused", "a_b_c_d", "x@y.z"]

    assert [is_prose(text) for text in (*prose, *others)] == [True] * 3 + [False] * 5


def test_search_as_you_type_is_one_question(state: Path) -> None:
    log = opened()
    note(log, "ret", "retry", "retry pol", "retry", "retry policy", operation=SEARCH)
    note(log, "database", operation=SEARCH)

    assert texts(log) == ["retry policy", "database"]


def test_a_question_asked_again_in_other_words_was_not_answered() -> None:
    def row(at: str, query: str, operation: str = SEARCH, searched: str = "", *sources: str) -> AskedQuestion:
        return AskedQuestion(
            f"2026-01-31T12:{at}Z", operation, query, searched or query, "", True, False, 1, sources, ()
        )

    rows = [
        row("00:00", "how long does a retry wait", SEARCH, "", "a.md"),
        row("00:30", "retry wait time seconds", SEARCH, "", "a.md"),
        row("01:00", "", "read", "", "a.md"),
        row("02:00", "where is the port of the server set"),
        row("02:10", "where is the port of the server"),
        row("02:20", "server port configuration", SEARCH, "the server port configuration of it"),
        row("08:00", "server port default"),
    ]

    useful, again = followed(rows)

    assert useful == {*rows[:2]}
    assert again == {rows[0]}
    assert followed([*rows[:4], row("04:00", "configure server port")])[1] == {rows[0], rows[3]}


def test_a_damaged_log_is_set_aside_and_a_symlink_in_its_place_is_not_followed(state: Path, tmp_path: Path) -> None:
    log = opened()
    note(log, "before")
    log.close()
    file, victim = file_of(state), tmp_path / "victim"
    file.write_bytes(b"not a database" * 100)
    again = opened()
    note(again, "first", "second")
    assert texts(again) == ["first", "second"]
    again.close()

    file.unlink()
    victim.write_bytes(b"mine")
    file.symlink_to(victim)
    linked = opened()
    note(linked, "third")
    linked.close()
    assert victim.read_bytes() == b"mine"


def test_the_question_of_an_older_answer_is_found_by_its_id(state: Path) -> None:
    log = opened()
    note(log, "and then?", id="abc", searched="and then? (retry)")
    earlier = log.earlier("abc")

    assert earlier is not None
    assert (earlier.question, earlier.cited, earlier.text) == ("and then? (retry)", ("c1",), "")
    assert log.earlier("abd") is None


def test_a_later_mark_replaces_the_earlier_one_and_can_be_removed(state: Path) -> None:
    log = opened()
    log.mark("q", "a.md", verdict="right")
    log.mark("q", "a.md", verdict="wrong")
    log.mark("q", "b.md", verdict="right")
    log.mark("q", "b.md", verdict="none")

    assert [(mark["source"], mark["verdict"]) for mark in log.marks()] == [("a.md", "wrong")]
    assert log.clear() == (0, 1)
    assert log.marks() == []


def test_a_project_can_end_the_log_but_not_start_or_extend_it() -> None:
    allowed, requested = split({"insights": {"log": False, "days": 5}}, Path("/"))
    assert (allowed, requested) == ({"insights": {"log": False, "days": 5}}, {})

    _, requested = split({"insights": {"log": True, "days": 900, "max_questions": 900_000}}, Path("/"))
    assert set(requested) == {"insights.log", "insights.days", "insights.max_questions"}


def asked(query: str, at: str = "2026-01-01T00:00:00Z", **values: Any) -> AskedQuestion:
    given = {"operation": ASK, "searched": query, "answer": "", "found": True, "doubtful": False}
    return AskedQuestion(at=at, query=query, **{**given, "milliseconds": 1.0, "sources": (), "cited": (), **values})


def test_equal_questions_are_counted_together_and_percentiles_are_values_that_occurred() -> None:
    rows = [asked("How?"), asked("why"), asked("how", at="2026-01-02T00:00:00Z")]
    timed = [asked("x", milliseconds=float(value)) for value in range(1, 101)]

    assert grouped(rows, 5, fewest=2) == [{"query": "how", "count": 2, "last": "2026-01-02T00:00:00Z"}]
    assert [row["count"] for row in grouped(rows, 5)] == [2, 1]
    assert latencies(timed) == [{"operation": ASK, "calls": 100, "p50": 50.0, "p95": 95.0, "p99": 99.0}]


def test_files_that_no_question_found_are_listed_with_documents_first() -> None:
    types = {"a.py": "src", "b.md": "guide", "c.md": "guide"}

    assert unfound([asked("x", sources=("c.md",))], types, 5) == {
        "indexed": 3, "never_found": 2, "examples": ["b.md", "a.py"],
    }  # fmt: skip


def test_marks_become_a_judged_set_without_questions_that_have_no_right_result() -> None:
    marks = [
        {"query": 'a "q"', "source": "a.md", "verdict": "right"},
        {"query": 'a "q"', "source": "b.md", "verdict": "wrong"},
        {"query": "b", "source": "b.md", "verdict": "wrong"},
    ]
    files, skipped = judged_set(marks)

    assert files[QUESTIONS] == '{"_id": "q1", "text": "a \\"q\\""}\n'
    assert files[JUDGEMENTS] == "query-id\tcorpus-id\tscore\nq1\ta.md\t1\nq1\tb.md\t0\n"
    assert skipped == 1
