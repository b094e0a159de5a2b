"""A write of a pull or of the hook that fails, or at which the process is killed, is made good by the next run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError
from lore_server.hook.upload_state import read_state
from tests.harness.faults import MODES, Faults, Outcome, faults, has_compiler
from tests.harness.faulty_network import pull_tickets, upload_memories
from tests.harness.memory_server import MemoryServer
from tests.harness.memory_server import running as memory_server
from tests.harness.projects import write_project
from tests.harness.sweeps import last_line, sweep
from tests.harness.tracker import github, github_comment, github_issue
from tests.harness.tracker import running as tracker
from tests.harness.trying import often

pytestmark = pytest.mark.skipif(not has_compiler(), reason="the faults need gcc and the libc of Linux")
TICKETS = 3
MEMORIES = {"LEARNING/jitter.md": "# Jitter\n\nretries\n", "RESEARCH/c.md": "# Gamma\n\nc\n"}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults"), "tests.harness.faulty_network") as started:
        yield started


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    issues = [github_issue(number) for number in range(1, TICKETS + 1)]
    with tracker(github(issues, [github_comment(1, 2, "Seen.", 5)])) as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[MemoryServer]:
    with memory_server() as started:
        yield started


def tickets(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*.md"))}


class Pulls:
    """A folder of tickets for each pull with a fault."""

    def __init__(self, faulty: Faults, folder: Path, address: str) -> None:
        self._faulty, self._folder, self._address = faulty, folder, address
        pull_tickets(str(folder / "whole"), address)
        self._expected = tickets(folder / "whole")
        assert len(self._expected) > TICKETS

    def sweep(self, mode: str, step: int = 1) -> list[str]:
        return sweep(self._prepare, lambda at: self._run(at, mode), self._check, step=step)

    def _prepare(self, at: int) -> None:
        self._home = self._folder / str(at)
        self._home.mkdir()

    def _run(self, at: int, mode: str) -> Outcome:
        return self._faulty.run("pull", self._home, self._address, below=self._home, at=at, mode=mode)

    def _check(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after the fault, and after the next pull."""
        problems = ["said to be complete"] if outcome.code == 0 and tickets(self._home) != self._expected else []
        try:
            pull_tickets(str(self._home), self._address)
            assert tickets(self._home) == self._expected, "tickets differ"
        except (AssertionError, LoreError) as error:  # a finding
            problems.append(f"not cured: {last_line(error)}")
        return problems


class Uploads:
    """A state of the hook and an empty server for each run with a fault."""

    def __init__(self, faulty: Faults, folder: Path, server: MemoryServer) -> None:
        self._faulty, self._folder, self._server = faulty, folder, server
        self._memories = write_project(folder / "m", MEMORIES)

    def sweep(self, mode: str) -> list[str]:
        return sweep(self._prepare, lambda at: self._run(at, mode), self._check)

    def _prepare(self, at: int) -> None:
        self._server.reset()
        self._home = self._folder / str(at)
        self._home.mkdir()
        self._state = self._home / "hook" / "state.json"

    def _run(self, at: int, mode: str) -> Outcome:
        arguments = self._memories, self._state, self._server.url
        return self._faulty.run("hook", *arguments, below=self._home, at=at, mode=mode)

    def _check(self, outcome: Outcome) -> list[str]:
        """Return what is wrong after the fault, and after the next run."""
        problems = list[str]()
        try:
            if outcome.code == 0 and not self._is_complete():
                problems.append("said to be complete")
            upload_memories(str(self._memories), str(self._state), self._server.url)
            sent = sorted(episode["episode_body"] for episode in self._server.episodes)
            assert sent == sorted(text.strip() for text in MEMORIES.values()), f"on the server: {sent}"
            assert self._is_complete(), "the state is incomplete"
            assert not list(self._home.rglob("*.tmp")), "a temporary file is left"
        except (AssertionError, LoreError) as error:  # a finding
            problems.append(f"not cured: {last_line(error)}")
        return problems

    def _is_complete(self) -> bool:
        files = read_state(self._state).files
        return len(files) == len(MEMORIES) and all(entry.is_complete for entry in files.values())


@pytest.mark.promise(2)
@pytest.mark.parametrize(("mode", "step"), often([("ENOSPC", 80), *((mode, 1) for mode in MODES)], [("ENOSPC", 80)]))
def test_the_pull_after_a_fault_is_whole(faulty: Faults, tmp_path: Path, address: str, mode: str, step: int) -> None:
    assert Pulls(faulty, tmp_path, address).sweep(mode, step) == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("mode", MODES)
def test_a_run_of_the_hook_after_a_fault_at_any_write_sends_each_memory_once(
    faulty: Faults, tmp_path: Path, server: MemoryServer, mode: str
) -> None:
    assert Uploads(faulty, tmp_path, server).sweep(mode) == []
