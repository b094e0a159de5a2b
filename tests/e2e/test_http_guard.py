"""Test from outside that each route of `lore serve` applies each access rule."""

import html
import http.client
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client

from lore_server.contract import Contract
from lore_server.http.guard import HEADERS
from tests.harness import http_client
from tests.harness.commands import SECONDS, run_lore
from tests.harness.interfaces import bearer, mcp_over_http, serving
from tests.harness.projects import copy_project
from tests.harness.trust import approve

ROUTES = [
    ("GET", "/"), ("GET", "/assets/app.js"), ("GET", "/assets/nothing.js"), ("GET", "/api/healthcheck"),
    ("GET", "/api/documents"), ("GET", "/api/openapi.yaml"), ("POST", "/api/documents/query"),
    ("POST", "/api/knowledge/ask"), ("GET", "/api/jobs/latest"), ("POST", "/api/jobs/latest/cancel"),
    ("POST", "/api/db/data/manage"), ("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/nowhere"),
]  # fmt: skip
PUBLIC = ("/", "/assets/app.js", "/assets/nothing.js")
OPEN_TOKEN = "a-token-of-the-environment-0123456789"


@pytest.fixture(scope="module")
def url(sample: Path) -> Iterator[str]:
    with serving(sample) as address:
        yield address


