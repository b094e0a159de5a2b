"""Every route and tool, with no token and with each kind of token: refused or admitted as documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client as McpClient

from lore_etl.config.project import user_state_folder
from lore_server.contract import KNOWLEDGE_TOOLSETS, Operation, load_contract
from tests.harness import http_client
from tests.harness.commands import run_lore
from tests.harness.interfaces import ALL_TOOLSETS, mcp_over_http, serving
from tests.harness.projects import write_project

ADMIN_ONLY = {
    "manage_database", "delete_project", "sync_storage", "get_insights", "list_marks", "clear_insights"
}  # fmt: skip
HOLDERS = {
    "nobody": None, "wrong": None, "expired": ("--admin", "*"), "revoked": ("--admin", "*"),
    "reader": ("--read", "a"), "writer": ("--write", "a"), "admin": ("--admin", "a"), "stranger": ("--admin", "b"),
    "read-all": ("--read", "*"), "write-all": ("--write", "*"), "admin-all": ("--admin", "*"), "server": None,
}  # fmt: skip
REFUSED = {"TOKEN_REQUIRED", "FORBIDDEN"}
UNKNOWN = {"nonsense": 1}  # an argument that no operation has: a call that is admitted does nothing


@pytest.fixture(autouse=True)
def no_owner_is_left() -> None:
    """Keep the server of this module running: its fixture stops it."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rights")
    write_project(folder, {f"{name}/lore.toml": "" for name in "ab"} | {"a/README.md": "# Ferry\n\nIt sails.\n"})
    return folder


@pytest.fixture(scope="module")
def tokens(team: Path) -> Iterator[dict[str, str]]:
    """The token of each holder, until the end of the module."""
    found = {"wrong": "lore_wrong-wrong-wrong"}
    for name, rights in HOLDERS.items():
        if rights:
            days = "0" if name == "expired" else "1"
            done = run_lore("token", "add", name, *rights, "--days", days, cwd=team)
            assert done.returncode == 0, done.stderr
            found[name] = done.stdout.strip()
    assert run_lore("token", "revoke", "revoked", cwd=team).returncode == 0
    yield found
    for name in found.keys() - {"wrong", "revoked", "server"}:
        run_lore("token", "revoke", name, cwd=team)


@pytest.fixture(scope="module")
def url(team: Path, tokens: dict[str, str]) -> Iterator[str]:
    with serving(team, ALL_TOOLSETS, more=["--projects", team]) as address:
        tokens["server"] = (user_state_folder() / "token").read_text(encoding="ascii").strip()
        yield address


def header(tokens: dict[str, str], holder: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens[holder]}"} if holder in tokens else {}


def expected(holder: str, operation: Operation) -> str | None:
    """Return the code with which a call in the project `a` is refused, as docs/http.md says; None if it is admitted."""
    if holder in ("wrong", "expired", "revoked"):
        return "TOKEN_REQUIRED"
    if holder in ("server", "admin-all"):
        return None
    if holder == "stranger":
        return "FORBIDDEN"
    if operation.toolset in KNOWLEDGE_TOOLSETS and holder in ("reader", "writer", "admin"):
        return "FORBIDDEN"
    levels = {"nobody": 1, "reader": 1, "writer": 2, "admin": 3, "read-all": 1, "write-all": 2}
    level = 3 if operation.id in ADMIN_ONLY else 2 if operation.changes_state else 1
    if levels[holder] >= level:
        return None
    return "TOKEN_REQUIRED" if holder == "nobody" else "FORBIDDEN"


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_route_admits_and_refuses_as_documented(url: str, tokens: dict[str, str], holder: str) -> None:
    found, wanted = {}, {}
    with http_client.Client(base_url=f"{url}/projects/a/api", headers=header(tokens, holder)) as client:
        for operation in load_contract():
            path = operation.path.replace("{id}", "x")
            reply = client.get(path, params=UNKNOWN) if operation.method == "GET" else client.post(path, json=UNKNOWN)
            assert reply.status_code in (400, 401, 403), reply.text
            code = reply.json()["code"]
            found[operation.id] = code if code in REFUSED else None
            wanted[operation.id] = expected(holder, operation)
    assert found == wanted


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_tool_admits_and_refuses_as_documented(url: str, tokens: dict[str, str], holder: str) -> None:
    if holder in ("wrong", "expired", "revoked", "stranger"):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {**header(tokens, holder), "Accept": "application/json, text/event-stream"}
        reply = http_client.post(f"{url}/mcp/a", json=message, headers=headers)
        assert reply.status_code == (403 if holder == "stranger" else 401)
        return

    async def converse() -> tuple[set[str], dict[str, str | None]]:
        async with McpClient(mcp_over_http(url, header(tokens, holder), "/mcp/a")) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            found: dict[str, str | None] = {}
            for operation in load_contract():
                code = (await client.call_tool(operation.id, UNKNOWN)).structured_content["code"]
                found[operation.id] = code if code in REFUSED else None
            return listed, found

    listed, found = anyio.run(converse)
    assert found == {operation.id: expected(holder, operation) for operation in load_contract()}
    assert listed == {name for name, code in found.items() if code is None}


@pytest.mark.parametrize("path", ["/projects/b/api/sources", "/projects/c/api/sources", "/mcp/b", "/mcp/c", "/mcp/a,b"])
def test_a_project_without_right_and_one_that_does_not_exist_are_refused_alike(
    url: str, tokens: dict[str, str], path: str
) -> None:
    reply = http_client.get(url + path, headers=header(tokens, "reader"))

    assert (reply.status_code, reply.json()["code"]) == (403, "FORBIDDEN")
    assert reply.json()["message"] == "This token does not give access to this project."


def test_a_question_over_all_reaches_only_the_projects_of_the_token(url: str, tokens: dict[str, str]) -> None:
    reply = http_client.get(f"{url}/readyz", headers=header(tokens, "reader"))

    assert reply.json()["projects"].keys() == {"a"}


def test_changes_are_logged_with_their_author_and_reads_are_not(url: str, tokens: dict[str, str]) -> None:
    manage = f"{url}/projects/a/api/db/data/manage"
    read = http_client.get(f"{url}/projects/a/api/healthcheck", headers=header(tokens, "writer"))
    done = http_client.post(manage, json={"action": "sync"}, headers=header(tokens, "writer"))
    refused = http_client.post(manage, json={"action": "delete"}, headers=header(tokens, "writer"))
    assert (read.status_code, done.status_code, refused.status_code) == (200, 200, 409)

    lines = (user_state_folder() / "audit.log").read_text(encoding="utf-8").splitlines()
    logged = [json.loads(line) for line in lines if "writer" in line][-2:]
    assert [(one["author"], one["projects"], one["operation"], one["outcome"]) for one in logged] == [
        ("writer", ["a"], "manage_knowledge_base", "done"),
        ("writer", ["a"], "manage_knowledge_base", "CONFIRMATION_REQUIRED"),
    ]
    assert not any(token in line for line in lines for token in tokens.values())


def test_a_token_with_a_limit_waits_for_the_next_minute(url: str, team: Path) -> None:
    token = run_lore("token", "add", "busy", "--read", "*", "--per-minute", "2", cwd=team).stdout.strip()
    replies = [http_client.get(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"}) for _ in range(5)]

    assert 429 in {reply.status_code for reply in replies[2:]}
    limited = next(reply for reply in replies if reply.status_code == 429)
    assert (limited.json()["code"], limited.headers["Retry-After"]) == ("LIMIT_REACHED", "60")
    assert "busy" in run_lore("token", "list", cwd=team).stdout
