"""A single process owns an index: others learn its name, a dead owner blocks nobody, and its clients take turns."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, asynccontextmanager, closing
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

import anyio
import anyio.to_thread
import httpx2
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.index import Index, Ownership
from lore_etl.stores.claim import claim
from lore_etl.stores.owner_file import living_note, my_note, note_of, read_note, remove_note, write_note
from lore_etl.stores.readable import RESERVE, RESERVE_BYTES
from lore_server.app import App
from lore_server.execution.threads import CLIENT
from lore_server.http.protocol import LimitedProtocol
from lore_server.owner.find import holder
from lore_server.owner.listen import Connections, SocketServer, until_quiet
from tests.harness.commands import SECONDS
from tests.harness.indexes import assert_equals_fresh
from tests.harness.models import HashModel
from tests.harness.processes import child, hear, run, tell
from tests.harness.projects import open_index, write_project
from tests.integration.test_http_limits import serving

HOLD = """
import sys
from pathlib import Path
from lore_etl.index import Ownership
sys.argv = ["lore", "serve"]
owner = Ownership(Path(FOLDER))
owner.take()
print("held", flush=True)
sys.stdin.read()
"""
TRY = """
import sys
from pathlib import Path
from lore_etl.core.errors import Busy
from lore_etl.index import Ownership
try:
    Ownership(Path(sys.argv[1])).take()
    print("took it")
except Busy as error:
    print(error.message, error.exit_code)
