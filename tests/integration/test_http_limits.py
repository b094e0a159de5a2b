"""The HTTP server withstands slow, numerous and unusual requests over real sockets."""

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator

import anyio
import httpx2
import pytest
import uvicorn
from hypothesis import example, given
from hypothesis import strategies as st

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.http.application import build_http
from lore_server.http.page import Pulse
from lore_server.http.protocol import LimitedProtocol
from lore_server.http.site import site_of
from tests.harness import http_client
from tests.harness.calls import app_fixture
from tests.harness.owners import wait_until
from tests.harness.trying import trying

pytestmark = pytest.mark.later

QUERY = json.dumps({"query": "zebra"}).encode()
PATH = "/api/documents/query"
SECONDS = 120


Address = tuple[str, int]


class Patient(LimitedProtocol):
    """A protocol whose limits a busy machine does not reach."""

    head_seconds = request_seconds = SECONDS


class Quick(LimitedProtocol):
    head_seconds = 0.3
    request_seconds = 0.6


class Crowded(Patient):
    max_connections = 6


app = app_fixture({"docs/a.md": "# Guide\n\nThe zebra.\n"})


@contextlib.contextmanager
def serving(app: App, protocol: type[LimitedProtocol]) -> Iterator[Address]:
    """Serve the application with this protocol, and yield the address."""
    site = site_of(app.index.root, Settings(), port=0)
    web = build_http(app.contract, app.call, site, Pulse(lambda: contextlib.nullcontext(app), anyio.Event()))
    server = uvicorn.Server(uvicorn.Config(web, http=protocol, port=0, log_level="error", access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def address(app: App) -> Iterator[Address]:
    with serving(app, Patient) as address:
        yield address


@pytest.fixture(scope="module")
def quick(app: App) -> Iterator[Address]:
    """Yield the address of a server that soon gives up waiting for a request."""
    with serving(app, Quick) as address:
        yield address


def connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=SECONDS)


def head(length: int, *headers: str) -> bytes:
    lines = [f"POST {PATH} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers]
    return ("\r\n".join([*lines, f"Content-Length: {length}"]) + "\r\n\r\n").encode()


def rest(connection: socket.socket) -> bytes:
    """Return everything received until the server closes the connection; fail if it never does."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            found += part
    return found


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "lines",
    [
        [f"X-{number}: x" for number in range(10_000)],
        [f"X-{number}: x" for number in range(100)],
        [f"X-{number}: {'x' * 7_000}" for number in range(20)],
        ["X: " + "x" * 20_000_000],
        ["X: " + "x" * 200_000],
        ["x" * 20_000_000 + ": x"],
    ],
    ids=["10,000 headers", "200 headers", "large headers", "20 MB", "200 kB", "a name of 20 MB"],
)
@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "never complete"])
@pytest.mark.promise(29)
def test_a_request_with_too_many_or_too_large_headers_is_refused(
    address: Address, lines: list[str], is_complete: bool
) -> None:
    if not is_complete and sum(map(len, lines)) < 20_000:
        lines = lines * 500
    assert status_of(sent_in_full(address, head(len(QUERY), *lines)[: None if is_complete else -4])) == 431


def test_long_paths_and_headers_after_a_body_are_limited_too(address: Address) -> None:
    assert (
        status_of(sent_in_full(address, f"GET /{'x' * 1_000_000} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())) == 431
    )

    start = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n".encode()
    sent_in_full(address, start + b"X: " + b"x" * 20_000_000)  # the connection ends, although the request does not


def test_spaces_around_the_value_of_a_header_are_no_part_of_it_and_a_hundred_headers_with_a_large_body_are_accepted(
    address: Address,
) -> None:
    meta = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
    params = {"name": "healthcheck", "_meta": {f"io.modelcontextprotocol/{key}": one for key, one in meta.items()}}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    values = {
        "Host": "localhost", "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call", "Mcp-Name": "healthcheck", "Content-Length": str(len(call)), "Connection": "close",
    }  # fmt: skip
    lines = [f"{name}: \t {value} \t" for name, value in values.items()]
    reply = sent_in_full(address, "\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode() + call)
    assert status_of(reply) == 200, reply

    lines = [f"X-{number}: {'x' * 300}" for number in range(90)]
    query = json.dumps({"query": "zebra " * 100, "limit": 1}).encode()
    sent = head(len(query), "Connection: close", *lines) + query
    assert status_of(sent_in_full(address, sent)) == 200


def sent_in_full(address: Address, data: bytes) -> bytes:
    """Send data, and return the reply when the server closes the connection, which may be before all is sent."""
    with connected(address) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return rest(connection)


@pytest.mark.promise(29)
def test_incomplete_requests_time_out_with_a_reply(quick: Address) -> None:
    parts = {
        "nothing": b"", "a byte": b"P", "half a line": b"POST / HT", "half a head": head(9)[:-2],
        "no body": head(1000), "half a body": head(1000) + QUERY, "a blank line": b"\r\n",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        slow = {name: stack.enter_context(connected(quick)) for name in parts}
        for name, sent in parts.items():
            slow[name].sendall(sent)
        replies = {name: rest(connection) for name, connection in slow.items()}

    assert {name: status_of(reply) for name, reply in replies.items()} == dict.fromkeys(parts, 408)
    bodies = [json.loads(reply.partition(b"\r\n\r\n")[2]) for reply in replies.values()]
    assert {body["code"] for body in bodies} == {"INVALID_ARGUMENT"}


@pytest.mark.parametrize("start", [b"", head(10_000), head(len(QUERY)) + QUERY], ids=["head", "body", "next request"])
def test_a_slowly_sent_request_does_not_keep_a_connection(quick: Address, start: bytes) -> None:
    with connected(quick) as slow:
        slow.sendall(start)
        drip = threading.Event()

        def dribble() -> None:
            with contextlib.suppress(OSError):
                while not drip.wait(0.05):
                    slow.sendall(b"\r\n" if start.endswith(QUERY) else b"x")

        thread = threading.Thread(target=dribble)
        thread.start()
        rest(slow)
        drip.set()
        thread.join()


@pytest.mark.promise(24)
def test_excess_connections_are_refused_and_the_others_are_served(app: App) -> None:
    with serving(app, Crowded) as address:
        path = "http://{}:{}{}".format(*address, PATH)
        with contextlib.ExitStack() as stack:
            idle = [stack.enter_context(connected(address)) for _ in range(2 * Crowded.max_connections)]
            replies = [rest(connection) for connection in idle[Crowded.max_connections :]]
            idle[0].sendall(head(len(QUERY), "Connection: close") + QUERY)

            assert [status_of(reply) for reply in replies] == [503] * Crowded.max_connections
            assert all(re.search(rb"retry-after: [1-9]", reply.lower()) for reply in replies)
            assert status_of(rest(idle[0])) == 200

        def is_served() -> bool:
            with contextlib.suppress(httpx2.HTTPError):
                return http_client.post(path, json={"query": "zebra"}).status_code == 200
            return False

        wait_until(is_served)  # the server notices that they left


@pytest.mark.promise(24)
def test_of_hundreds_of_clients_at_once_each_is_served_or_told_to_come_back(app: App) -> None:
    """Each sends its whole request before it reads, so a reply that came too early would end in a reset."""
    body = QUERY + b" " * 1_000_000

    def ask(address: Address, start: threading.Barrier, replies: list[bytes]) -> None:
        with connected(address) as connection:
            start.wait(SECONDS)
            connection.sendall(head(len(body), "Connection: close") + body)
            replies.append(rest(connection))

    with serving(app, Crowded) as address:
        replies, start = list[bytes](), threading.Barrier(100)
        threads = [threading.Thread(target=ask, args=(address, start, replies)) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(replies) == 100
    assert {status_of(reply) for reply in replies} == {200, 503}
    assert all(re.search(rb"retry-after: [1-9]", reply.lower()) for reply in replies if status_of(reply) == 503)


PIECES = st.lists(
    st.sampled_from(["application", "/", "json", ";", "=", '"', "\\", " ", "charset", "utf-8", "q", ",", "*", "a/b"])
    | st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=3),
    max_size=8,
).map(lambda pieces: "".join(pieces).strip())


@trying(40, database=None)
@given(st.sampled_from(["", "application/json", "application/json;"]), PIECES)
@example("application/json;", "")
@example("application/json", "; charset")
@example("application/json", "; =;=")
@example("application/json", '; charset="')
def test_no_media_type_causes_a_server_error(address: Address, start: str, more: str) -> None:
    kind = (start + more).strip()
    for path in (PATH, "/mcp", "/page/markdown"):
        headers = {b"Content-Type": kind.encode("latin-1"), b"Accept": b"application/json, text/event-stream"}
        reply = http_client.post("http://{}:{}{}".format(*address, path), content=QUERY, headers=headers)
        is_json = kind.partition(";")[0].strip().lower() == "application/json"
        assert reply.status_code in ({200, 400} if is_json and path != "/mcp" else {200, 400, 415}), reply.text
        if path == PATH:
            assert reply.status_code == (200 if is_json else 415)


@trying(15, database=None)
@given(st.sampled_from(["Accept", "Authorization", "Origin", "Cookie", "Accept-Encoding", "If-None-Match"]), PIECES)
def test_no_header_causes_a_server_error(address: Address, name: str, value: str) -> None:
    for method, path in (("POST", PATH), ("POST", "/mcp"), ("GET", "/"), ("GET", "/assets/app.js")):
        headers = {b"Content-Type": b"application/json", name.encode(): value.encode("latin-1")}
        reply = http_client.request(method, "http://{}:{}{}".format(*address, path), content=QUERY, headers=headers)
        assert reply.status_code < 500, reply.text


def test_the_server_accepts_both_spellings_of_its_mcp_address(address: Address) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    headers = {"Accept": "application/json, text/event-stream"}

    replies = [
        http_client.post("http://{}:{}{}".format(*address, path), json=hello, headers=headers)
        for path in ("/mcp", "/mcp/")
    ]

    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].text == replies[1].text
