"""Test the skill, the subagent and the hook that `lore install --skill` writes in the user's folder of a client."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lore_server.contract import load_contract
from lore_server.setup.clients import CLIENTS
from tests.harness.commands import LORE, SECONDS, run_lore

WITH_SKILLS = [client for client in CLIENTS.values() if client.own]
MOVED = {client.home[0]: "" for client in CLIENTS.values() if client.home[0]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = (tmp_path / "project").resolve()
    (folder / ".git").mkdir(parents=True)
    return folder


def variables(project: Path) -> dict[str, str]:
    return {"HOME": str(project.parent / "home"), "LORE_STATE": str(project.parent / "state"), **MOVED}


def lore(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_lore(*arguments, cwd=project, **variables(project))


def hook(project: Path, event: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LORE, "hook", "searched"], cwd=project, env={**os.environ, **variables(project)}, input=event,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def files(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    return {str(file.relative_to(home)): file.read_text() for file in home.rglob("*") if file.is_file()}


@pytest.mark.parametrize("client", WITH_SKILLS, ids=lambda client: client.name)
def test_everything_that_is_written_is_shown_and_removed(project: Path, client: Any) -> None:
    (project.parent / "home").mkdir()

    printed = lore(project, "install", client.name, "--skill", "--print")
    assert files(project) == {}
    done = lore(project, "install", client.name, "--skill")
    written = files(project)

    assert done.returncode == printed.returncode == 0
    skills = [text for name, text in written.items() if name.endswith("skills/lore/SKILL.md")]
    assert len(skills) == 1
    for text in skills:
        assert yaml.safe_load(text.split("---")[1])["name"] == "lore"
        assert text in done.stdout
        assert text in printed.stdout
    again = lore(project, "install", client.name, "--skill")
    assert "Wrote" not in again.stdout
    assert lore(project, "uninstall", client.name).returncode == 0
    left = {name: text for name, text in files(project).items() if json.loads(text) not in ({}, {client.key: {}})}
    assert left == {}


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("cursor", ".cursor/agents/lore-search.md"),
        ("gemini", ".gemini/agents/lore-search.md"),
        ("copilot", ".copilot/agents/lore-search.agent.md"),  # it loads only files with this ending
        ("opencode", ".config/opencode/agents/lore-search.md"),
    ],
)
def test_the_subagent_has_the_name_that_its_client_looks_for(project: Path, client: str, name: str) -> None:
    lore(project, "install", client, "--skill")

    found = {path: text for path, text in files(project).items() if "agents" in path}
    assert found.keys() == {name}
    assert yaml.safe_load(found[name].split("---")[1])["name"] == "lore-search"


def test_the_subagent_of_claude_code_has_tools_that_exist(project: Path) -> None:
    lore(project, "install", "claude-code", "--skill", "--name", "kb")
    agent = files(project)[".claude/agents/lore-search.md"]

    assert yaml.safe_load(agent.split("---")[1])["tools"] == "mcp__kb, Read, Grep, Glob"
    assert "`kb`" in agent
    assert "`lore`" not in agent.replace("`lore install`", "").replace("`lore uninstall`", "")
    assert all(tool in load_contract().operations for tool in ("query_documents", "get_source"))


def test_files_and_settings_of_the_user_are_kept(project: Path) -> None:
    home = project.parent / "home" / ".claude"
    (home / "agents").mkdir(parents=True)
    (home / "agents" / "lore-search.md").write_text("mine")
    settings = {"model": "opus", "hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": []}], "Stop": []}}
    (home / "settings.json").write_text(json.dumps(settings, indent=4))

    done = lore(project, "install", "claude-code", "--skill")

    assert (home / "agents" / "lore-search.md").read_text() == "mine"
    assert "add this by hand" in done.stderr
    new = json.loads((home / "settings.json").read_text())
    assert new["hooks"]["PostToolUse"][0] == settings["hooks"]["PostToolUse"][0]  # type: ignore[index]
    assert new["hooks"]["PostToolUse"][1]["hooks"][0]["command"].endswith(" hook searched")
    lore(project, "uninstall", "claude-code")
    assert (home / "settings.json").read_text() == json.dumps(settings, indent=4)
    assert (home / "agents" / "lore-search.md").read_text() == "mine"


@pytest.mark.parametrize("text", ['{\n  // mine\n  "model": "opus"\n}\n', '{"hooks": []}'])
def test_settings_that_cannot_be_edited_safely_are_left(project: Path, text: str) -> None:
    settings = project.parent / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(text)

    assert "hook searched" in lore(project, "install", "claude-code", "--skill").stdout
    assert settings.read_text() == text


def test_a_client_without_skills_is_refused_before_anything_is_written(project: Path) -> None:
    done = lore(project, "install", "zed", "--skill")

    assert done.returncode == 2
    assert "claude-code" in done.stderr
    assert not (project / ".zed").exists()


def searched(project: Path, **tool_input: str) -> str:
    return hook(project, json.dumps({"session_id": "s", "tool_input": tool_input})).stdout


def test_the_third_search_for_a_word_mentions_lore_once(project: Path) -> None:
    (project / "a.md").write_text("# Lighthouse\n\nIt warns ships.\n")
    assert lore(project, "sync", "--no-daemon").returncode == 0

    assert searched(project, pattern=r"class\s+RetryPolicy") == ""
    assert searched(project, command="git diff | cat && rg -n 'RetryPolicy|backoff' src | head") == ""
    reply = json.loads(searched(project, pattern="retrypolicy"))
    assert "`retrypolicy`" in reply["hookSpecificOutput"]["additionalContext"]
    assert searched(project, pattern="RetryPolicy") == ""


@pytest.mark.parametrize("event", ["", "[]", "{", '{"tool_input": 3}', '{"tool_input": {"command": "grep \\"a"}}'])
def test_a_hook_never_fails(project: Path, event: str) -> None:
    done = hook(project, event)

    assert (done.returncode, done.stdout) == (0, "")


def test_a_project_without_an_index_is_not_mentioned(project: Path) -> None:
    assert [searched(project, pattern="RetryPolicy") for _ in range(4)] == [""] * 4