@pytest.fixture(scope="module")
def open_url(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server that other machines can reach."""
    project = tmp_path_factory.mktemp("open") / "ferry"
    copy_project(sample, project, "token")
    (project / "lore.toml").write_text('[server]\nhost = "0.0.0.0"\nallowed_hosts = ["kb.example"]\n')
    approve(project)
    with serving(project, LORE_TOKEN=OPEN_TOKEN) as address:
        yield address.replace("0.0.0.0", "127.0.0.1")


def send(url: str, method: str, path: str, headers: dict[str, str], body: Any = None) -> httpx2.Response:
    """Send a request, with a body if the route requires it; of a stream, wait only for its beginning.

    Without `verify=False`, each client reads the certificates of all authorities, which takes most of its time.
    """
    content = json.dumps(body if body is not None else {"query": "retry"}) if method == "POST" else None
    sent = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json", **headers}
    with (
        httpx2.Client(timeout=SECONDS, verify=False) as client,
        client.stream(method, url + path, headers=sent, content=content) as reply,
    ):
        if (method, path, reply.status_code) != ("GET", "/mcp", 200):
            reply.read()
        return reply


FOREIGN = [
    ("Host", "evil.example", 421), ("Host", "127.0.0.1.evil.example", 421), ("Host", "", 421),
    ("Host", "[::1", 421), ("Host", "me@127.0.0.1", 421), ("Host", "127.0.0.1:x", 421), ("Host", "0.0.0.0", 421),
    ("Origin", "http://evil.example", 403), ("Origin", "null", 403), ("Origin", "", 403),
    ("Origin", "file://", 403), ("Origin", "http://127.0.0.1@evil.example", 403),
    ("Origin", "http://localhost.evil.example", 403), ("Origin", "http://127.0.0.1:1", 403),
    ("Origin", "http://localhost", 403), ("Origin", "chrome-extension://abcdefgh", 403),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "header", "value", "status"),
    # one guard decides for all routes: each value on one route, and one of each kind on every route
    [(*ROUTES[0], *foreign) for foreign in FOREIGN]
    + [(*route, *foreign) for route in ROUTES[1:] for foreign in (FOREIGN[0], FOREIGN[7])],
)
@pytest.mark.promise(29)
def test_a_foreign_host_or_origin_is_refused_on_every_route_even_with_the_token(
    url: str, sample: Path, method: str, path: str, header: str, value: str, status: int
) -> None:
    reply = send(url, method, path, {**bearer(sample), header: value})

    assert reply.status_code == status


def test_a_request_with_two_host_headers_is_refused(url: str) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.putrequest("GET", "/api/healthcheck", skip_host=True)
    connection.putheader("Host", url.removeprefix("http://"))
    connection.putheader("Host", "evil.example")
    connection.endheaders()

    assert connection.getresponse().status in (400, 421)
    connection.close()


def test_requests_from_the_servers_own_page_are_answered_under_every_local_host_name(url: str) -> None:
    port = url.rpartition(":")[2]
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        headers = {"Host": f"{name}:{port}", "Origin": f"http://{name.lower()}:{port}"}
        assert http_client.get(f"{url}/api/documents?limit=1", headers=headers).status_code == 200


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_response_has_the_security_headers_and_allows_no_other_origin(url: str, method: str, path: str) -> None:
    wanted = {name.decode(): value.decode() for name, value in HEADERS}
    for headers in ({}, {"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        reply = send(url, method, path, headers)
        assert wanted.items() <= dict(reply.headers).items(), reply.status_code
        assert not [name for name in reply.headers if name.startswith("access-control-")]
        assert "cache-control" in reply.headers


@pytest.mark.parametrize("path", [path for _, path in ROUTES])
def test_a_preflight_is_refused(url: str, path: str) -> None:
    headers = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for origin in ({}, {"Origin": url}, {"Origin": "http://evil.example"}):
        reply = http_client.request("OPTIONS", url + path, headers={**headers, **origin})
        assert reply.status_code in (403, 405)
        assert not [name for name in reply.headers if name.startswith("access-control-")]


def changing(contract: Contract) -> list[tuple[str, str]]:
    found = [
        (operation.method, "/api" + operation.path.replace("{id}", "latest"))
        for operation in contract
        if operation.changes_state
    ]
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", "Basic {}", "{}", "Bearer {}x", "Bearer é"])
def test_every_changing_request_requires_the_token(
    url: str, sample: Path, contract: Contract, given: str | None
) -> None:
    token = bearer(sample)["Authorization"].removeprefix("Bearer ")
    headers = {} if given is None else {b"Authorization": given.format(token).encode("latin-1")}
    for method, path in changing(contract):
        for place in ("", f"?token={token}", f"?access_token={token}"):
            reply = http_client.request(method, url + path + place, headers=headers, json={"action": "start"})
            assert (reply.status_code, reply.json()["code"]) == (401, "TOKEN_REQUIRED")
            assert reply.headers["www-authenticate"].startswith("Bearer")
            assert "LORE_TOKEN" in reply.json()["hint"]
            assert token not in reply.text


def test_a_changing_request_with_the_token_succeeds(url: str, sample: Path) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        headers = {"Authorization": bearer(sample)["Authorization"].replace("Bearer", scheme)}
        reply = http_client.post(f"{url}/api/db/manage", headers=headers, json={"action": "start"})
        assert reply.json()["status"] == "already_running"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_mcp_client_without_the_token_lists_and_calls_only_reading_tools(
    url: str, sample: Path, contract: Contract, mode: str
) -> None:
    async def look(headers: dict[str, str]) -> tuple[set[str], Any, Any]:
        async with Client(mcp_over_http(url, headers), mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            changed = await client.call_tool("manage_database", {"action": "start"})
            read = await client.call_tool("query_documents", {"query": "retry"})
            return names, changed, read

    names, changed, read = anyio.run(look, {})
    assert names and not names & {operation.id for operation in contract if operation.changes_state}
    assert (changed.is_error, changed.structured_content["code"]) == (True, "TOKEN_REQUIRED")
    assert "Configure the client" in changed.structured_content["hint"]
    assert not read.is_error

    names, changed, _ = anyio.run(look, bearer(sample))
    assert {"manage_knowledge_base", "cancel_job"} <= names
    assert (changed.is_error, changed.structured_content["status"]) == (False, "already_running")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("name", "is_agent"), [("claude-code", True), ("codex-mcp-client", True), ("other", False)])
def test_an_agent_that_reads_only_text_is_recognised_with_and_without_a_session(
    url: str, mode: str, name: str, is_agent: bool
) -> None:
    async def look() -> Any:
        about = types.Implementation(name=name, version="2.1.280")
        connection = mcp_over_http(url, {"user-agent": f"{name}/2.1.280 (cli)"})
        async with Client(connection, mode=mode, client_info=about) as client:
            return await client.call_tool("query_documents", {"query": "retry"})

    assert (anyio.run(look).structured_content is None) is is_agent


def test_the_page_gets_its_settings_and_is_not_cached(url: str, sample: Path) -> None:
    reply = http_client.get(url)
    metas = dict(re.findall(r'<meta name="lore-(\w+)" content="([^"]*)">', reply.text))

    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert reply.headers["cache-control"] == "no-store"
    assert metas["token"] == bearer(sample)["Authorization"].removeprefix("Bearer ")
    assert (metas["project"], html.unescape(metas["root"])) == (sample.name, str(sample))
    assert metas["editor"] == "vscode://file/{path}:{line}"


def versioned(url: str, path: str) -> str:
    """Return the path of an asset below the version that the page names."""
    found = re.search(r'"(/assets/\w+/)app\.js"', http_client.get(url).text)
    assert found is not None
    return path.replace("/assets/", found[1], 1)


def test_assets_have_their_content_type_and_an_address_that_changes_with_them(url: str) -> None:
    reply = http_client.get(url + versioned(url, "/assets/app.js"))

    assert reply.headers["content-type"].startswith("text/javascript")
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert http_client.get(f"{url}/assets/0123456789abcdef/app.js").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../token.py", "/assets/../../openapi.yaml", "/assets/%2e%2e/token.py", "/assets/..%2ftoken.py",
        "/assets/%2e%2e%2f%2e%2e%2fopenapi.yaml", "/assets//etc/passwd", "/assets/%2fetc%2fpasswd", "/assets/./app.js",
        "/assets/app.js%00.css", "/assets/..%5ctoken.py", "/assets/index.html", "/assets/", "/assets", "/index.html",
        "/assets/%c0%ae%c0%ae/token.py", "/assets/app.js/", "//assets/app.js", "/server/token.py", "/.lore/token",
    ],
)  # fmt: skip
def test_no_path_escapes_the_assets_folder(url: str, path: str) -> None:
    for wanted in {path, versioned(url, path)}:
        connection = http.client.HTTPConnection(url.removeprefix("http://"))  # sends the path unchanged
        connection.request("GET", wanted)
        reply = connection.getresponse()
        connection.close()

        assert reply.status == 404


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route[1] not in PUBLIC])
@pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer wrong"}, {"Host": "kb.example"}])
def test_an_open_server_requires_the_token_for_every_request(
    open_url: str, method: str, path: str, given: dict[str, str]
) -> None:
    reply = send(open_url, method, path, given)

    assert (reply.status_code, reply.json()["code"]) == (401, "TOKEN_REQUIRED")


def test_an_open_server_accepts_the_token_and_refuses_foreign_host_names(open_url: str) -> None:
    token = {"Authorization": f"Bearer {OPEN_TOKEN}"}

    for host in ("127.0.0.1", "kb.example", "KB.example:8080"):
        assert send(open_url, "GET", "/api/documents", {**token, "Host": host}).status_code == 200
    for host in ("evil.example", "x.kb.example", "kb.example.evil.example", "0.0.0.0"):
        assert send(open_url, "GET", "/api/documents", {**token, "Host": host}).status_code == 421
    behind_tls = {**token, "Host": "kb.example", "Origin": "https://kb.example"}
    assert send(open_url, "GET", "/api/documents", behind_tls).status_code == 200
    assert send(open_url, "GET", "/api/documents", {**behind_tls, "Origin": "https://a.example"}).status_code == 403


def test_an_open_server_puts_no_token_in_its_page(open_url: str) -> None:
    page = http_client.get(open_url).text
    metas = dict(re.findall(r'<meta name="lore-(\w+)" content="([^"]*)">', page))

    assert (metas["token"], metas["project"], metas["root"]) == ("", "", "")
    assert OPEN_TOKEN not in page
    assert http_client.get(open_url + versioned(open_url, "/assets/app.js")).status_code == 200


def test_a_server_without_a_token_does_not_listen_to_other_machines(tmp_path: Path) -> None:
    (tmp_path / "lore.toml").write_text('[server]\nhost = "0.0.0.0"\nport = 0\n')
    approve(tmp_path)

    plain = run_lore("serve", cwd=tmp_path)
    short = run_lore("serve", cwd=tmp_path, LORE_TOKEN="short")

    assert (plain.returncode, short.returncode) == (2, 2)
    assert "LORE_TOKEN" in plain.stderr
    assert "LORE_TOKEN is not a valid token" in short.stderr
    assert "short" not in short.stderr.replace("too short", "")
