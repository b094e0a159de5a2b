"""One server for many projects: each at its own path, one question over all, and those that fail are named."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client as McpClient
from mcp.client.stdio import stdio_client

from lore_etl.config.project import user_state_folder
from lore_etl.stores.owner_file import SERVE_MANY
from lore_server.operations.table import render
from tests.harness import http_client
from tests.harness.commands import as_lore, run_lore, synced_project
from tests.harness.interfaces import mcp_over_http, serving
from tests.harness.owners import owner_of, stop_owners, wait_until
from tests.harness.projects import write_project

PROJECTS = {
    "a/app": {"README.md": "# Ferry\n\nThe ferry crosses the harbour at noon, and carries cars.\n"},
    "b/app": {
        "README.md": "# Bakery\n\nThe bakery sells rye bread, baked in an oven of stone.\n",
        "oven.py": "class Oven:\n    pass\n\n\nclass ZephyrineOven(Oven):\n    pass\n",
    },
    "galley": {
        "kitchen.py": "from oven import ZephyrineOven\n\n\ndef cook():\n    return ZephyrineOven()\n",
        "own.py": "class Oven:\n    pass\n",
        "hull.py": "from own import Oven\n\n\ndef hull():\n    return Oven()\n",
        "web.py": "from iron import ZephyrineOven\n\n\ndef page():\n    return ZephyrineOven()\n",
    },
    "lib": {"docs/tide.md": "# Tides\n\nThe harbour is closed at low tide, and no ferry may enter.\n"},
}
HARBOUR = "when is the harbour closed for the ferry"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three indexed projects, one whose configuration is broken, one that is missing, and their list."""
    folder = tmp_path_factory.mktemp("team")
    for name, files in PROJECTS.items():
        synced_project(folder / name, {"lore.toml": "", **files})
    write_project(folder, {"broken/lore.toml": "[index\n"})
    (folder / "list").write_text("\n".join([*PROJECTS, "broken", "gone"]), encoding="utf-8")
    stop_owners(folder)
    return folder


@pytest.fixture(scope="module")
def url(team: Path) -> Iterator[str]:
    with serving(team, more=["--projects", team / "list"]) as address:
        yield address


