"""A write that fails, or at which the process is killed, is reported and made good by the next run."""

from __future__ import annotations

import re
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.query.retrieve import retrieve
from tests.harness.faults import MODES, RAISED, Faults, Outcome, faults, has_compiler
from tests.harness.faulty import add_memory, write_knowledge
from tests.harness.indexes import assert_equals_fresh, fresh_state, state_of
from tests.harness.knowledge import git
from tests.harness.models import HashModel
from tests.harness.projects import SMALL, open_index, write_project

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not has_compiler(), reason="the faults need gcc and the libc of Linux"),
]

VARYING = re.compile(r"(?<=\.git/t)\w{6}$|(?<=tmp_obj_)\w+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}|\d+")
SAMPLES = 3  # of the hundreds of writes of each operation, in every run


def tree(version: int) -> dict[str, str]:
    return {
        "docs/guide.md": f"# Guide\n\nversion{version} of the guide\n",
        "src/base.py": f"class Base{version}:\n    pass\n",
        "src/derived.py": f"from base import Base{version}\n\n\nclass Derived(Base{version}):\n    pass\n",
    }


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty", "tests.harness.faulty_index") as started:
        yield started


class Findings(list[str]):
    """The consequences of faults."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self._operation = operation

    def add(self, at: int, mode: str, outcome: Outcome, problems: list[str]) -> None:
        """Remember the problems after the fault at the nth write."""
        where = f"{outcome.call} {VARYING.sub('#', outcome.path)}"
        if problems:
            self.append(f"{self._operation} n={at} {mode} {where}: {'; '.join(problems)}")


def sweep(
    name: str, modes: list[str], step: int, prepare: Callable[[int], object], run: Callable[[int, str], Outcome],
    check: Callable[[Outcome], list[str]],
) -> Findings:  # fmt: skip
    """Check a fault at every write, or at every nth with `step`, in each mode, until the operation ends without one."""
    findings = Findings(name)
    for mode in modes:
        at, outcome = 1, None
        while outcome is None or outcome.call:
            prepare(at)
            outcome = run(at, mode)
            problems = [outcome.error] if outcome.code not in (0, RAISED, -9) else []
            findings.add(at, mode, outcome, problems + check(outcome))
            at += step
    return findings


def last_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:150]} at {traceback.extract_tb(error.__traceback__)[-1].name}"


# --- the index ---------------------------------------------------------------------------------------------------


class Project:
    """A project whose index is built, or becomes another version, under faults."""

    def __init__(self, root: Path, contract: Contract, *, is_first: bool) -> None:
        self.root = root
        self._contract = contract
        self._is_first = is_first
        self._version = 0

    def prepare(self, at: int) -> None:
        """Delete the index, or else edit every file."""
        if self._is_first:
            shutil.rmtree(self.root / ".lore", ignore_errors=True)
        elif not (self.root / ".lore").exists():
            self.sync()
        self._version = 1 - self._version if not self._is_first else 0
        write_project(self.root, tree(self._version))

    def open(self) -> Index:
        return open_index(self.root, limits=SMALL)

    def sync(self) -> None:
        write_project(self.root, tree(self._version))
        with closing(self.open()) as index:
            sync(index)

    def check(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after the fault, and after the sync that cures it."""
        problems, is_healthy = list[str](), False
        try:
            is_healthy = self._look(problems)
        except (AssertionError, LoreError, OSError) as error:  # a finding
            problems.append(f"before the cure: {last_line(error)}")
        try:
            with closing(self.open()) as index:
                failed = sync(index).failed
                assert failed == [], failed
                assert_equals_fresh(index)
        except (AssertionError, LoreError, OSError) as error:
            problems.append(f"not cured{' though healthy' if is_healthy else ''}: {last_line(error)}")
            shutil.rmtree(self.root / ".lore", ignore_errors=True)
        return problems

    def _look(self, problems: list[str]) -> bool:
        """Note wrong statements of freshness and health; return whether the index is said to be healthy."""
        with closing(App(self.root, Settings(), self._contract, HashModel())) as app:
            health = app.call("healthcheck", {})
        is_healthy = health["status"] == "healthy"
        if not is_healthy and health.get("freshness", {}).get("state") != "fresh":
            return False
        with closing(self.open()) as index:
            try:
                retrieve(index, "guide", None, 10)
                is_equal = state_of(index) == fresh_state(self.root)
            except LoreError as error:
                if is_healthy:
                    problems.append(f"healthy, but a search fails: {last_line(error)}")
                return is_healthy
        if health.get("freshness", {}).get("state") == "fresh" and not is_equal:
            problems.append("said to be fresh, but differs from a fresh index")
        return is_healthy


