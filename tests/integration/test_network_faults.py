"""A write of a pull or of the hook that fails, or at which the process is killed, is made good by the next run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError
from lore_server.hook.upload_state import read_state
from tests.harness.faults import MODES, RAISED, Faults, Outcome, faults, has_compiler
from tests.harness.faulty_network import pull_tickets, upload_memories
from tests.harness.memory_server import MemoryServer
from tests.harness.memory_server import running as memory_server
from tests.harness.projects import write_project
from tests.harness.tracker import github, github_comment, github_issue
from tests.harness.tracker import running as tracker

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


def check_pulls(faulty: Faults, folder: Path, address: str, mode: str, step: int = 1) -> list[str]:
    """Return what is wrong after a fault at each nth call of a pull, and after the next pull."""
    pull_tickets(str(folder / "whole"), address)
    expected, found, at, outcome = tickets(folder / "whole"), list[str](), 1, None
    while outcome is None or outcome.call:
        home = folder / str(at)
        home.mkdir()
        outcome = faulty.run("pull", home, address, below=home, at=at, mode=mode)
        problems = unexpected(outcome)
        if outcome.code == 0 and tickets(home) != expected:
            problems.append("reported as complete, but it is not")
        try:
            pull_tickets(str(home), address)
            assert tickets(home) == expected, "tickets differ"
        except (AssertionError, LoreError) as error:
            problems.append(f"not cured: {error}")
        if problems:
            found.append(f"n={at} {mode} {outcome.where()}: {'; '.join(problems)[-300:]}")
        at += step
    return found


def check_uploads(faulty: Faults, folder: Path, server: MemoryServer, mode: str, step: int = 1) -> list[str]:
    """Return what is wrong after a fault at each nth call of the hook, and after its next run."""
    write_project(folder / "m", MEMORIES)
    found, at, outcome = list[str](), 1, None
    while outcome is None or outcome.call:
        server.reset()
        home = folder / str(at)
        home.mkdir()
        state = home / "hook" / "state.json"
        outcome = faulty.run("hook", folder / "m", state, server.url, below=home, at=at, mode=mode)
        problems = unexpected(outcome)
        try:
            upload_memories(str(folder / "m"), str(state), server.url)
            sent = sorted(episode["episode_body"] for episode in server.episodes)
            assert sent == sorted(text.strip() for text in MEMORIES.values()), f"on the server: {sent}"
            assert all(entry.is_complete for entry in read_state(state).files.values()), "the state is incomplete"
            assert not list(home.rglob("*.tmp")), "a temporary file is left"
        except (AssertionError, LoreError) as error:
            problems.append(f"not cured: {error}")
        if problems:
            found.append(f"n={at} {mode} {outcome.where()}: {'; '.join(problems)[-300:]}")
        at += step
    return found


def unexpected(outcome: Outcome) -> list[str]:
    return [outcome.error] if outcome.code not in (0, RAISED, -9) else []


@pytest.mark.promise(2)
def test_a_pull_after_a_fault_at_some_writes_brings_all_tickets(faulty: Faults, tmp_path: Path, address: str) -> None:
    assert check_pulls(faulty, tmp_path, address, "ENOSPC", step=40) == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("mode", MODES)
def test_a_pull_after_a_fault_at_any_write_brings_all_tickets(
    faulty: Faults, tmp_path: Path, address: str, mode: str
) -> None:
    assert check_pulls(faulty, tmp_path, address, mode) == []


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("mode", MODES)
def test_a_run_of_the_hook_after_a_fault_at_any_write_sends_each_memory_once(
    faulty: Faults, tmp_path: Path, server: MemoryServer, mode: str
) -> None:
    assert check_uploads(faulty, tmp_path, server, mode) == []
