"""The entry written into a client's file, and the checks of the machine."""

import sys
from pathlib import Path

import pytest

from lore_etl.core.errors import InvalidArgument
from lore_server.setup import clients
from lore_server.setup.clients import CLIENTS, Client, EntryRequest, build, client_named, command_line
from tests.harness.commands import LORE
from tests.harness.projects import ROOT

PAGE = (ROOT / "docs" / "clients.md").read_text()


@pytest.fixture(autouse=True)
def started_as_lore(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", [LORE])
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("VIRTUAL_ENV", *(client.home[0] for client in CLIENTS.values() if client.home[0])):
        monkeypatch.delenv(name, raising=False)


def project(folder: Path) -> Path:
    (folder / "p" / ".git").mkdir(parents=True)
    return folder / "p"


def put_on_path(folder: Path) -> Path:
    (folder / "bin").mkdir()
    (folder / "bin" / "lore").symlink_to(LORE)
    return folder / "bin"


def test_a_shared_file_contains_no_machine_specific_path_if_lore_is_on_path(tmp_path: Path) -> None:
    put_on_path(tmp_path)

    for client in (client for client in CLIENTS.values() if client.project_file):
        program_, *arguments = command_line(build(EntryRequest(client, project(tmp_path / client.name))).value)
        assert program_ == "lore"
        assert not any(argument.startswith("/") for argument in arguments)


def test_an_activated_environment_does_not_count_as_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(tmp_path)
    assert clients.is_on_path()

    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    assert not clients.is_on_path()


def test_a_machine_specific_path_is_written_with_a_warning(tmp_path: Path) -> None:
    entry = build(EntryRequest(CLIENTS["claude-code"], project(tmp_path)))

    assert entry.value == {"alwaysLoad": True, "command": LORE, "args": ["mcp", "-C", "${CLAUDE_PROJECT_DIR:-.}"]}
    assert "a path on this machine" in entry.notes[0]


def test_the_tools_are_loaded_at_the_start_where_a_client_would_search_for_them(tmp_path: Path) -> None:
    root = project(tmp_path)
    entries = {name: build(EntryRequest(client, root, True)).value for name, client in CLIENTS.items()}

    assert entries["claude-code"]["alwaysLoad"] is True
    assert entries["copilot"].items() >= {"type": "stdio", "tools": ["*"], "deferTools": "never"}.items()
    assert {name for name, entry in entries.items() if entry.keys() & {"alwaysLoad", "deferTools"}} == {
        "claude-code", "copilot",
    }  # fmt: skip


def test_a_program_inside_the_project_is_written_as_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = project(tmp_path) / ".venv" / "bin" / "lore"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(own)])

    entry = build(EntryRequest(CLIENTS["vscode"], tmp_path / "p", config=tmp_path / "p" / "over.toml"))

    assert entry.value == {
        "type": "stdio",
        "command": "${workspaceFolder}/.venv/bin/lore",
        "args": ["mcp", "-C", "${workspaceFolder}", "-c", "${workspaceFolder}/over.toml"],
    }


def test_the_users_file_applies_to_the_open_project_unless_a_project_is_named(tmp_path: Path) -> None:
    root = project(tmp_path)

    def arguments(client: Client, is_fixed: bool) -> list[str]:
        return command_line(build(EntryRequest(client, root, True, is_fixed)).value)[1:]

    free = {name: arguments(client, is_fixed=False) for name, client in CLIENTS.items()}
    named = {name: arguments(client, is_fixed=True) for name, client in CLIENTS.items()}

    here = ["mcp"]
    alone = ["mcp", "-C", str(root)]  # these clients have no open folder there
    assert free == {
        "claude-code": ["mcp"],
        "cursor": ["mcp", "-C", "${workspaceFolder}"],
        **dict.fromkeys(("gemini", "codex", "copilot", "zed", "opencode"), here),
        **dict.fromkeys(("vscode", "claude-desktop", "windsurf", "cline", "jetbrains"), alone),
    }
    assert all(found == alone for found in named.values())


def test_a_folder_that_lore_would_not_detect_is_named_explicitly(tmp_path: Path) -> None:
    below = project(tmp_path) / "packages" / "one"
    below.mkdir(parents=True)

    assert build(EntryRequest(CLIENTS["codex"], tmp_path / "p")).value["args"] == ["mcp"]
    assert build(EntryRequest(CLIENTS["codex"], below)).value["args"] == ["mcp", "-C", "."]


def test_the_files_of_each_client_follow_its_environment_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    assert CLIENTS["claude-code"].file(tmp_path, is_user=True) == home / ".claude.json"
    assert CLIENTS["codex"].file(tmp_path, is_user=True) == home / ".codex" / "config.toml"

    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    assert CLIENTS["codex"].file(tmp_path, is_user=True) == tmp_path / "elsewhere" / "config.toml"


def test_an_unknown_client_is_reported_with_the_known_clients_and_both_commands_are_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()

    with pytest.raises(InvalidArgument) as caught:
        client_named("emacs")
    assert all(name in caught.value.hint for name in CLIENTS)
    assert "`lore install" in page
    assert "`lore doctor" in page


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_every_client_is_documented_with_its_files(client: object) -> None:
    described = client_named(getattr(client, "name", ""))

    assert f"lore install {described.name}" in PAGE
    assert described.project_file is None or f"`{described.project_file}`" in PAGE
    assert f"/{described.home[2]}`" in PAGE
    assert described.root is None or f'"{described.root}"' in PAGE
