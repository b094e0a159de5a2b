"""Test that Lore never runs code of a project, whatever its names and the values of `PYTHONPATH` and `PATH`."""

import os
from pathlib import Path

import pytest

from tests.harness.commands import LORE, start_lore
from tests.harness.evaluation import commit
from tests.harness.owners import stop_owners
from tests.harness.projects import ROOT, write_project
from tests.harness.stdio import StdioClient
from tests.harness.trying import is_long

pytestmark = pytest.mark.later

NAMES = [
    "server/__init__.py", "etl/__init__.py", "mcp/__init__.py", "lore_etl.py", "chromadb.py", "yaml.py", "typer.py",
    "pathlib.py", "json/__init__.py", "__future__.py",
]  # fmt: skip
FURTHER = [["doctor"], ["hook", "session-start"], ["stop"]] if is_long() else []
COMMANDS = [["sync"], ["search", "lighthouse"], *FURTHER, ["search", "lighthouse", "--no-daemon"]]
"""Commands that start every kind of process; the long run also starts some that do the same before their work."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in NAMES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r} + chr(10))\nraise ImportError({name!r})\n",
            encoding="utf-8",
        )
    (root / "guide.md").write_text("# Lighthouse\n\nThe lighthouse warns ships of the rocks.\n", encoding="utf-8")
    return root


def test_a_projects_modules_are_never_imported(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "site-packages").symlink_to(project, target_is_directory=True)
    folders = [".", str(project), str(project / "site-packages")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))

    done = {" ".join(command): start_lore(*command, cwd=project) for command in COMMANDS}
    with StdioClient(project, program=[LORE]) as client:
        reply = client.call("query_documents", query="lighthouse")
    stop_owners(project)

    imported = tmp_path / "imported"
    assert not imported.exists(), imported.read_text(encoding="utf-8")
    assert done["sync"].returncode == 0, done["sync"].stderr
    assert all("guide.md" in done[name].stdout for name in ("search lighthouse", "search lighthouse --no-daemon"))
    assert "guide.md" in str(reply)


@pytest.mark.parametrize("folders", [".", "./bin:"])
def test_a_projects_programs_are_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: str) -> None:
    project = write_project(tmp_path / "project", {"guide.md": "# Lighthouse\n\nIt warns ships of the rocks.\n"})
    commit(project, "Add the lighthouse")
    for path in ("git", "less", "bin/git", "bin/less"):
        write_project(project, {path: f"#!/bin/sh\necho {path} >> {tmp_path / 'run'}\n"})
        (project / path).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([folders, os.environ["PATH"]]))

    start_lore("sync", cwd=project)
    why = [start_lore("why", "guide.md", *options, cwd=project) for options in ((), ("--no-daemon",))]
    stop_owners(project)

    assert ["Add the lighthouse" in done.stdout for done in why] == [True, True]
    assert not (tmp_path / "run").exists(), (tmp_path / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["server", "etl"])
def test_an_editable_install_works_inside_the_folders_of_its_own_packages(folder: str) -> None:
    done = start_lore("-h", cwd=ROOT / folder)

    assert done.returncode == 0, done.stderr
    assert "Usage: lore" in done.stdout
