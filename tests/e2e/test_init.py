"""Run `lore init` and `init_project` as users and agents do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.harness.commands import run_lore
from tests.harness.framework import INDEX, SCHEMA, framework
from tests.harness.interfaces import through_stdio
from tests.harness.projects import write_project
from tests.harness.trust import approve

JSON = dict[str, Any]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, JSON]]:
    """Set up a project with `lore init` from another folder; yield its folder and the report."""
    folder = write_project(tmp_path_factory.mktemp("framework") / "project", framework(10))
    done = run_lore("init", str(folder), "--json", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    yield folder, json.loads(done.stdout)


def written(folder: Path) -> JSON:
    value: JSON = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    Draft202012Validator(SCHEMA).validate(value)
    return value


def test_init_sets_up_a_folder_from_any_working_directory(project: tuple[Path, JSON]) -> None:
    folder, reply = project

    assert reply["written"] == ["lore.toml", INDEX]
    assert reply["groups"]["user_prps"] == 10
    assert reply["job"]["report"]["failed"] == []
    assert len(written(folder)["knowledge"]["user_prps"]) == 10


def test_init_reports_found_and_written_files_and_drift(project: tuple[Path, JSON]) -> None:
    folder, _ = project
    (folder / "ce/validate.py").rename(folder / "ce/moved.py")

    done = run_lore("init", "-C", str(folder), cwd=folder.parent)
    (folder / "ce/moved.py").rename(folder / "ce/validate.py")

    lines = [line for line in done.stdout.splitlines() if not line.startswith(("Wrote", "Kept"))]
    assert done.returncode == 0
    assert lines[:2] == [
        "Found: .ce, .ce/PRPs/system, .ce/examples/system, .ce/RULES.md, PRPs, examples, .serena/memories, CLAUDE.md.",
        "Missing: docs.",
    ]
    assert lines[2].startswith("Knowledge: 1 system patterns, 1 user patterns, 1 system prps, 10 user prps, 1 memor")
    assert lines[3].startswith("Drift: 1 (")
    assert lines[4] == "  PRP-1 names the implementation ce/validate.py, which does not exist."
    assert lines[5].startswith("17 files in ")
    assert '  lore search "' in done.stderr


def test_an_agent_gets_the_command_that_sets_up_another_project(project: tuple[Path, JSON], tmp_path: Path) -> None:
    folder, _ = project

    refused = through_stdio(folder, [("init_project", {"project_root": str(tmp_path)})])[0]

    assert refused["code"] == "INVALID_ARGUMENT"
    assert refused["hint"] == f"Omit it, or run `lore init {tmp_path}` in a shell."
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_is_reported_and_writes_nothing(tmp_path: Path) -> None:
    missing = run_lore("init", "no-such-folder", cwd=tmp_path)
    twice = run_lore("init", ".", "-C", ".", "--json", cwd=tmp_path)

    assert (missing.returncode, twice.returncode) == (2, 2)
    assert "There is no folder no-such-folder." in missing.stderr
    assert json.loads(twice.stdout)["message"] == "The project folder is given twice."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["/", "~"])
def test_the_root_and_the_home_folder_are_refused_without_force(tmp_path: Path, folder: str) -> None:
    done = run_lore("init", str(tmp_path) if folder == "~" else folder, cwd=tmp_path, HOME=str(tmp_path))

    assert done.returncode == 2
    assert "--force" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_sync_only_the_files_are_written(tmp_path: Path) -> None:
    write_project(tmp_path, framework(1))

    done = run_lore("init", "--no-sync", "--no-daemon", cwd=tmp_path)

    assert done.returncode == 0
    assert "Next: lore sync" in done.stdout
    assert set(map(len, written(tmp_path)["knowledge"].values())) == {0}


def test_init_returns_the_exit_code_of_a_failed_sync_with_its_report(tmp_path: Path) -> None:
    write_project(tmp_path, {"README.md": "# A\n", "lore.toml": '[embedding]\nmodel = "/no/such/model"\n'})
    approve(tmp_path)

    done = run_lore("init", "--no-daemon", cwd=tmp_path)

    assert done.returncode == 2
    assert "Kept: lore.toml." in done.stdout
    assert "CONFIG_ERROR" in done.stdout
