"""Test `lore trust` and the treatment of requested settings by other commands, with the real program."""

import json
import os
import pty
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.config.project import revoke_approval
from tests.harness.commands import LORE, SECONDS, run_lore
from tests.harness.projects import write_project
from tests.harness.trust import approve

ASKS = """
query.nResults = 50
server.host = "0.0.0.0"
index.path = "../elsewhere"
database.mode = "http"
database.host = "kb.example\\u001b]0;x\\u0007"
database.headers.X-Key = "env:CHROMA_API_KEY"
"""
KEYS = ["server.host", "index.path", "database.mode", "database.host", "database.headers"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    root = write_project(tmp_path.resolve() / "project", {"lore.toml": ASKS, "a.md": "# Alpha\n\nThe zebra.\n"})
    yield root
    revoke_approval(root)


def test_requested_settings_are_shown_with_their_reason_and_approved_once(project: Path) -> None:
    before = json.loads(run_lore("trust", "--show", "--json", cwd=project).stdout)
    shown = run_lore("trust", "--show", cwd=project)
    done = run_lore("trust", "--yes", cwd=project)
    again = json.loads(run_lore("trust", "--json", "--yes", cwd=project).stdout)
    withdrawn = json.loads(run_lore("trust", "--json", "--revoke", cwd=project).stdout)

    assert [setting["key"] for setting in before["settings"]] == KEYS
    assert all(setting["reason"] for setting in before["settings"])
    assert (before["approved"], before["changed"]) == (False, False)
    assert 'server.host = "0.0.0.0"' in shown.stdout
    assert "env:CHROMA_API_KEY" in shown.stdout
    assert "\x1b" not in shown.stdout + done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Approved.")
    assert (again["approved"], again["changed"]) == (True, False)
    assert (withdrawn["approved"], withdrawn["changed"]) == (False, True)


def test_nothing_is_approved_without_a_terminal(project: Path) -> None:
    done = run_lore("trust", cwd=project)

    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not revoke_approval(project)


@pytest.mark.parametrize(("answer", "code", "is_approved"), [("y", 0, True), ("n", 1, False), ("", 1, False)])
def test_trust_asks_for_confirmation_on_a_terminal(project: Path, answer: str, code: int, is_approved: bool) -> None:
    ours, theirs = pty.openpty()
    with open(ours, "wb", buffering=0) as terminal:
        command = subprocess.Popen(
            [LORE, "trust"], cwd=project, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        os.close(theirs)
        terminal.write(f"{answer}\n".encode())
        command.communicate(timeout=SECONDS)

    assert command.returncode == code
    assert revoke_approval(project) is is_approved


def test_a_project_without_requests_needs_no_approval(tmp_path: Path) -> None:
    write_project(tmp_path, {"lore.toml": "[query]\nnResults = 50\n"})

    done = run_lore("trust", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "lore.toml contains no settings that need your approval.\n")


@pytest.mark.parametrize("line", ["status", "search zebra", "sync", "mcp", "hook session-start -n"])
def test_every_command_names_the_settings_it_ignores(project: Path, line: str) -> None:
    done = run_lore(*line.split(), cwd=project)

    warnings = [line for line in done.stderr.splitlines() if "only you can allow" in line]
    assert len(warnings) == 1
    assert all(key in warnings[0] for key in KEYS)
    assert "query.nResults" not in warnings[0]
    assert not (project.parent / "elsewhere").exists()


def test_doctor_names_ignored_settings_and_the_remedy(project: Path) -> None:
    report = json.loads(run_lore("doctor", "--json", cwd=project).stdout)
    found = next(check for check in report["checks"] if check["name"] == "configuration")

    assert found["status"] == "warn"
    assert "database.host" in found["detail"]
    assert "lore trust" in found["remedy"]


def test_an_approval_applies_from_the_next_command_until_it_is_revoked(tmp_path: Path) -> None:
    root = write_project(tmp_path.resolve() / "p", {"lore.toml": 'index.path = "../out"\n', "a.md": "# A\n\nZebra.\n"})

    run_lore("sync", cwd=root)
    assert (root / ".lore").is_dir()
    assert not (tmp_path / "out").exists()
    approve(root)
    run_lore("sync", cwd=root)
    assert (tmp_path / "out").is_dir()
    run_lore("trust", "--revoke", cwd=root)
    assert "only you can allow" in run_lore("search", "zebra", cwd=root).stderr


@pytest.mark.parametrize("mode", ["http", "cloud"])
def test_a_project_alone_makes_no_connection_and_uses_no_secret(tmp_path: Path, mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config = f'[database]\nmode = "{mode}"\nhost = "127.0.0.1"\nport = {port}\nssl = false\n'
        write_project(tmp_path, {"lore.toml": config, "a.md": "# Alpha\n\nThe zebra.\n"})

        done = run_lore("sync", cwd=tmp_path, CHROMA_API_KEY="secret-of-mine")

        assert done.returncode == 0
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
