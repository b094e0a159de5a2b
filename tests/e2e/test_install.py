"""Test `lore install`, which adds an entry to the client's file or reports why it cannot."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from lore_server.setup.clients import CLIENTS, command_line
from tests.harness.commands import SECONDS, run_lore

pytestmark = pytest.mark.later

LORE_TOML = '[mcp_servers.lore]\ncommand = "lore"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = (tmp_path / "project").resolve()
    (folder / ".git").mkdir(parents=True)
    return folder


def install(project: Path, *arguments: str, command: str = "install") -> subprocess.CompletedProcess[str]:
    moved = {client.home[0]: "" for client in CLIENTS.values() if client.home[0]}
    return run_lore(command, *arguments, cwd=project, HOME=str(project.parent / "home"), **moved)


def load(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
@pytest.mark.parametrize("where", [(), ("--user",)], ids=["project", "user"])
def test_an_entry_is_added_to_a_client_only_once(project: Path, client: Any, where: tuple[str, ...]) -> None:
    first, second = install(project, client.name, *where), install(project, client.name, *where)
    is_user = where or not client.project_file
    folder = project.parent / "home" / client.home[1] if is_user else project
    file = folder / (client.home[2] if is_user else client.project_file)

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.startswith("Wrote ")
    assert "already configured" in second.stdout
    entry = load(file)[client.key]["lore"]
    command, argument, *_ = command_line(entry)
    assert command.endswith("lore")
    assert argument == "mcp"
    assert entry.get("type") == client.extra.get("type")


def test_the_installed_command_answers_from_the_projects_folder(project: Path) -> None:
    install(project, "gemini")
    entry = load(project / ".gemini" / "settings.json")["mcpServers"]["lore"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    done = subprocess.run(
        [entry["command"], *entry["args"]], cwd=project, capture_output=True, text=True, timeout=SECONDS, check=False,
        input=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n",
    )  # fmt: skip

    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "lore"


def test_existing_content_of_a_file_is_kept(project: Path) -> None:
    file = project / ".vscode" / "mcp.json"
    file.parent.mkdir()
    before = '\ufeff{\r\n    "servers": {\r\n        "x": {\r\n            "command": "y"\r\n        },'
    file.write_bytes(f'{before[:-1]}\r\n    }},\r\n    "a": []\r\n}}'.encode())

    assert install(project, "vscode").returncode == 0

    written = file.read_bytes().decode()
    assert written.startswith(f'{before}\r\n        "lore": {{')
    assert written.endswith('\r\n    },\r\n    "a": []\r\n}')


def test_a_file_with_comments_is_left_unchanged_and_the_entry_is_printed(project: Path) -> None:
    file = project / ".vscode" / "mcp.json"
    file.parent.mkdir()
    text = '{\n  // ours\n  "servers": {}\n}\n'
    file.write_text(text)

    done = install(project, "vscode")

    assert done.returncode == 1
    assert file.read_text() == text
    first, second, *entry = done.stdout.splitlines()
    assert first == ".vscode/mcp.json has comments or an unusual format; nothing was written."
    assert second == "Add this to it by hand:"
    assert list(json.loads("\n".join(entry))["servers"]) == ["lore"]
    file.write_text("// ours\n" + "\n".join(entry))
    assert "already configured" in install(project, "vscode").stdout
    removed = install(project, "vscode", command="uninstall")
    assert removed.returncode == 1
    assert "Remove `lore` from it by hand." in removed.stdout


def test_a_different_entry_with_the_same_name_is_shown_and_not_overwritten(project: Path) -> None:
    (project / ".mcp.json").write_text('{"mcpServers": {"lore": {"command": "something-else"}}}')

    done = install(project, "claude-code")

    assert done.returncode == 1
    assert "something-else" in done.stdout
    assert "${CLAUDE_PROJECT_DIR:-.}" in done.stdout
    assert "--name" in done.stderr
    assert (project / ".mcp.json").read_text() == '{"mcpServers": {"lore": {"command": "something-else"}}}'
    assert install(project, "claude-code", "--name", "lore-2").returncode == 0
    assert list(load(project / ".mcp.json")["mcpServers"]) == ["lore", "lore-2"]


def test_printing_writes_no_file_and_prints_only_the_entry(project: Path) -> None:
    for name, client in CLIENTS.items():
        done = install(project, name, "--print")
        data = tomllib.loads(done.stdout) if client.form == "toml" else json.loads(done.stdout)
        assert list(data[client.key]) == ["lore"]

    assert [entry.name for entry in project.iterdir()] == [".git"]
    assert not (project.parent / "home").exists()


def test_the_outcome_is_json_if_json_was_requested(project: Path) -> None:
    done = install(project, "cursor", "--json")

    record = json.loads(done.stdout)
    assert (record["status"], record["file"], record["name"]) == ("added", ".cursor/mcp.json", "lore")
    assert record["entry"]["args"] == ["mcp", "-C", "${workspaceFolder}"]
    assert record["entry"] == load(project / ".cursor" / "mcp.json")["mcpServers"]["lore"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["emacs"], "claude-code"),
        (["cursor", "--name", "a b"], "letters"),
        (["cursor", "--name", ""], "letters"),
        (["cursor", "--toolsets", "query,nothing"], "Toolsets: "),
        (["-C", "/no/such/folder", "cursor"], "no folder"),
    ],
)
def test_a_usage_error_is_reported_with_exit_code_2(project: Path, arguments: list[str], expected: str) -> None:
    done = install(project, *arguments)

    assert done.returncode == 2
    assert expected in done.stderr
    assert [entry.name for entry in project.iterdir()] == [".git"]


def test_the_chosen_toolsets_and_configuration_are_part_of_the_command(project: Path) -> None:
    (project / "over.toml").write_text("")

    assert install(project, "cursor", "--toolsets", "query", "-c", "over.toml").returncode == 0

    assert load(project / ".cursor" / "mcp.json")["mcpServers"]["lore"]["args"] == [
        "mcp", "-C", "${workspaceFolder}", "-c", "${workspaceFolder}/over.toml", "--toolsets", "query",
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"{", b"\xff\xff", b'{"mcpServers": 1}'])
def test_a_file_that_cannot_be_parsed_is_named_and_left_unchanged(project: Path, content: bytes) -> None:
    (project / ".mcp.json").write_bytes(content)

    done = install(project, "claude-code")

    assert done.returncode == 2
    assert ".mcp.json" in done.stderr
    assert (project / ".mcp.json").read_bytes() == content


@pytest.mark.parametrize("client", ["claude-code", "codex", "windsurf"])
def test_uninstall_removes_the_entry_and_the_instructions(project: Path, client: str) -> None:
    guide = project / CLIENTS[client].instructions
    guide.write_text("# Ours\n")
    assert install(project, client, "--instructions").returncode == 0
    assert guide.read_text().startswith("# Ours\n\n<!-- lore:start -->\n")

    removed, again = (install(project, client, command="uninstall") for _ in range(2))

    assert removed.stdout.startswith("Removed `lore` from ")
    assert guide.read_text() == "# Ours\n"
    assert (removed.returncode, again.returncode) == (0, 1)
    assert "has no `lore`" in again.stdout


PROJECT_CLIENTS = [client for client in CLIENTS.values() if client.project_file]


@pytest.mark.parametrize("client", [CLIENTS["claude-code"], CLIENTS["codex"]], ids=lambda client: client.name)
@pytest.mark.parametrize(("command", "where"), [("install", "inside"), ("uninstall", "inside"), ("install", "outside")])
def test_client_files_that_are_links_or_fifos_are_neither_read_nor_written(
    project: Path, client: Any, command: str, where: str
) -> None:
    elsewhere = project.parent / "outside" if where == "outside" else project / ".git" / "hooks"
    elsewhere.mkdir()
    file = project / client.project_file
    mine = elsewhere / file.name
    mine.write_text(LORE_TOML if client.form == "toml" else json.dumps({client.key: {"lore": {"command": "lore"}}}))
    before = mine.read_text(), mine.stat()
    for level in ("symlink", "symlink to a symlink", "hard link", "folder", "fifo"):
        if level == "folder" and file.parent == project:
            continue
        link_to(mine, file, level)

        done = install(project, client.name, command=command)

        assert (level, done.returncode) == (level, 2)
        assert "left unchanged" in done.stderr
        assert mine.read_text() == before[0]
        assert (mine.stat().st_ino, mine.stat().st_mtime_ns) == (before[1].st_ino, before[1].st_mtime_ns)
        assert {entry.name for entry in elsewhere.iterdir()} == {mine.name, *(["link"] if "to a" in level else [])}
        remove(file, project)
        (elsewhere / "link").unlink(missing_ok=True)


def link_to(mine: Path, file: Path, level: str) -> None:
    """Make the client's file lead to another file, or make it a FIFO."""
    if level == "folder":
        file.parent.symlink_to(mine.parent)
        return
    file.parent.mkdir(exist_ok=True)
    if level == "fifo":
        os.mkfifo(file)
    elif level == "hard link":
        file.hardlink_to(mine)
    elif level == "symlink":
        file.symlink_to(mine)
    else:
        (mine.parent / "link").symlink_to(mine)
        file.symlink_to(mine.parent / "link")


