"""A write of knowledge that fails, or at which the process is killed, is made good by the next one."""

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError
from tests.harness.faults import MODES, Faults, Outcome, faults, has_compiler
from tests.harness.faulty import add_memory, write_knowledge
from tests.harness.knowledge import git
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
