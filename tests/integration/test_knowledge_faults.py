"""A write of knowledge that fails, is killed or loses its power is made good by the next one."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.faults import MODES, Faults, Outcome, faults, has_compiler
from tests.harness.faulty import add_memory, write_file, write_knowledge
from tests.harness.knowledge import git
from tests.harness.power_cut import Disk
from tests.harness.projects import SMALL, open_index, write_project
from tests.harness.sweeps import last_line, sweep
from tests.harness.trying import often

pytestmark = pytest.mark.skipif(not has_compiler(), reason="the faults need gcc and the libc of Linux")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty") as started:
        yield started


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


SOME = [("knowledge", mode, True, 21, 55) for mode in ("ENOSPC", "killed after")]
ANY = [(*case, 1, 1) for case in product(("knowledge", "memory"), MODES, (True, False))]


@pytest.mark.promise(1)
@pytest.mark.promise(2)
@pytest.mark.parametrize(("operation", "mode", "is_first", "first", "step"), often([*SOME, *ANY], SOME))
def test_a_write_after_a_fault_at_a_write_leaves_a_sound_repository(
    tmp_path: Path, faulty: Faults, operation: str, mode: str, is_first: bool, first: int, step: int
) -> None:
    home = Home(tmp_path / "h", operation, is_first=is_first)
    home.prepare(0)
    assert home.run(faulty, 0, "counted").writes > first
    assert sweep(home.prepare, lambda at: home.run(faulty, at, mode), home.check, first, step) == []


WRITES: dict[str, Callable[[str, str], None]] = {
    "knowledge": write_knowledge, "memory": add_memory, "file": write_file,
}  # fmt: skip
NAMES = pytest.mark.parametrize("keeps_names", [False, True], ids=["names are lost", "names are kept"])


@pytest.fixture(scope="module")
def faulty_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty_index") as started:
        yield started


@dataclass
class Cut:
    """A folder whose power is cut in or after a write."""

    faulty: Faults
    folder: Path
    operation: str
    keeps_names: bool

    def texts(self) -> str:
        """Return what readers find in the folder."""
        files = (path for path in self.folder.rglob("*") if ".git" not in path.parts and path.is_file())
        return "\n".join(path.read_text(errors="replace") for path in files if not path.name.endswith(".tmp"))

    def write(self, text: str, at: int = 0, *, ignores_syncs: bool = False) -> Outcome:
        """Write a text, with a cut of the power before the nth call, or else afterwards."""
        self.folder.mkdir(exist_ok=True)
        disk = Disk(self.folder, self.folder.with_name("journal"))
        outcome = self.faulty.run(
            self.operation, self.folder, text,
            below=self.folder, at=at, mode="killed before", disk=disk, ignores_syncs=ignores_syncs,
        )  # fmt: skip
        assert outcome.code in (0, -9), outcome.error
        disk.cut_the_power(self.keeps_names)
        return outcome

    def problems_of_next(self, text: str) -> list[str]:
        """Return what is wrong with a write after the cut."""
        try:
            WRITES[self.operation](str(self.folder), text)
            assert text in self.texts(), "the next write is missing"
            if self.operation != "file":
                assert text in git(self.folder, "grep", "-h", "", "HEAD", "--", "projects"), "it is not committed"
                KnowledgeStore(self.folder).open()  # as every owner does when it starts
                assert git(self.folder, "fsck", "--full", "--strict", "--no-dangling").strip() == "", "git fsck"
                left = [path.name for path in self.folder.rglob("*") if path.name.endswith((".tmp", ".lock"))]
                assert set(left) <= {"lore.lock"}, left
        except (AssertionError, LoreError) as error:  # a finding
            return [f"{type(error).__name__}: {str(error)[:200]}"]
        return []


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("operation", "keeps_names"),
    [
        ("file", False),
        ("file", True),
        ("knowledge", True),
        ("memory", False),
        pytest.param("knowledge", False, marks=pytest.mark.long),
        pytest.param("memory", True, marks=pytest.mark.long),
    ],
)
def test_a_cut_of_the_power_loses_no_acknowledged_write_unless_nothing_was_synced(
    faulty: Faults, tmp_path: Path, operation: str, keeps_names: bool
) -> None:
    cut = Cut(faulty, tmp_path / "h", operation, keeps_names)

    for text in ("the first text", "another text"):
        assert cut.write(text).code == 0
        assert text in cut.texts()
    assert cut.problems_of_next("the next text") == []

    assert cut.write("the last text", ignores_syncs=True).code == 0
    assert "the last text" not in cut.texts()  # so this test sees a missing sync


def swept(cut: Cut, is_first: bool) -> list[str]:
    """Return what is wrong after a cut at each call of a write."""
    found, at, outcome = list[str](), 1, None
    while outcome is None or outcome.call:
        before = f"before {at}"
        if is_first:
            cut.folder = cut.folder.with_name(f"h{at}")
        else:
            cut.folder.mkdir(exist_ok=True)
            WRITES[cut.operation](str(cut.folder), before)
        outcome = cut.write(f"during {at}", at)
        problems = [] if is_first or before in cut.texts() or f"during {at}" in cut.texts() else ["a text is lost"]
        problems += cut.problems_of_next(f"after {at}")
        if problems:
            found.append(f"n={at} {outcome.where()}: {'; '.join(problems)}")
        at += 1
    return found


@pytest.mark.promise(1)
@NAMES
def test_a_file_has_its_old_or_new_content_after_any_cut(faulty: Faults, tmp_path: Path, keeps_names: bool) -> None:
    assert swept(Cut(faulty, tmp_path / "h", "file", keeps_names), is_first=False) == []


@pytest.mark.promise(1)
def test_a_cut_at_a_call_of_git_ends_the_write_that_started_it(faulty: Faults, tmp_path: Path) -> None:
    outcomes = [Cut(faulty, tmp_path / f"h{at}", "knowledge", False).write("a text", at) for at in range(1, 9)]

    assert ("mkdir", ".git") in [(outcome.call, outcome.path) for outcome in outcomes]  # the first call of `git init`
    assert [outcome.code for outcome in outcomes] == [-9] * 8


def test_a_call_of_another_process_hides_no_file_of_a_synced_folder(tmp_path: Path) -> None:
    """Git writes while Lore syncs a folder, so their lines in the journal alternate."""
    folder = write_project(tmp_path / "h", {"a": "first", "b": "second"})
    disk = Disk(folder, tmp_path / "journal")
    first, second = (f"entry\t{(folder / name).stat().st_ino}\t0\t{folder / name}\t" for name in "ab")
    (tmp_path / "journal" / "log").write_text(
        "\n".join([first, f"create\t1\t0\t{folder}/.git/x\t", second, f"folder\t2\t0\t{folder}\t", ""])
    )

    disk.cut_the_power()

    assert {path.name: path.read_text() for path in folder.iterdir()} == {"a": "first", "b": "second"}


@pytest.mark.long
@pytest.mark.promise(1)
@NAMES
@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a further"])
@pytest.mark.parametrize("operation", ["knowledge", "memory"])
def test_a_write_succeeds_after_a_cut_at_any_call_of_another(
    faulty: Faults, tmp_path: Path, operation: str, is_first: bool, keeps_names: bool
) -> None:
    assert swept(Cut(faulty, tmp_path / "h", operation, keeps_names), is_first) == []


@pytest.mark.promise(1)
@NAMES
def test_a_load_that_a_cut_ended_is_known(faulty_index: Faults, tmp_path: Path, keeps_names: bool) -> None:
    """The keyword index syncs its commits, so the catalogue must know that they may be without its own."""
    project = write_project(tmp_path / "project", {"a.md": "# Alpha\n\nThe zebra text.\n"})
    faulty_index.run("sync", project, below=project)

    def is_known(ignores_syncs: bool) -> bool:
        write_project(project, {"a.md": f"# Alpha\n\nThe okapi text, {ignores_syncs}.\n"})
        disk = Disk(project / ".lore", tmp_path / "journal")
        outcome = faulty_index.run("begin", project, below=project / ".lore", disk=disk, ignores_syncs=ignores_syncs)
        assert outcome.code == 0, outcome.error
        disk.cut_the_power(keeps_names)
        with closing(open_index(project, limits=SMALL)) as index:
            return index.catalogue.meta("dirty") is not None

    assert not is_known(ignores_syncs=True)  # so this test sees a missing sync
    assert is_known(ignores_syncs=False)
