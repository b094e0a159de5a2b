"""Owners of earlier versions, whose note was in the project's folder, are listed and stopped after an upgrade."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from lore_etl.config.project import STATE
from lore_etl.stores.claim import ASIDE, is_in_use
from lore_server.owner.predecessor import earlier_owner, earlier_owners
from tests.harness.commands import run_lore
from tests.harness.owners import wait_until
from tests.harness.projects import ROOT, write_project

PAGE: dict[str, str | bytes] = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}
OLD = "7bd9bf9"
OWNER = """
import json, sys
from pathlib import Path
from filelock import FileLock
folder = Path(sys.argv[1], ".lore")
lock = FileLock(folder / "owner.lock")
lock.acquire()
(folder / "owner.json").write_text(json.dumps({"pid": 1, "born": "", "command": "lore", "since": "", "address": "x"}))
print("holds it", flush=True)
sys.stdin.read()
"""
"""Holds an index as the owners of earlier versions did."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with the empty index folder of an earlier version."""
    (tmp_path / "project/.lore").mkdir(parents=True)
    return write_project(tmp_path / "project", PAGE).resolve()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a folder with a program that holds an index as the owners of earlier versions did."""
    write_project(tmp_path / "program", {"server/owner/main.py": OWNER, "other.py": OWNER})
    return tmp_path / "program"


@contextmanager
def running(
    program: Path, project: Path, module: str = "server.owner.main", environment: Mapping[str, str] = os.environ
) -> Iterator[subprocess.Popen[str]]:
    """Run an owner that has taken the lock."""
    command = [sys.executable, "-P", "-m", module, str(project), ""]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        env={**environment, "PYTHONPATH": str(program)},
    ) as process:  # fmt: skip
        try:
            wait_until(lambda: is_in_use(project / ".lore"))
            yield process
        finally:
            process.kill()


def listed(project: Path) -> list[int]:
    found = json.loads(run_lore("ps", "--json", cwd=project).stdout)["owners"]
    return [owner["pid"] for owner in found if owner["index"] == str(project / ".lore")]


def test_an_owner_of_an_earlier_version_is_listed_and_stopped(program: Path, project: Path) -> None:
    with running(program, project) as owner:
        refused = run_lore("sync", cwd=project)
        assert (refused.returncode, "`lore stop`" in refused.stderr) == (74, True)
        assert listed(project) == [owner.pid]

        assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": [owner.pid]}

        assert owner.wait(10) is not None
        assert listed(project) == []


@pytest.mark.long
def test_an_owner_of_the_first_version_is_listed_and_stopped(tmp_path: Path, project: Path) -> None:
    archive = subprocess.run(
        ["git", "archive", OLD, "etl", "server", "openapi.yaml"], cwd=ROOT, capture_output=True, check=True
    )
    (tmp_path / OLD).mkdir()
    subprocess.run(["tar", "x"], cwd=tmp_path / OLD, input=archive.stdout, check=True)
    with running(tmp_path / OLD, project) as starter:
        starter.wait(10)  # it has forked
        owner = earlier_owner(project / ".lore")
        assert owner is not None
        assert listed(project) == [owner.pid]

        assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": [owner.pid]}

        assert not owner.is_alive
        assert run_lore("sync", cwd=project).returncode == 0
        assert (project / f".lore{ASIDE}/owner.lock").exists()


def test_a_process_that_only_a_note_in_the_project_names_is_left_alone(project: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        note = {"pid": other.pid, "born": "", "command": "lore", "since": "", "kind": "background", "address": "x"}
        (project / ".lore/owner.json").write_text(json.dumps(note), encoding="utf-8")
        try:
            assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": []}
            assert other.poll() is None
        finally:
            other.kill()


def test_a_process_that_is_not_of_lore_is_no_owner_though_it_holds_the_lock(program: Path, project: Path) -> None:
    with running(program, project, "other"):
        assert earlier_owner(project / ".lore") is None


def test_an_owner_with_another_state_folder_belongs_to_another_installation(
    program: Path, project: Path, tmp_path: Path
) -> None:
    with running(program, project, environment={**os.environ, STATE: str(tmp_path)}) as owner:
        assert owner.pid not in [note.pid for _, note in earlier_owners()]


def test_an_owner_is_not_that_of_a_project_whose_lock_is_a_link_to_its_lock(
    program: Path, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "hostile/.lore").mkdir(parents=True)
    with running(program, project):
        for make in (os.link, os.symlink):
            make(project / ".lore/owner.lock", tmp_path / "hostile/.lore/owner.lock")
            assert earlier_owner((tmp_path / "hostile/.lore").resolve()) is None
            (tmp_path / "hostile/.lore/owner.lock").unlink()
