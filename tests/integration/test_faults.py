"""A write that fails, or at which the process is killed or the power cut, is reported and made good by the next run."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError, NotFound
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.evaluation import commit, git
from tests.harness.faults import MODES, Faults, Outcome, faults, has_compiler
from tests.harness.faulty_index import sync_project
from tests.harness.indexes import assert_equals_fresh, fresh_state, state_of
from tests.harness.models import HashModel
from tests.harness.power_cut import Disk
from tests.harness.projects import SMALL, open_index, write_project
from tests.harness.published import fetch_into, publish_project
from tests.harness.sweeps import last_line, sweep
from tests.harness.trying import often

pytestmark = [
    pytest.mark.later,
    pytest.mark.usefixtures("prepared_python"),
    pytest.mark.skipif(not has_compiler(), reason="the faults need gcc and the libc of Linux"),
]

KEYWORDS_FOLDER = ".lore/keywords"
ROTATED = [(mode, 1 + number) for number, mode in enumerate(MODES)]
"""Each fault with its first write: in steps of their number, every write is met once, in minutes instead of hours."""
SOME = [("ENOSPC", 20, 80, False), ("killed after", 60, 80, False)]
ANY = [(mode, first, len(MODES), is_first) for mode, first in ROTATED for is_first in (True, False)]


def tree(version: int) -> dict[str, str]:
    return {
        "docs/guide.md": f"# Guide\n\nversion{version} of the guide\n",
        "src/base.py": f"class Base{version}:\n    pass\n",
        "src/derived.py": f"from base import Base{version}\n\n\nclass Derived(Base{version}):\n    pass\n",
    }


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty_index") as started:
        yield started


class Project:
    """A project whose index is built, or becomes another version, under faults."""

    def __init__(self, root: Path, contract: Contract, *, is_first: bool, target: Path | None = None) -> None:
        self.root = root
        self._target = target
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
                if self._target is not None:
                    fetch_into(index, self._target)
                report = sync(index)
                assert report.failed == [], report.failed
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
                retrieve(index, parse("guide"), None, 10)
                is_equal = state_of(index) == fresh_state(self.root)
            except LoreError as error:
                if is_healthy:
                    problems.append(f"healthy, but a search fails: {last_line(error)}")
                return is_healthy
        if health.get("freshness", {}).get("state") == "fresh" and not is_equal:
            problems.append("said to be fresh, but differs from a fresh index")
        return is_healthy


def sweep_syncs(
    faulty: Faults, root: Path, contract: Contract, mode: str, first: int, step: int, *, is_first: bool, below: str = ""
) -> list[str]:
    write_project(root, tree(0))
    project = Project(root, contract, is_first=is_first)
    project.prepare(0)
    assert faulty.run("sync", root, below=root / below).writes > 50

    def run(at: int) -> Outcome:
        return faulty.run("sync", root, below=root / below, at=at, mode=mode)

    return sweep(project.prepare, run, project.check, first, step)


def sweep_cuts(
    faulty: Faults, root: Path, contract: Contract, first: int = 0, step: int = 1, *, keeps_names: bool
) -> list[str]:
    """Return what is wrong after a sync of an edit if the power is cut after any change that reached the disk."""
    project, found = Project(root, contract, is_first=False), list[str]()
    for at in (0, 1):
        project.prepare(at)
        disk = Disk(root / ".lore", root.with_name("journal"))
        outcome = faulty.run("sync", root, below=root, disk=disk)
    assert outcome.code == 0
    changes = [(after, event) for after, event in enumerate(disk.events(), 1) if event.what != "entry"]
    for after, event in changes[first::step]:
        disk.cut_the_power(keeps_names, after)
        if problems := project.check(outcome):
            found.append(f"{after} {event}: {'; '.join(problems)}")
    return found


@pytest.mark.promise(1)
@pytest.mark.promise(2)
@pytest.mark.parametrize(("mode", "first", "step", "is_first"), often([*SOME, *ANY], SOME))
def test_a_sync_after_a_fault_at_a_write_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, mode: str, first: int, step: int, is_first: bool
) -> None:
    assert sweep_syncs(faulty, tmp_path / "p", contract, mode, first, step, is_first=is_first) == []


@pytest.mark.promise(1)
@pytest.mark.parametrize("keeps_names", [False, True], ids=["names are lost", "names are kept"])
@pytest.mark.parametrize(
    ("first", "step"), [pytest.param(0, 1, marks=pytest.mark.long, id="any"), pytest.param(8, 35, id="some")]
)
def test_a_sync_after_a_cut_of_the_power_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, keeps_names: bool, first: int, step: int
) -> None:
    assert sweep_cuts(faulty, tmp_path / "p", contract, first, step, keeps_names=keeps_names) == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("mode", ["EIO", "ENOSPC"])
def test_a_sync_after_a_fault_at_any_write_of_tantivy_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, mode: str
) -> None:
    found = sweep_syncs(faulty, tmp_path / "p", contract, mode, 1, 1, is_first=False, below=KEYWORDS_FOLDER)
    assert found == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize(("mode", "first"), ROTATED)
def test_a_fetch_after_a_fault_at_any_write_makes_the_index_whole(
    tmp_path: Path, contract: Contract, faulty: Faults, mode: str, first: int
) -> None:
    root, target = committed(tmp_path / "p"), tmp_path / "target"
    project = Project(root, contract, is_first=True, target=target)
    publish_project(str(root), str(target))

    def run(at: int) -> Outcome:
        return faulty.run("fetch", root, target, below=root, at=at, mode=mode)

    assert sweep(project.prepare, run, project.check, first, len(MODES)) == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("mode", MODES)
def test_a_snapshot_is_whole_or_missing_after_a_fault_at_any_write(tmp_path: Path, faulty: Faults, mode: str) -> None:
    root, target, clone = committed(tmp_path / "p"), tmp_path / "out" / "target", tmp_path / "clone"
    sync_project(str(root))
    git(root, "clone", "--quiet", str(root), str(clone))

    def is_fetched() -> bool:
        with closing(open_index(clone, limits=SMALL)) as index:
            try:
                fetch_into(index, target)
            except NotFound:
                return False
            assert_equals_fresh(index)
        return True

    def check(outcome: Outcome) -> list[str]:
        try:
            assert is_fetched() or outcome.code != 0, "reported as published, but it is not"
            publish_project(str(root), str(target))
            assert is_fetched()
        except (AssertionError, LoreError, OSError) as error:
            return [last_line(error)]
        return []

    def run(at: int) -> Outcome:
        return faulty.run("publish", root, target, below=target.parent, at=at, mode=mode)

    def prepare(at: int) -> None:
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir()

    assert sweep(prepare, run, check) == []


def committed(root: Path) -> Path:
    """Return a repository with the project."""
    write_project(root, tree(0))
    git(root, "init", "-b", "main")
    git(root, "add", ".")
    commit(root, "Add everything")
    return root