def sweep_syncs(
    faulty: Faults, root: Path, contract: Contract, modes: list[str], *, is_first: bool, samples: int = 0
) -> Findings:
    write_project(root, tree(0))
    project = Project(root, contract, is_first=is_first)
    project.prepare(0)
    writes = faulty.run("sync", root, below=root).writes
    assert writes > 50

    def run(at: int, mode: str) -> Outcome:
        return faulty.run("sync", root, below=root, at=at, mode=mode)

    name = "first sync" if is_first else "sync of an edit"
    return sweep(name, modes, writes // samples if samples else 1, project.prepare, run, project.check)


@pytest.mark.parametrize("is_first", [True, False], ids=["a first sync", "a sync of an edit"])
def test_a_sync_after_a_fault_at_some_writes_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, is_first: bool
) -> None:
    modes = ["ENOSPC" if is_first else "killed after"]
    assert sweep_syncs(faulty, tmp_path / "p", contract, modes, is_first=is_first, samples=SAMPLES) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_first", [True, False], ids=["a first sync", "a sync of an edit"])
def test_a_sync_after_a_fault_at_any_write_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, is_first: bool, mode: str
) -> None:
    assert sweep_syncs(faulty, tmp_path / "p", contract, [mode], is_first=is_first) == []


# --- knowledge ---------------------------------------------------------------------------------------------------


class Home:
    """A knowledge folder that is created, or gets another text or memory, under faults."""

    def __init__(self, folder: Path, operation: str, *, is_first: bool) -> None:
        self.folder = folder
        self._operation = operation
        self._is_first = is_first
        self._text = ""

    def prepare(self, at: int) -> None:
        if self._is_first:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif not self.folder.exists():
            write_knowledge(str(self.folder), "seed\n")
        self._text = f"text{at} written\n"

    def run(self, faulty: Faults, at: int, mode: str) -> Outcome:
        return faulty.run(self._operation, self.folder, self._text, below=self.folder, at=at, mode=mode)

    def check(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after the fault, and after the write that cures it."""
        problems = []
        try:
            if outcome.code == 0 and self._text.strip() not in self._committed():
                problems.append("reported as written, but not committed")
            if self._operation == "knowledge":
                write_knowledge(str(self.folder), f"after {self._text}")
            else:
                add_memory(str(self.folder), f"after {self._text.strip()}")
            assert f"after {self._text.strip()}" in self._committed(), "the next write is not committed"
            assert git(self.folder, "fsck", "--full", "--strict", "--no-dangling").strip() == "", "git fsck"
            assert git(self.folder, "status", "--porcelain") == "", "something is not committed"
            left = [path.name for path in self.folder.rglob("*") if path.name.endswith((".tmp", ".lock"))]
            assert set(left) <= {"lore.lock"}, left  # git itself deletes the objects of a killed git some day
        except (AssertionError, LoreError, OSError) as error:  # a finding
            problems.append(f"not cured: {last_line(error)}")
            shutil.rmtree(self.folder, ignore_errors=True)
        return problems

    def _committed(self) -> str:
        return git(self.folder, "grep", "-h", "", "HEAD", "--", "projects", check=False)


def sweep_writes(
    faulty: Faults, folder: Path, operation: str, modes: list[str], *, is_first: bool, samples: int = 0
) -> Findings:
    home = Home(folder, operation, is_first=is_first)
    home.prepare(0)
    writes = home.run(faulty, 0, "counted").writes
    assert writes > 20
    step = max(writes // samples, 1) if samples else 1
    name = f"{'first ' if is_first else ''}{operation}"
    return sweep(name, modes, step, home.prepare, lambda at, mode: home.run(faulty, at, mode), home.check)


@pytest.mark.parametrize("operation", ["knowledge", "memory"])
def test_a_write_after_a_fault_at_some_writes_leaves_a_sound_repository(
    tmp_path: Path, faulty: Faults, operation: str
) -> None:
    assert sweep_writes(faulty, tmp_path / "h", operation, ["killed before"], is_first=False, samples=SAMPLES) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a further"])
@pytest.mark.parametrize("operation", ["knowledge", "memory"])
def test_a_write_after_a_fault_at_any_write_leaves_a_sound_repository(
    tmp_path: Path, faulty: Faults, operation: str, is_first: bool, mode: str
) -> None:
    assert sweep_writes(faulty, tmp_path / "h", operation, [mode], is_first=is_first) == []
