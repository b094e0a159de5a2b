"""Every promise has a test, and the page on reliability is generated from both."""

import re
import sys
from pathlib import Path

import pytest

from tests.golden.full_run import record, run
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


def test_there_are_thirty_promises_each_with_a_figure_and_a_test_and_the_page_shows_them() -> None:
    assert list(listed()) == [str(number) for number in range(1, 31)]
    assert all(one.promise and one.figure and one.asserted for one in listed().values())
    assert set(marked("promise")) == set(listed())
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
    record([])
    alone = promises.last_run()
    record(["tests/unit/test_a.py::test_b[1-2]"])

    assert "No complete run" in before
    assert re.fullmatch(r"The long suite last passed on \d{4}-\d\d-\d\d, at commit [^;.]+\.", alone)
    assert promises.last_run() == f"{alone[:-1]}; `test_b[1-2]` only when run again, alone."


@pytest.mark.later
@pytest.mark.parametrize("is_lasting", [False, True])
def test_a_test_that_fails_in_a_full_run_must_pass_alone(tmp_path: Path, is_lasting: bool) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_some.py").write_text(
        "from pathlib import Path\n\ndef test_a(): ...\n\ndef test_b():\n"
        f"    Path('runs').open('a').write('x')\n    assert len(Path('runs').read_text()) > {1 + is_lasting}\n"
    )

    code, repeated = run([sys.executable, "-m", "pytest", "-q", "-n", "1"], tmp_path)

    assert (code, repeated) == (is_lasting, ["test_some.py::test_b"])
