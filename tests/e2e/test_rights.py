"""Every route and tool, with no token and with each kind of token: refused or admitted as documented."""

import json
import re
import time
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client as McpClient
from mcp.shared.exceptions import MCPError

from lore_etl.config.project import user_state_folder
from lore_server.contract import load_contract
from tests.harness import http_client
from tests.harness.commands import run_lore
from tests.harness.interfaces import ALL_TOOLSETS, mcp_over_http, serving
from tests.harness.openid import AUDIENCE, Provider, provider
from tests.harness.projects import write_project

READ, WRITE, ADMIN = 1, 2, 3
NEEDED = {  # in the project of the address
    "query_documents": READ, "ask_knowledge_base": READ, "get_class_hierarchy": READ, "list_documents": READ,
    "get_document_by_id": READ, "list_sources": READ, "get_source": READ, "get_system_doc": READ, "get_user_doc": READ,
    "get_framework_doc": READ, "knowledge_search": READ, "get_job": READ, "healthcheck": READ,
    "manage_knowledge_base": WRITE, "init_project": WRITE, "cancel_job": WRITE, "mark_result": WRITE,
    "manage_database": ADMIN, "get_insights": ADMIN, "list_marks": ADMIN, "clear_insights": ADMIN,
}  # fmt: skip
NEEDED_EVERYWHERE = {  # knowledge and memories belong to no served project
    "list_projects": READ, "get_project_main": READ, "search_knowledge": READ, "list_knowledge_files": READ,
    "get_knowledge_file": READ, "list_chapters": READ, "get_chapter": READ, "get_knowledge_history": READ,
    "get_server_info": READ, "get_storage_status": READ, "search_memories": READ, "update_project_main": WRITE,
    "update_project_section": WRITE, "add_project_section": WRITE, "remove_project_section": WRITE,
    "create_knowledge_file": WRITE, "write_knowledge_file": WRITE, "delete_knowledge_file": WRITE,
    "update_chapter": WRITE, "add_chapter": WRITE, "remove_chapter": WRITE, "revert_knowledge": WRITE,
    "add_memory": WRITE, "delete_memory": WRITE, "save_answer": WRITE, "delete_project": ADMIN, "sync_storage": ADMIN,
}  # fmt: skip
INVALID = ("wrong", "expired", "revoked", "openid expired", "openid of another issuer")
RIGHTS = {  # of each valid token, and without one: in the project `a`, and everywhere
    "nobody": (READ, READ), "reader": (READ, 0), "writer": (WRITE, 0), "admin": (ADMIN, 0), "stranger": (0, 0),
    "read-all": (READ, READ), "write-all": (WRITE, WRITE), "admin-all": (ADMIN, ADMIN), "server": (ADMIN, ADMIN),
    "openid with a group": (WRITE, 0), "openid with a group of all": (ADMIN, ADMIN),
    "openid of another project": (0, 0), "openid without a group": (0, 0),
}  # fmt: skip
HOLDERS = [*RIGHTS, *INVALID]
NAMED = {
    "expired": ("--admin", "*"), "revoked": ("--admin", "*"), "reader": ("--read", "a"), "writer": ("--write", "a"),
    "admin": ("--admin", "a"), "stranger": ("--admin", "b"), "read-all": ("--read", "*"),
    "write-all": ("--write", "*"), "admin-all": ("--admin", "*"),
}  # fmt: skip
GROUPS = """
[auth.groups.team]
a = "write"
[auth.groups.others]
b = "admin"
[auth.groups.operators]
"*" = "admin"
"""
REFUSED = {"TOKEN_REQUIRED", "FORBIDDEN"}
UNKNOWN = {"nonsense": 1}  # an argument that no operation has: a call that is admitted does nothing


@pytest.fixture(scope="module")
def issuer() -> Iterator[Provider]:
    with provider() as running:
        yield running


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, issuer: Provider) -> Path:
    folder = tmp_path_factory.mktemp("rights")
    config = f'[auth]\nissuer = "{issuer.address}"\naudience = "{AUDIENCE}"\n{GROUPS}'
    write_project(folder, {"config/lore/config.toml": config, "projects/a/README.md": "# Ferry\n\nIt sails.\n"})
    write_project(folder / "projects", {"a/lore.toml": "", "b/lore.toml": ""})
    return folder


