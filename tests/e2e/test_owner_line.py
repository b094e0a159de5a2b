"""Send arbitrary data to the owner's socket: at worst it ends the connection that sent it."""

import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lore_etl.stores.owner_file import Note
from lore_server.owner import predecessor
from lore_server.owner.line import dial
from tests.harness.commands import SECONDS, synced_project
from tests.harness.owners import owner_of, stop_owners, wait_until

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda value: st.lists(value, max_size=3) | st.dictionaries(st.text(max_size=9), value, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["token", "want", "toolsets", "operation", "arguments", "jsonrpc", "id", "method", "params"])


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Note]:
    """Return the owner of a small project."""
    project = synced_project(tmp_path_factory.mktemp("line") / "project", {"a.md": "# A\n\nferry\n"})
    yield owner_of(project)
    stop_owners(project)


def say(owner: Note, *lines: bytes) -> bytes:
    """Send lines on a new connection and return the reply until the owner closes it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(SECONDS)
        connection.connect(owner.address.removeprefix("unix:"))
        try:
            connection.sendall(b"".join(lines))
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:
            return b""


def assert_answers(owner: Note) -> None:
    """Check that the owner still answers; on a busy machine perhaps not at once."""
    wait_until(lambda: predecessor.ask(owner, "status") is not None)


def hello(owner: Note, **more: Any) -> bytes:
    return json.dumps({"token": owner.token, **more}).encode() + b"\n"


STRANGE = [
    b'{"token": "\xc3\xa9"}\n', b'{"token": "\\ud800"}\n', b"[" * 9_000 + b"\n", b'{"a":' * 1_900 + b"\n", b"\xff\n",
    b"\n", b"null\n", b"[]\n", b'"x"\n', b"1e999\n", b"NaN\n", b"\xef\xbb\xbf{}\n", b"x" * 20_000, b"\0" * 9_000, b"",
    b"1" * 9_000 + b"\n",
]  # fmt: skip


@pytest.mark.parametrize("line", STRANGE)
def test_an_unauthenticated_connection_cannot_stop_the_owner(owner: Note, line: bytes) -> None:
    reply = say(owner, line)

    assert reply in (b"", b'{"ok": false}\n')
    assert_answers(owner)


@pytest.mark.parametrize("line", STRANGE)
@pytest.mark.parametrize("want", ["call", "mcp"])
def test_an_authenticated_client_cannot_stop_the_owner(owner: Note, want: str, line: bytes) -> None:
    assert b'"ok": true' in say(owner, hello(owner, want=want), line)
    assert_answers(owner)


CALLS: list[Any] = [
    {}, {"operation": "healthcheck"}, {"arguments": {}}, {"operation": 5, "arguments": {}},
    {"operation": "healthcheck", "arguments": 7}, {"operation": "healthcheck", "arguments": [["a", "b"]]},
    {"operation": None, "arguments": None}, {"operation": "x", "arguments": {}}, {"operation": [], "arguments": {}},
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_malformed_call_ends_its_connection_or_gets_a_problem_reply(owner: Note, call: Any) -> None:
    _, *replies = say(owner, hello(owner, want="call"), json.dumps(call).encode() + b"\n").splitlines()

    assert all("problem" in json.loads(reply) for reply in replies)
    assert_answers(owner)


@pytest.mark.parametrize("toolsets", [5, "x", {}, {"a": 1}, [1], [[]], [None], True])
def test_invalid_toolsets_do_not_stop_the_owner(owner: Note, toolsets: Any) -> None:
    say(owner, hello(owner, want="mcp", toolsets=toolsets))

    assert_answers(owner)


@QUICK
@given(data=st.binary(max_size=300) | VALUES.map(lambda value: json.dumps(value).encode() + b"\n"))
def test_arbitrary_bytes_before_authentication_end_only_the_connection(owner: Note, data: bytes) -> None:
    assert say(owner, data) in (b"", b'{"ok": false}\n')
    assert owner.is_alive


@QUICK
@given(
    more=st.dictionaries(NAMES.filter(lambda value: value != "token"), VALUES, max_size=3),
    want=st.sampled_from(["call", "mcp", "status", 5, None]),
    data=st.binary(max_size=200) | st.dictionaries(NAMES, VALUES).map(lambda value: json.dumps(value).encode() + b"\n"),
)
def test_arbitrary_bytes_from_a_client_end_only_the_connection(
    owner: Note, more: dict[str, Any], want: Any, data: bytes
) -> None:
    say(owner, hello(owner, **{**more, "want": want}), data)
    assert owner.is_alive


@pytest.mark.promise(29)
def test_the_owner_still_serves_after_malformed_input(owner: Note) -> None:
    line, reply = dial(owner.address, {"want": "call", "token": owner.token})
    line.send_message({"operation": "healthcheck", "arguments": {}})

    assert reply["ok"]
    assert line.receive()["result"]["status"]
    line.close()


@pytest.mark.parametrize(
    "address",
    ["tcp:example.org:80", "tcp:0.0.0.0:80", "tcp:127.0.0.1:x", "tcp:127.0.0.1:99999", "tcp:[::1]:80", "", "http:x"],
)
def test_only_addresses_of_this_machine_are_contacted(address: str) -> None:
    with pytest.raises(PermissionError):
        dial(address, {"token": "secret"})


def test_a_socket_in_a_folder_that_other_users_can_enter_is_not_used() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="lore-") as folder,  # a short name, as sockets need
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        path = Path(folder)
        path.chmod(0o755)
        listener.bind(str(path / "s"))
        listener.listen()
        with pytest.raises(PermissionError):
            dial(f"unix:{path / 's'}", {"token": "secret"})
        path.chmod(0o700)
        (path / "link").symlink_to(path / "s")
        with pytest.raises(PermissionError):
            dial(f"unix:{path / 'link'}", {"token": "secret"})
