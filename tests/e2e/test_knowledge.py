"""Test knowledge with the whole program: two homes, two agents, the command line, HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import http_client
from tests.harness.agent import agent
from tests.harness.commands import run_lore
from tests.harness.interfaces import bearer, serving
from tests.harness.knowledge import assert_sound, git, seed_store
from tests.harness.owners import owner_of, wait_until
from tests.harness.projects import write_project

if TYPE_CHECKING:  # it takes a second to import, in every worker
    pass

JSON = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "some-app", {"README.md": "# App\n"})


@pytest.mark.requirement("KB-076")
def test_the_folder_of_the_earlier_server_is_found_by_its_variable_and_kept_unchanged(
    project: Path, home: Path
) -> None:
    seed_store(home)
    files = {path: path.read_bytes() for path in (home / "projects").rglob("*.md")}
    with agent(project, Path(), LORE_HOME="", KNOWLEDGE_MCP_HOME=str(home)) as me:
        assert me.call("get_server_info")["storage_path"] == str(home)
        document = me.call("get_knowledge_file", project_id="My App", filename="api-guide.md")["document"]
        assert me.call("get_storage_status")["current_branch"] == "master"

    assert document["metadata"]["updated"] == "2024-01-01T12:00:00.000Z"
    assert {path: path.read_bytes() for path in files} == files
    assert "create_knowledge_file" in (home / "activity.log").read_text().splitlines()[0]


def test_knowledge_in_two_homes_is_kept_apart_for_the_same_project(project: Path, tmp_path: Path) -> None:
    with agent(project, tmp_path / "one") as me:
        me.call("update_project_main", content="one")
        first = owner_of(project)
    with agent(project, tmp_path / "two") as me:
        me.call("update_project_main", content="two")
        assert owner_of(project).pid != first.pid
    with agent(project, tmp_path / "one") as me:
        assert me.call("get_project_main")["content"] == "one"


def test_two_agents_share_documents_and_the_history_names_the_client(project: Path, home: Path) -> None:
    with agent(project, home) as first, agent(project, home) as second:
        version = first.call("update_project_main", content="of one")["version"]
        assert second.call("get_project_main") == {
            **second.call("get_project_main"),
            "content": "of one",
            "version": version,
        }
        second.call("update_project_main", content="of two", expected_version=version, author="two", session="s")
        conflict = first.fail("update_project_main", content="of first again", expected_version=version)
        history = first.call("get_knowledge_history", main=True)["commits"]

    assert conflict["code"] == "CONFLICT"
    assert (history[0]["author"], history[0]["session"]) == ("two", "s")
    assert history[1]["author"] == "mcp"
    assert_sound(home)


def test_an_agent_finds_documents_of_another_agent_by_searching_the_project(project: Path, home: Path) -> None:
    with agent(project, home, "query,manage,projects") as first, agent(project, home, "query") as second:
        first.call("manage_knowledge_base", action="sync", wait_seconds=600)
        chapters = [{"title": "Retries", "content": "Back off when the lighthouse does not answer."}]
        first.call("create_knowledge_file", filename="retries", title="Retry policy", chapters=chapters)

        def found() -> list[str]:
            return [row["source"] for row in second.call("query_documents", query="lighthouse answer")["results"]]

        wait_until(lambda: found()[:1] == ["@lore/knowledge/retries.md"])
        document = next((home / "projects").rglob("retries.md"))
        document.write_text(document.read_text() + "\nAsk the gulls.\n", encoding="utf-8")
        wait_until(lambda: "gulls" in str(second.call("query_documents", query="ask the gulls")["results"][:1]))

        first.call("delete_knowledge_file", filename="retries")
        wait_until(lambda: "@lore/knowledge/retries.md" not in found())


def test_the_tools_have_accurate_hints_and_are_offered_only_on_request(project: Path, home: Path) -> None:
    with agent(project, home) as me:
        tools = me.tools()

    assert len(tools) == 24
    assert all(tool.title and tool.description for tool in tools.values())
    assert tools["get_knowledge_file"].annotations.read_only_hint is True
    assert tools["delete_project"].annotations.destructive_hint is True
    assert tools["create_knowledge_file"].annotations.destructive_hint is False
    assert tools["update_chapter"].annotations.idempotent_hint is False
    assert tools["sync_storage"].annotations.idempotent_hint is True
    assert tools["save_answer"].annotations.destructive_hint is False


# --- the shell -------------------------------------------------------------------------------------------------------


def shell(project: Path, home: Path, *arguments: str) -> tuple[str, str, int]:
    done = run_lore("knowledge", *arguments, cwd=project, LORE_HOME=str(home))
    return done.stdout, done.stderr, done.returncode


def test_the_command_line_lists_reads_compares_and_reverts(project: Path, home: Path) -> None:
    def write(content: str) -> str:
        arguments = json.dumps({"content": content, "author": "ann"})
        done = run_lore("call", "update_project_main", "--json-args", arguments, cwd=project, LORE_HOME=str(home))
        return str(json.loads(done.stdout)["commit"])

    first, second = write("# One\n"), write("# Two\n")

    assert shell(project, home, "get")[0] == "# Two\n"
    assert shell(project, home, "get", "--at", first)[0] == "# One\n"
    assert shell(project, home, "list", "--all")[0] == "some-app\n"
    log = shell(project, home, "log")[0].splitlines()
    assert [line.split("  ")[0] for line in log] == [second[:10], first[:10]]
    assert "ann  Update knowledge for some-app: Updated main.md" in log[0]
    assert "+# Two" in shell(project, home, "show", second)[0]
    assert "-# One\n+# Two" in shell(project, home, "diff", first, "--main")[0]
    assert shell(project, home, "diff", first, first)[0] == "No such commits or changes.\n"
    assert shell(project, home, "revert", second[:12])[2] == 0
    assert shell(project, home, "get")[0] == "# One\n"
    assert git(home, "log", "-1", "--format=%s").startswith("Revert ")
    listed = json.loads(shell(project, home, "log", "-n", "1", "--json")[0])
    assert listed["commits"][0]["message"].startswith("Revert ")
    assert_sound(home)


def test_the_command_line_reports_errors(project: Path, home: Path) -> None:
    out, errors, code = shell(project, home, "show", "abc")
    wrong = json.loads(shell(project, home, "get", "nope", "--json")[0])

    assert (out, code) == ("", 1)
    assert errors.startswith("There is no commit `abc`.")
    assert (wrong["code"], wrong["success"]) == ("PROJECT_NOT_FOUND", False)
    assert not home.exists()


# --- HTTP ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def url(project: Path, home: Path) -> Iterator[str]:
    with serving(project, LORE_HOME=str(home)) as url:
        yield url


def test_writing_over_http_requires_the_token_and_errors_have_the_common_format(project: Path, url: str) -> None:
    without = http_client.post(f"{url}/api/projects/main", json={"content": "x"})
    wrong = http_client.get(f"{url}/api/projects/chapter", params={"filename": "x", "chapter_index": "first"})
    done = http_client.post(f"{url}/api/projects/main", json={"content": "x" * 3_000_000}, headers=bearer(project))
    read = http_client.get(f"{url}/api/projects/main", params={"project_id": "some-app"})

    assert (without.status_code, without.json()["code"], without.json()["success"]) == (401, "TOKEN_REQUIRED", False)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "INVALID_INPUT")
    assert wrong.json()["context"]["filename"] == "x"
    assert (done.status_code, len(read.json()["content"])) == (200, 3_000_000)