@pytest.fixture(scope="module")
def tokens(team: Path, issuer: Provider) -> Iterator[dict[str, str]]:
    """The token of each holder, until the end of the module."""
    found = {
        "wrong": "lore_wrong-wrong-wrong",
        "openid with a group": issuer.token(groups=["team"]),
        "openid with a group of all": issuer.token(groups=["operators"]),
        "openid of another project": issuer.token(groups=["others"]),
        "openid without a group": issuer.token(groups=[]),
        "openid expired": issuer.token(groups=["operators"], exp=time.time() - 300),
        "openid of another issuer": issuer.token(groups=["operators"], iss="https://other.example.com"),
    }
    for name, rights in NAMED.items():
        days = "0" if name == "expired" else "1"
        done = run_lore("token", "add", name, *rights, "--days", days, cwd=team)
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout.strip()
    assert run_lore("token", "revoke", "revoked", cwd=team).returncode == 0
    yield found
    for name in NAMED.keys() - {"revoked"}:
        run_lore("token", "revoke", name, cwd=team)


@pytest.fixture(scope="module")
def url(team: Path, tokens: dict[str, str]) -> Iterator[str]:
    more = ["--projects", str(team / "projects")]
    with serving(team, ALL_TOOLSETS, more=more, XDG_CONFIG_HOME=str(team / "config")) as address:
        tokens["server"] = (user_state_folder() / "token").read_text(encoding="ascii").strip()
        yield address


def header(tokens: dict[str, str], holder: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens[holder]}"} if holder in tokens else {}


def expected(holder: str, operation: str) -> str | None:
    """Return the code with which a call in the project `a` is refused, as docs/http.md says; None if it is admitted."""
    if holder in INVALID:
        return "TOKEN_REQUIRED"
    here, everywhere = RIGHTS[holder]
    is_enough = here >= NEEDED[operation] if operation in NEEDED else everywhere >= NEEDED_EVERYWHERE[operation]
    return None if here and is_enough else "TOKEN_REQUIRED" if holder == "nobody" else "FORBIDDEN"


def test_the_tables_have_every_route_and_tool() -> None:
    assert {operation.id for operation in load_contract()} == NEEDED.keys() | NEEDED_EVERYWHERE.keys()
    assert not NEEDED.keys() & NEEDED_EVERYWHERE.keys()


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
            wanted[operation.id] = expected(holder, operation.id)
    assert found == wanted


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_tool_admits_and_refuses_as_documented(url: str, tokens: dict[str, str], holder: str) -> None:
    if holder in INVALID or not RIGHTS[holder][0]:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {**header(tokens, holder), "Accept": "application/json, text/event-stream"}
        reply = http_client.post(f"{url}/mcp/a", json=message, headers=headers)
        assert reply.status_code == (401 if holder in INVALID else 403)
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
    assert found == {operation.id: expected(holder, operation.id) for operation in load_contract()}
    assert listed == {name for name, code in found.items() if code is None}


@pytest.mark.parametrize("holder", [holder for holder, (here, _) in RIGHTS.items() if here])
@pytest.mark.parametrize(
    ("uri", "operation"), [("lore://source/none.md", "get_source"), ("knowledge://projects/b/main", "get_project_main")]
)
def test_a_resource_needs_the_rights_of_the_operation_that_reads_it(
    url: str, tokens: dict[str, str], holder: str, uri: str, operation: str
) -> None:
    async def read() -> str | None:
        async with McpClient(mcp_over_http(url, header(tokens, holder), "/mcp/a")) as client:
            with pytest.raises(MCPError) as refusal:
                await client.read_resource(uri)
            code: str = refusal.value.error.data["code"]
            return code if code in REFUSED else None

    assert anyio.run(read) == expected(holder, operation)


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_other_route_admits_and_refuses_as_documented(url: str, tokens: dict[str, str], holder: str) -> None:
    here, everywhere = RIGHTS.get(holder, (0, 0))
    refusal = 401 if holder in INVALID else 403
    page = http_client.get(f"{url}/projects/a/").text
    asset = re.search(r"/assets/[^\"]+", page)
    assert asset
    wanted = {
        "/livez": 200, asset.group(): 200, "/.well-known/oauth-protected-resource/mcp": 200,
        **dict.fromkeys(("/", "/readyz"), refusal if holder in (*INVALID, "openid without a group") else 200),
        "/metrics": 200 if everywhere else refusal,
        **dict.fromkeys(
            ("/projects/a/", "/projects/a/readyz", "/projects/a/api/openapi.yaml", "/projects/a/page/state"),
            200 if here else refusal,
        ),
        "/projects/a/page/markdown": 200 if here else refusal,
    }  # fmt: skip
    found = {}
    with http_client.Client(base_url=url, headers=header(tokens, holder)) as client:
        for path in wanted:
            sent = {"method": "POST", "json": {"text": "# Ferry"}} if path.endswith("markdown") else {"method": "GET"}
            with client.stream(url=path, **sent) as reply:  # one of them does not end
                found[path] = reply.status_code
    assert found == wanted