def search(url: str, path: str, query: str = HARBOUR, **more: object) -> dict[str, Any]:
    reply = http_client.post(f"{url}{path}/api/documents/query", json={"query": query, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def token() -> dict[str, str]:
    return {"Authorization": f"Bearer {(user_state_folder() / 'token').read_text(encoding='ascii').strip()}"}


def test_each_project_answers_at_its_own_path_without_the_documents_of_others(url: str) -> None:
    assert [one["source"] for one in search(url, "/projects/a.app")["results"]] == ["README.md"]
    assert "bread" in search(url, "/projects/b.app", "bread")["results"][0]["excerpt"]
    assert all("project" not in one for one in search(url, "/projects/lib")["results"])


def test_a_question_over_all_finds_the_best_first_and_names_projects(url: str) -> None:
    reply = search(url, "")

    found = [(one["project"], one["source"]) for one in reply["results"]]
    assert found == [("lib", "docs/tide.md"), ("a.app", "README.md")]
    assert reply["results"][0]["score"] >= reply["results"][1]["score"]
    assert reply["degraded"] == "Not searched: broken (CONFIG_ERROR), gone (NOT_FOUND)"


def test_a_question_goes_only_to_the_projects_that_are_named(url: str) -> None:
    reply = search(url, "/projects/a.app,b.app")

    assert {one["project"] for one in reply["results"]} == {"a.app"}
    assert "degraded" not in reply


@pytest.mark.parametrize(
    ("name", "relations"),
    [
        ("ZephyrineOven", ["in galley, imported by at least 1 file: kitchen.py"]),
        ("Oven", ["used by at least 1 file: oven.py"]),  # the other project has a class of this name
    ],
)
def test_a_class_names_the_files_of_other_projects_that_import_it(url: str, name: str, relations: list[str]) -> None:
    found = [one for one in search(url, "", name)["results"] if one["source"] == "oven.py"]

    assert [one.get("relations") for one in found] == relations


def test_an_answer_names_the_files_of_other_projects_that_import_a_class(url: str) -> None:
    reply = http_client.post(f"{url}/api/knowledge/ask", json={"query": "What is ZephyrineOven?"}).json()

    told = [one.get("relations") for one in reply["references"] if one["source"] == "oven.py"]
    assert told == ["in galley, imported by at least 1 file: kitchen.py"]
    assert f": {told[0]}" in render("ask_knowledge_base", reply).whole()


def test_replies_across_projects_fit_their_budget(url: str) -> None:
    reply = search(url, "", max_tokens=200)

    assert len(reply["results"]) == 1
    assert reply["truncated"].startswith("1 of the results omitted") or reply["total"] == 1


def test_an_answer_over_all_cites_the_project_it_comes_from(url: str) -> None:
    reply = http_client.post(f"{url}/api/knowledge/ask", json={"query": "What does the bakery sell?"}).json()

    assert "rye bread" in reply["citations"][0]["quote"]
    assert {one["project"] for one in reply["citations"]} == {"b.app"}
    assert reply["references"][0]["project"] == "b.app"

    more = http_client.post(
        f"{url}/api/knowledge/ask", json={"query": "In what oven?", "follow_up": reply["id"]}
    ).json()
    assert more["searched"] != "In what oven?"


@pytest.mark.parametrize(
    ("query", "project", "answer"),
    [
        (
            "which class does ZephyrineOven inherit from at low tide, when no ferry may enter the harbour",
            "b.app",
            "In b.app: `ZephyrineOven` extends `oven.Oven` [1].",
        ),
        (f"{HARBOUR} of Quixalot", None, "`Quixalot` occurs nowhere in the project lib."),
    ],
)
def test_a_name_that_another_project_has_is_not_said_to_occur_nowhere(
    url: str, query: str, project: str | None, answer: str
) -> None:
    reply = http_client.post(f"{url}/api/knowledge/ask", json={"query": query}).json()

    assert search(url, "", query)["results"][0]["project"] == "lib"
    assert reply["answer"].startswith(answer)
    assert {one["project"] for one in reply["citations"]} == ({project} if project else set())


@pytest.mark.parametrize(
    ("path", "project"), [("/mcp/lib", None), ("/mcp/lib/", None), ("/mcp/lib,a.app", "lib"), ("/mcp", "lib")]
)
def test_agents_reach_one_project_or_several_by_the_path(url: str, path: str, project: str | None) -> None:
    async def converse() -> tuple[list[str], dict[str, Any]]:
        async with McpClient(mcp_over_http(url, {}, path)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            called = await client.call_tool("query_documents", {"query": HARBOUR})
            assert called.structured_content is not None
            return tools, called.structured_content

    tools, reply = anyio.run(converse)
    assert reply["results"][0].get("project") == project
    assert ("get_source" in tools) == (project is None)
    assert {"query_documents", "ask_knowledge_base"} <= set(tools)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/sources", 404, "UNKNOWN_OPERATION"),  # it is about one project
        ("/page/state", 404, "NOT_FOUND"),  # a page shows the state of one project
        ("/projects/nope/api/sources", 404, "UNKNOWN_OPERATION"),
        ("/projects/app/api/sources", 404, "UNKNOWN_OPERATION"),  # it may be either
        ("/projects/gone/api/sources", 404, "NOT_FOUND"),
        ("/projects/broken/api/sources", 500, "CONFIG_ERROR"),
        ("/projects/%2e%2e/api/sources", 404, "UNKNOWN_OPERATION"),
    ],
)
def test_a_path_to_no_usable_project_is_refused(url: str, path: str, status: int, code: str) -> None:
    reply = httpx2.get(url + path, timeout=60)

    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_monitoring_and_the_page_show_the_state_of_each_project(url: str) -> None:
    search(url, "")
    state = http_client.get(f"{url}/readyz").json()
    page = http_client.get(f"{url}/").text

    assert state["projects"] == {
        "a.app": "open", "b.app": "open", "galley": "open", "lib": "open", "broken": "CONFIG_ERROR", "gone": "NOT_FOUND"
    }  # fmt: skip
    assert '<a href="/projects/a.app/">a.app</a> open' in page
    assert 'name="lore-base" content="/projects/lib"' in http_client.get(f"{url}/projects/lib/").text


def test_a_change_needs_the_token_of_the_server(url: str) -> None:
    address = f"{url}/projects/lib/api/db/data/manage"

    assert http_client.post(address, json={"action": "sync"}).status_code == 401
    assert http_client.post(address, json={"action": "sync"}, headers=token()).status_code == 200


def test_commands_use_the_server_and_stop_closes_only_their_project(url: str, team: Path) -> None:
    search(url, "/projects/lib")
    assert owner_of(team / "lib").kind == SERVE_MANY

    assert "docs/tide.md" in run_lore("search", "tide", cwd=team / "lib").stdout
    assert run_lore("stop", cwd=team / "lib").returncode == 0
    wait_until(lambda: http_client.get(f"{url}/readyz").json()["projects"]["lib"] == "closed")
    assert search(url, "/projects/lib")["results"]


def test_clients_that_leave_while_projects_open_hold_up_neither_others_nor_the_end(tmp_path: Path) -> None:
    names = [f"harbour{number}" for number in range(6)]
    for name in names:
        write_project(tmp_path / name, {"lore.toml": "", **PROJECTS["lib"]})
    with serving(tmp_path, more=["--projects", tmp_path]) as url:
        host, port = url.removeprefix("http://").split(":")
        for count in (3, 1):
            for name in names[::count]:
                with ExitStack() as clients:
                    for _ in range(4):
                        client = clients.enter_context(socket.create_connection((host, int(port))))
                        client.sendall(f"GET /projects/{name}/page/state HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                        client.recv(1)
            for name in names[::count] if count == 3 else ():
                assert http_client.get(f"{url}/projects/{name}/api/healthcheck").status_code == 200


def test_a_project_that_another_owner_uses_is_named_and_delays_no_other(tmp_path: Path) -> None:
    for name in ("free", "used"):
        synced_project(tmp_path / name, {"lore.toml": "", **PROJECTS["lib"]})
    stop_owners(tmp_path)
    (tmp_path / "other.toml").write_text("", encoding="utf-8")  # its clients do not follow to an owner without it
    arguments = [*as_lore()[1:], "mcp", "-c", str(tmp_path / "other.toml")]
    agent = StdioServerParameters(command=as_lore()[0], args=arguments, cwd=tmp_path / "used", env=dict(os.environ))

    async def ask_beside_an_agent(url: str) -> dict[str, Any]:
        async with McpClient(stdio_client(agent)) as client:
            await client.call_tool("query_documents", {"query": HARBOUR})
            with anyio.fail_after(30):
                return await anyio.to_thread.run_sync(search, url, "", abandon_on_cancel=True)

    with serving(tmp_path, more=["--projects", tmp_path]) as url:
        reply = anyio.run(ask_beside_an_agent, url)
        assert {one["project"] for one in search(url, "")["results"]} == {"free", "used"}

    assert reply["degraded"] == "Not searched: used (BUSY)"
    assert [one["project"] for one in reply["results"]] == ["free"]
