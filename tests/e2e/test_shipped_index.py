"""Use a cloned project with a crafted `.lore/`: no command touches anything outside the project."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from lore_etl.stores.owner_file import note_of
from tests.harness import http_client
from tests.harness.commands import PREPARED, run_lore
from tests.harness.interfaces import serving
from tests.harness.projects import write_project
from tests.harness.trying import often

CONTENT = "# what belongs to the user\n"
KEY = "x`touch pwned`\\n$(touch pwned)\\u001b[31m"
LINKS = {
    "owner.log": "file", "owner.log.1": "file", "owner.lock": "file", "catalogue.sqlite": "file", "token": "file",
    "embeddings.sqlite": "file", "chroma.log": "file", "chunks.jsonl.gz": "file", "keywords": "folder",
    "vectors-1": "folder", "index.id": "file", ".gitignore": "file", "chunks.jsonl.gz.1.tmp": "file",
}  # fmt: skip
COMMANDS = [
    ["sync"], ["search", "ferry"], ["ask", "ferry"], ["status"], ["docs"], ["doctor"], ["init"], ["ps"], ["stop"],
    ["sync", "--no-daemon"], ["search", "ferry", "--no-daemon"], ["hook", "session-start", "--status"], ["adopt"],
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home folder that no command may touch."""
    (tmp_path / "home" / "folder").mkdir(parents=True)
    for name in ("file", "folder/file"):
        (tmp_path / "home" / name).write_text(CONTENT)
    return tmp_path / "home"


def crafted(folder: Path, home: Path, has_crafted_key: bool) -> Path:
    """Return the project as git would check it out."""
    write_project(folder, {"docs/ferry.md": "# Ferry\n\nThe ferry crosses at dawn.\n"})
    (folder / ".lore").mkdir()
    for name, target in LINKS.items():
        (folder / ".lore" / name).symlink_to(home / target)
    note = {"pid": os.getpid(), "born": "", "command": "x", "since": "", "kind": "background"}
    stolen = {**note, "address": "tcp:192.0.2.1:80", "token": "t"}
    (folder / ".lore" / "owner.json").write_text(json.dumps(stolen))
    if has_crafted_key:
        (folder / "lore.toml").write_text(f'["{KEY}"]\n"{KEY}" = 1\n')
    return folder


def everything_in(folder: Path) -> dict[str, tuple[str, int]]:
    return {str(path): (path.read_text(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("has_crafted_key", often([True, False], {False}))
def test_no_command_touches_the_targets_of_symlinks(tmp_path: Path, home: Path, has_crafted_key: bool) -> None:
    project = crafted(tmp_path / "project", home, has_crafted_key)
    before = everything_in(home)

    for command in COMMANDS:
        run_lore(*command, "--json", cwd=project)
        assert everything_in(home) == before, command
    subprocess.run([PREPARED.lore(), "mcp"], cwd=project, input=b"", capture_output=True, timeout=120, check=False)

    assert everything_in(home) == before
    assert not list(tmp_path.rglob("pwned"))
    assert not (project / ".lore").is_symlink()


@pytest.mark.parametrize("target", often(["missing", "folder", "file", ".lore"], {"missing", ".lore"}))
def test_no_command_creates_or_renames_what_a_symlink_in_place_of_the_folder_leads_to(
    tmp_path: Path, home: Path, target: str
) -> None:
    write_project(home, {".lore/file": CONTENT})
    before = sorted(home.rglob("*"))

    for number, command in enumerate([["serve"], *COMMANDS]):
        project = write_project(tmp_path / str(number), {"docs/ferry.md": "# Ferry\n\nIt crosses at dawn.\n"})
        (project / ".lore").symlink_to(home / target)
        if command == ["serve"]:
            with serving(project) as url:
                assert http_client.get(f"{url}/livez").status_code == 200
        else:
            run_lore(*command, "--json", cwd=project)
        assert sorted(home.rglob("*")) == before, command


def test_a_sync_reports_the_folder_it_set_aside_and_the_search_then_works(tmp_path: Path, home: Path) -> None:
    project = crafted(tmp_path / "project", home, has_crafted_key=False)

    missing = json.loads(run_lore("search", "ferry", "--json", cwd=project).stdout)
    synced = run_lore("sync", cwd=project)
    found = json.loads(run_lore("search", "ferry", "--json", cwd=project).stdout)

    assert (missing["code"], ".lore/" in missing["hint"]) == ("INDEX_MISSING", True)
    assert "set aside as .lore.foreign/" in synced.stderr
    assert [result["source"] for result in found["results"]] == ["docs/ferry.md"]
    assert note_of(project / ".lore").exists()


def test_a_project_cannot_add_lines_to_the_log_of_the_owner(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", {"a.md": "# A\n", "lore.toml": f'["{KEY}"]\nx = 1\n'})

    done = run_lore("sync", cwd=project)

    assert done.returncode == 2
    log = (project / ".lore" / "owner.log").read_bytes()
    assert not any(sequence in log for sequence in (b"`", b"\x1b", b"\n$(touch"))