@pytest.mark.parametrize("path", ["/projects/b/api/sources", "/projects/c/api/sources", "/mcp/b", "/mcp/c", "/mcp/a,b"])
def test_a_project_without_right_and_one_that_does_not_exist_are_refused_alike(
    url: str, tokens: dict[str, str], path: str
) -> None:
    reply = http_client.get(url + path, headers=header(tokens, "reader"))

    assert (reply.status_code, reply.json()["code"]) == (403, "FORBIDDEN")
    assert reply.json()["message"] == "This token does not give access to this project."


def test_an_open_server_does_not_tell_which_projects_exist(team: Path, tokens: dict[str, str]) -> None:
    more = ["--projects", str(team / "projects"), "--host", "0.0.0.0"]
    with serving(team, more=more, LORE_TOKEN="the-token-of-an-open-server") as url:
        served = ("", "/", "/readyz", "/api/sources", "/api/openapi.yaml", "/page/state", "/webhook")
        elsewhere = ("/livez", "/assets/x", "/.well-known/oauth-protected-resource/mcp", "/projects", "/nothing", ",a/")
        for method, path in product(("GET", "POST", "DELETE"), (*served, *elsewhere)):
            replies = {}
            for name in ("a", "c"):
                address = f"{url.replace('0.0.0.0', '127.0.0.1')}/projects/{name}{path}"
                for holder in ("nobody", "wrong", "stranger"):
                    reply = http_client.request(method, address, headers=header(tokens, holder))
                    text = re.sub(r'"trace_id":"[^"]*"', "", reply.text).replace(f"/projects/{name}{path}", "")
                    replies[name, holder] = reply.status_code, text.replace(f'"/projects/{name}"', '""')
            for holder in ("nobody", "wrong", "stranger"):
                assert replies["a", holder] == replies["c", holder], (method, path, holder)
            assert replies["a", "wrong"][0] == 401 or path == "/webhook"


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


def test_the_log_of_changes_has_no_secret_that_a_memory_loses(url: str, tokens: dict[str, str]) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    memory = {"name": "Ferry", "body": f"It opens with {secret}.", "metadata": {"tags": [secret]}}
    http_client.post(f"{url}/projects/a/api/memories", json=memory, headers=header(tokens, "server"))

    log = (user_state_folder() / "audit.log").read_text(encoding="utf-8")
    assert '"body": "It opens with [redacted-' in log
    assert secret not in log


def test_a_stream_ends_when_its_token_is_revoked(url: str, team: Path) -> None:
    token = run_lore("token", "add", "leaver", "--read", "a", cwd=team).stdout.strip()
    state = f"{url}/projects/a/page/state"
    head = {"Authorization": f"Bearer {token}"}
    with http_client.Client() as client, client.stream("GET", state, headers=head) as reply:
        lines = reply.iter_lines()
        assert next(lines) == "event: state"
        run_lore("token", "revoke", "leaver", cwd=team)
        rest = list(islice(lines, 40))  # without an end, a stream shows the state every five seconds

    event, data = [line for line in rest if line][-2:]
    assert (event, json.loads(data.removeprefix("data: "))["code"]) == ("event: problem", "TOKEN_REQUIRED")


def test_a_token_with_a_limit_waits_for_the_next_minute(url: str, team: Path) -> None:
    token = run_lore("token", "add", "busy", "--read", "*", "--per-minute", "2", cwd=team).stdout.strip()
    replies = [http_client.get(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"}) for _ in range(5)]

    assert 429 in {reply.status_code for reply in replies[2:]}
    limited = next(reply for reply in replies if reply.status_code == 429)
    assert (limited.json()["code"], limited.headers["Retry-After"]) == ("LIMIT_REACHED", "60")
    assert "busy" in run_lore("token", "list", cwd=team).stdout