"""


def holding(folder: Path) -> str:
    return HOLD.replace("FOLDER", repr(str(folder)))


@pytest.mark.promise(4)
def test_a_second_process_learns_who_owns_the_index(tmp_path: Path) -> None:
    with child(holding(tmp_path)) as holder:
        assert hear(holder) == "held\n"

        second = run(TRY, tmp_path)

        assert f"`lore serve` (pid {holder.pid}) since " in second.stdout
        assert second.stdout.endswith(" 75\n")


@pytest.mark.promise(4, 6)
def test_taking_an_index_does_not_wait_for_its_owner(tmp_path: Path) -> None:
    refused, taken = [], []
    for number in range(5):  # the fastest of five: the machine may be busy
        folder = tmp_path / str(number)
        with child(holding(folder)) as holder:
            assert hear(holder) == "held\n"
            ownership, started = Ownership(folder), time.monotonic()
            with pytest.raises(Busy):
                ownership.take()
            refused.append(time.monotonic() - started)

            holder.kill()
            holder.wait(120)
            started = time.monotonic()
            ownership.take()
            taken.append(time.monotonic() - started)
            ownership.release()

    assert min(refused) < 0.1
    assert min(taken) < 0.1


def test_two_indexes_exclude_each_other_within_a_process_until_any_thread_closes_the_first(tmp_path: Path) -> None:
    first, second = (Index(tmp_path.resolve(), Settings(), HashModel()) for _ in range(2))
    thread = threading.Thread(target=first.own)
    thread.start()
    thread.join()
    with pytest.raises(Busy, match=str(os.getpid())):
        second.own()

    first.close()
    second.own()
    second.close()


@pytest.mark.parametrize("has_note", [True, False])
def test_an_index_is_taken_once_an_ended_owner_releases_it(tmp_path: Path, has_note: bool) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    first, second = Ownership(tmp_path), Ownership(tmp_path)
    first.take()
    remove_note(tmp_path, my_note())
    if has_note:
        write_note(tmp_path, my_note()._replace(pid=ended.pid))

    with ThreadPoolExecutor() as pool:
        taking = pool.submit(second.take, 120)
        wait([taking], timeout=0.2)  # without patience, it has failed by now
        first.release()
        taking.result()

    second.release()


def test_an_owner_that_is_starting_is_found_once_it_listens(tmp_path: Path) -> None:
    write_note(tmp_path, my_note("background"))

    with ThreadPoolExecutor() as pool:
        finding = pool.submit(holder, tmp_path)
        wait([finding], timeout=0.2)  # without patience, it has returned by now
        write_note(tmp_path, listening := my_note("background", address="tcp:127.0.0.1:7317"))

        assert finding.result() == listening


@pytest.mark.parametrize("note", ["garbage", "[]", "{}", ""])
def test_a_broken_owner_record_hides_only_the_name_of_the_owner(tmp_path: Path, note: str) -> None:
    first = Ownership(tmp_path)
    first.take()
    note_of(tmp_path).write_text(note, encoding="utf-8")

    with pytest.raises(Busy, match="it is unidentified"):
        Ownership(tmp_path).take(wait_seconds=0)

    first.release()


def test_half_written_files_of_a_crash_are_removed_and_the_reserve_is_filled_again(tmp_path: Path) -> None:
    folder = tmp_path / ".lore"
    claim(folder)
    (folder / RESERVE).touch()  # after a cut of the power
    (folder / "chunks.jsonl.gz.123.tmp").write_text("half", encoding="utf-8")
    index = Index(tmp_path.resolve(), Settings(), HashModel())

    index.own()

    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "index.id", "owner.lock", RESERVE]
    assert (folder / RESERVE).stat().st_size == RESERVE_BYTES
    index.close()


RACE = """
import sys, time
from pathlib import Path
from lore_etl.core.errors import Busy
from lore_etl.pipeline.sync import sync
from tests.harness.projects import open_index
index = open_index(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
started = time.process_time()
try:
    print(sync(index).created)
    sys.stdin.readline()
except Busy as error:
    print("busy", time.process_time() - started)
index.close()
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.promise(4)
def test_only_one_of_four_processes_starting_on_an_empty_folder_owns_it(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        root = write_project(tmp_path / str(number), {"a.md": "# A\n\nferry\n"})
        with ExitStack() as stack:
            processes = [stack.enter_context(child(RACE, root)) for _ in range(4)]
            for process in processes:
                assert hear(process) == "ready\n"
            for process in processes:
                tell(process, "\n")

            ends = sorted(hear(process).split() for process in processes)

            assert [end[0] for end in ends] == ["1", "busy", "busy", "busy"]
            assert max(float(end[1]) for end in ends[1:]) < 1  # seconds of processor time: the machine may be busy
            for process in processes:
                process.communicate()
        with closing(open_index(root)) as index:
            assert_equals_fresh(index)


def test_an_owner_that_ends_leaves_the_note_of_its_successor(tmp_path: Path) -> None:
    claim(tmp_path / "index")
    mine, successor = my_note(), my_note()._replace(pid=os.getppid(), born="another time")
    write_note(tmp_path / "index", successor)

    remove_note(tmp_path / "index", mine)
    assert read_note(tmp_path / "index") == successor

    remove_note(tmp_path / "index", successor)
    assert read_note(tmp_path / "index") is None


def test_a_process_that_got_the_id_of_an_ended_owner_is_not_taken_for_it(tmp_path: Path) -> None:
    claim(tmp_path / "index")
    mine = my_note()
    write_note(tmp_path / "index", mine)
    assert living_note(tmp_path / "index") == mine

    for other in (mine._replace(born=f"{mine.born}0"), mine._replace(pid=2**22 + 1)):
        write_note(tmp_path / "index", other)
        assert living_note(tmp_path / "index") is None


TOKEN = "played"
MCP = "lore_server.mcp.mcp_server"


class HeldImport(MetaPathFinder):
    """A finder that holds the import of a module until the import is released."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.reached = threading.Event()
        self.released = threading.Event()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == self._name:
            self.reached.set()
            assert self.released.wait(SECONDS)


@asynccontextmanager
async def served(app: App) -> AsyncIterator[Callable[[], Awaitable[SocketStream]]]:
    """Serve a socket as an owner does, and yield a function that connects to it."""
    server, listener = SocketServer(app, TOKEN, Connections()), await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.welcome)
        yield lambda: anyio.connect_tcp("127.0.0.1", listener.extra(SocketAttribute.local_port))
        tasks.cancel_scope.cancel()


async def say(stream: SocketStream, want: str) -> None:
    await stream.send(json.dumps({"token": TOKEN, "want": want}).encode() + b"\n")


def test_others_are_answered_while_mcp_is_imported_for_an_agent(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    mcp = HeldImport(MCP)
    monkeypatch.delitem(sys.modules, MCP, raising=False)
    monkeypatch.setattr(sys, "meta_path", [mcp, *sys.meta_path])

    async def talk() -> tuple[bytes, bytes]:
        async with served(app) as connect, await connect() as agent:
            await say(agent, "mcp")
            assert await anyio.to_thread.run_sync(mcp.reached.wait, SECONDS)
            async with await connect() as shell:
                await say(shell, "status")
                status = await shell.receive()
            mcp.released.set()
            return status, await agent.receive()

    status, greeting = anyio.run(talk)

    assert json.loads(status) == {"ok": True, "project": str(app.index.root), "clients": 1}
    assert json.loads(greeting.splitlines()[0])["ok"] is True


def test_an_owner_without_clients_stays_until_its_job_has_ended() -> None:
    looks = 0

    def is_needed() -> bool:
        nonlocal looks
        looks += 1
        return looks < 4

    anyio.run(until_quiet, Connections(), 0.01, is_needed)

    assert looks == 4


def test_an_owner_with_a_client_stays() -> None:
    async def main() -> None:
        connections = Connections()
        async with connections.inside(""):
            with anyio.move_on_after(0.2) as time:
                await until_quiet(connections, 0.01, lambda: False)
            assert time.cancelled_caught
        await until_quiet(connections, 0.01, lambda: False)

    anyio.run(main)


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sources", "arguments": {}}}


@pytest.fixture
def clients(hash_app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the clients of the calls so far."""
    call, found = hash_app.call, list[str]()

    def record(operation: str, arguments: JSON, listener: Listener = NOBODY) -> JSON:
        found.append(CLIENT.get())
        return call(operation, arguments, listener)

    monkeypatch.setattr(hash_app, "call", record)
    yield found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of this machine")
@pytest.mark.promise(24)
def test_over_http_the_clients_are_addresses(hash_app: App, clients: list[str]) -> None:
    headers = {"Accept": "application/json, text/event-stream"}
    with serving(hash_app, LimitedProtocol) as (host, port):
        for address in ("127.0.0.1", "127.0.0.2"):
            transport = httpx2.HTTPTransport(local_address=address)
            with httpx2.Client(base_url=f"http://{host}:{port}", transport=transport, timeout=SECONDS) as client:
                client.get("/api/sources")
                client.post("/mcp", json=LIST, headers=headers)

    assert clients == ["127.0.0.1"] * 2 + ["127.0.0.2"] * 2


@pytest.mark.promise(24)
def test_over_the_socket_each_connection_is_a_client(hash_app: App, clients: list[str]) -> None:
    hello = {"token": TOKEN, "want": "call"}
    request = {"operation": "list_sources", "arguments": {}}

    async def talk() -> None:
        async with served(hash_app) as connect, await connect() as first, await connect() as second:
            for stream in (first, second):
                replies = BufferedByteReceiveStream(stream)
                for message in (hello, request, request):
                    await stream.send(json.dumps(message).encode() + b"\n")
                    await replies.receive_until(b"\n", 1_000_000)

    anyio.run(talk)

    assert clients[0] == clients[1] != clients[2] == clients[3]
