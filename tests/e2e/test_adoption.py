"""Adopt knowledge with `lore knowledge adopt`: it is shown first and used only after a confirmation."""

import json
from pathlib import Path

import pytest

from tests.harness.commands import run_lore
from tests.harness.knowledge import assert_sound, git
from tests.harness.projects import write_project

pytestmark = pytest.mark.later

REMOTE = "git@example.org:finance/backend.git"


def clone(folder: Path) -> Path:
    """Create a project whose git remote is the one in question."""
    root = write_project(folder, {"README.md": "# Queue\n"})
    git(root, "init", "-q")
    git(root, "remote", "add", "origin", REMOTE)
    return root


def test_knowledge_is_shown_and_used_only_after_a_confirmation(tmp_path: Path, home: Path) -> None:
    def lore(root: Path, *arguments: str) -> tuple[int, str, str]:
        done = run_lore(*arguments, cwd=root, LORE_HOME=str(home))
        return done.returncode, done.stdout, done.stderr

    ours, other = clone(tmp_path / "work" / "backend"), clone(tmp_path / "other" / "backend")
    assert lore(ours, "call", "update_project_main", "content=Use tabs.")[0] == 0
    assert lore(ours, "knowledge", "adopt")[0] == 1

    code, output, notes = lore(other, "knowledge", "get")
    assert (code, "Use tabs." in output) == (0, False)
    assert "lore knowledge adopt" in notes
    assert lore(other, "knowledge", "get", "-p", "backend")[0] == 2

    code, output, notes = lore(other, "knowledge", "adopt")
    assert (code, output) == (0, "Nothing was changed: confirm with --yes.\n")
    assert "`backend` (example.org/finance/backend): 0 documents, 0 memories, a main document" in notes
    assert str(ours.resolve()) in notes
    proposal = json.loads(lore(other, "knowledge", "adopt", "--json")[1])
    assert (proposal["adopt"]["project_id"], proposal["adopted"]) == ("backend", False)
    assert "Use tabs." not in lore(other, "knowledge", "get")[1]

    assert lore(other, "sync")[0] == 0
    code, output, _ = lore(other, "knowledge", "adopt", "--yes")
    assert (code, output.splitlines()[-1]) == (0, f"`{other.resolve()}` now uses `backend`.")
    assert lore(other, "knowledge", "get")[1] == "Use tabs.\n"
    assert "Use tabs." in lore(other, "search", "tabs")[1]
    assert lore(other, "knowledge", "adopt", "nobody")[0] == 1
    assert_sound(home)