def remove(file: Path, project: Path) -> None:
    if file.parent.is_symlink():
        file.parent.unlink()
        return
    file.unlink()
    if file.parent != project:
        file.parent.rmdir()


def test_instructions_are_written_through_a_link_only_to_other_instructions(project: Path) -> None:
    hook = project / ".git" / "hook"
    hook.write_text("#!/bin/sh\n")
    (project / "AGENTS.md").symlink_to(hook)
    refused = install(project, "cursor", "--instructions")
    (project / "AGENTS.md").unlink()
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    written = install(project, "claude-code", "--instructions")

    assert (refused.returncode, hook.read_text()) == (2, "#!/bin/sh\n")
    assert written.returncode == 0
    assert (project / "CLAUDE.md").is_symlink()
    assert "query_documents" in (project / "AGENTS.md").read_text()


def test_a_file_of_the_project_keeps_its_permissions(project: Path) -> None:
    (project / ".mcp.json").write_text("{}")
    (project / ".mcp.json").chmod(0o660)

    assert install(project, "claude-code").returncode == 0
    assert (project / ".mcp.json").stat().st_mode & 0o777 == 0o660


EXTRA = {"env": {"PYTHONPATH": "x"}, "cwd": "x", "envFile": "x", "headers": {}, "environment": {}, "autoApprove": ["*"]}


