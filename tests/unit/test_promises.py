"""Every promise has a test, and the page on reliability is generated from both."""

from pathlib import Path

import pytest

from tests.harness import promises
from tests.harness.marked import BOTH, LONG, QUICK, Marked, marked
from tests.harness.promises import PAGE, listed, page

MODULE = """
import pytest
pytestmark = [pytest.mark.promise(3), pytest.mark.skipif(False, reason="x")]
SHARES = [pytest.param(1, marks=pytest.mark.long)]
slowly = pytest.mark.parametrize("share", SHARES)

@pytest.mark.promise(1, 2)
def test_at_once(): ...

@pytest.mark.long
def test_at_length(): ...

@slowly
def test_in_both(share): ...

def helper(): ...
"""


def test_there_are_thirty_promises_each_with_a_figure_and_what_is_asserted() -> None:
    assert list(listed()) == [str(number) for number in range(1, 31)]
    assert all(one.promise and one.figure and one.asserted for one in listed().values())


def test_every_promise_has_a_test_and_every_named_promise_exists() -> None:
    assert set(marked("promise")) == set(listed())


def test_the_page_on_reliability_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_module_can_mark_all_its_tests_and_each_tells_when_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr("tests.harness.marked.ROOT", tmp_path)
    once, length, both = (
        Marked("tests/test_some.py", f"test_{name}", runs)
        for name, runs in (("at_once", QUICK), ("at_length", LONG), ("in_both", BOTH))
    )

    assert marked("promise") == {"3": [once, length, both], "1": [once], "2": [once]}


def test_the_page_names_the_last_complete_run_or_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promises, "RECORD", tmp_path / "full_run.toml")
    before = promises.last_run()
    promises.RECORD.write_text('date = "2031-02-03"\ncommit = "abc1234"\n', encoding="utf-8")

    assert "No complete run" in before
    assert promises.last_run() == "The long suite last passed on 2031-02-03, at commit abc1234."