@pytest.mark.parametrize("client", PROJECT_CLIENTS, ids=lambda client: client.name)
def test_an_entry_of_a_project_with_additional_keys_is_shown_and_not_approved(project: Path, client: Any) -> None:
    assert install(project, client.name).returncode == 0
    file = project / client.project_file
    own = load(file)[client.key]["lore"]
    command = "command" if client.has_argument_list else "args"
    every = {**EXTRA, command: [*own[command], "-c", "evil.toml"]}
    for more in [{key: value} for key, value in every.items()] if client.name == "claude-code" else [EXTRA]:
        changed = {client.key: {"lore": {**own, **more}}}
        file.write_text(tomlkit.dumps(changed) if client.form == "toml" else json.dumps(changed))
        before = file.read_bytes()

        done = install(project, client.name, "--json")

        record = json.loads(done.stdout)
        assert (more, done.returncode, record["status"]) == (more, 1, "different")
        assert record["existing"] == changed[client.key]["lore"]
        assert file.read_bytes() == before


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_an_entry_of_the_user_may_have_additional_keys(project: Path, client: Any) -> None:
    assert install(project, client.name, "--user").returncode == 0
    file = project.parent / "home" / client.home[1] / client.home[2]
    entries = load(file)
    entries[client.key]["lore"]["env"] = {"GEMINI_API_KEY": "x"}
    file.write_text(tomlkit.dumps(entries) if client.form == "toml" else json.dumps(entries))

    assert "already configured" in install(project, client.name, "--user").stdout
