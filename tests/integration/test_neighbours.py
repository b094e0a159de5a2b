"""Whatever a neighbour does, its operation ends in time with an error of ours or a fallback that says so."""

import itertools
import socket
import sys
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import anyio
import pytest

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.errors import DatabaseUnavailable, LoreError, ProviderUnavailable
from lore_etl.models import gemini_embedder
from lore_etl.models.gemini_embedder import GeminiEmbedder
from lore_etl.pipeline.sync import sync
from lore_etl.stores.chroma.backend import Patience
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution import foreign_reply
from lore_server.hook.knowledge_server import target_of
from lore_server.hook.mcp_connection import open_session
from lore_server.knowledge import remote
from lore_server.knowledge.store import KnowledgeStore
from lore_server.library_docs import site_client
from lore_server.library_docs.site_client import SiteClient
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from lore_server.trackers import tracker_client
from lore_server.trackers.pull import PullRequest, pull
from tests.harness.chroma import Running, chroma_running
from tests.harness.knowledge import AGENT, create, git
from tests.harness.models import HashModel
from tests.harness.neighbours import BEHAVIOURS, HEAD, Behaviour, misbehaving
from tests.harness.projects import open_index, sync_once, write_project
from tests.harness.trying import often

pytestmark = pytest.mark.later

SECONDS = 0.4
BOUND_SECONDS = 30.0
"""Much more than the deadlines together, and much less than without any."""
PAGES = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}
Use = Callable[[int, Path], None]
"""Uses the neighbour on a port, and checks how the use ends."""


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set shorter deadlines than those of users."""
    for module, name, value in (
        (tracker_client, "TIMEOUT_SECONDS", SECONDS),
        (tracker_client, "READ_SECONDS", 0.0),
        (tracker_client, "ATTEMPTS", 1),
        (site_client, "TIMEOUT_SECONDS", SECONDS),
        (site_client, "READ_SECONDS", 0.0),
        (foreign_reply, "READ_SECONDS", SECONDS),
        (remote, "NETWORK_SECONDS", SECONDS),
        (gemini_embedder, "TIMEOUT_MS", 1_000 * SECONDS),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setenv("GEMINI_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")


def ask_model(provider: str, contract: Contract) -> Use:
    def use(port: int, folder: Path) -> None:
        answer = AnswerSettings.model_validate(
            {"provider": provider, "model": "fake", "base_url": f"http://127.0.0.1:{port}",
             "timeout_seconds": SECONDS, "attempts": 1, "requests_per_minute": 0, "tokens_per_day": 0}
        )  # fmt: skip
        project = write_project(folder / "project", PAGES)
        with closing(App(project.resolve(), Settings(answer=answer), contract, HashModel())) as app:
            sync(app.index)
            reply = app.call("ask_knowledge_base", {"query": "When does the ferry cross the river?"})

        assert (reply["mode"], [citation["source"] for citation in reply["citations"]]) == ("extractive", [*PAGES])
        assert "showing passages instead" in reply["degraded"]

    return use


def embed_with_gemini(port: int, folder: Path) -> None:
    with pytest.raises(ProviderUnavailable):
        GeminiEmbedder("m", f"http://127.0.0.1:{port}", first_delay=0.01).embed_query("ferry")


def at(port: int) -> Settings:
    database = {"mode": "http", "host": "127.0.0.1", "port": port, "timeout_seconds": SECONDS}
    return Settings.model_validate({"database": database})


def search_with_chroma(server: Running) -> Use:
    """Return the use of a server that was sound while the index was built."""

    def use(port: int, folder: Path) -> None:
        project = write_project(folder / "project", PAGES)
        sound = Settings.model_validate({"database": {"mode": "http", "host": "127.0.0.1", "port": server.port}})
        sync_once(project, sound)
        with closing(open_index(project, at(port))) as index:
            index.patience = Patience(SECONDS)
            found = retrieve(index, parse("ferry"), None, 10)
            write_project(project, {"docs/ferry.md": "# Ferry\n\nThe ferry waits at dusk.\n"})
            with pytest.raises(DatabaseUnavailable):
                sync(index)

        assert [candidate.chunk.source for candidate in found.found] == [*PAGES]
        assert (found.degraded or "").startswith("Keyword search only")

    return use


def sync_knowledge_with_git(port: int, folder: Path) -> None:
    store = KnowledgeStore(folder / "home")
    create(store)
    git(store.home, "remote", "add", "origin", f"http://127.0.0.1:{port}/knowledge.git")

    done = store.sync(AGENT)
    create(store, "later")

    assert (done.pulled, done.pushed) == (False, False)
    assert done.remote.problem


def pull_from_tracker(port: int, folder: Path) -> None:
    with pytest.raises(ProviderUnavailable):
        pull(PullRequest("github", "acme/ferry", folder, address=f"http://127.0.0.1:{port}"), lambda stage: None)


def upload_to_hook_server(port: int, folder: Path) -> None:
    async def connect() -> None:
        target = target_of(f"http://127.0.0.1:{port}/mcp/", {}, Path("/"))
        async with open_session(target, str, request_seconds=SECONDS, health_seconds=SECONDS):
            return

    with pytest.raises(LoreError):
        anyio.run(connect)


def read_site(port: int, folder: Path) -> None:
    client = SiteClient(f"http://127.0.0.1:{port}/", is_private_allowed=True, sleep=lambda seconds: None)
    with closing(client):
        try:
            reply = client.get(f"http://127.0.0.1:{port}/")
        except ProviderUnavailable:
            return
    assert reply.problem or "not what you think" in reply.text or "null" in reply.text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with chroma_running(tmp_path_factory.mktemp("chroma")) as running:
        yield running


@pytest.fixture
def uses(contract: Contract, server: Running) -> dict[str, Use]:
    return {
        "gemini": ask_model("gemini", contract),
        "openai": ask_model("openai", contract),
        "gemini embeddings": embed_with_gemini,
        "chroma": search_with_chroma(server),
        "git remote": sync_knowledge_with_git,
        "tracker": pull_from_tracker,
        "hook server": upload_to_hook_server,
        "site": read_site,
    }


NEIGHBOURS = ["gemini", "openai", "gemini embeddings", "chroma", "git remote", "tracker", "hook server", "site"]
QUICK = [
    *itertools.product(["gemini embeddings", "chroma", "git remote", "tracker"], ["silent", "slow head", "slow body"]),
    *itertools.product(["chroma", "git remote", "tracker"], ["huge"]),
    *itertools.product(NEIGHBOURS, ["slow head", "wrong types"]),
]


@pytest.mark.promise(27)
@pytest.mark.parametrize(("neighbour", "behaviour"), often(itertools.product(NEIGHBOURS, BEHAVIOURS), QUICK))
def test_no_misbehaving_neighbour_lasts(uses: dict[str, Use], neighbour: str, behaviour: str, tmp_path: Path) -> None:
    with misbehaving(BEHAVIOURS[behaviour]) as port:
        began = time.monotonic()
        uses[neighbour](port, tmp_path)

        assert time.monotonic() - began < BOUND_SECONDS


def endless(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD % 10**12)
    while not over.is_set():
        connection.sendall(b" " * 100_000)


@cache
def packed_gigabyte() -> bytes:
    packed = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return b"".join(packed.compress(bytes(1_000_000)) for _ in range(1_000)) + packed.flush()


def bomb(connection: socket.socket, over: threading.Event) -> None:
    """Send a million bytes that unpack to a gigabyte."""
    body = packed_gigabyte()
    connection.sendall((HEAD % len(body)).replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + body)


@pytest.mark.promise(27)
@pytest.mark.parametrize("behaviour", [endless, bomb])
@pytest.mark.parametrize("neighbour", ["gemini", "openai", "gemini embeddings", "chroma", "hook server"])
def test_a_long_reply_is_read_up_to_a_limit(
    uses: dict[str, Use], neighbour: str, behaviour: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "SECONDS", BOUND_SECONDS)
    tracemalloc.start()
    try:
        with misbehaving(behaviour) as port:
            uses[neighbour](port, tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 500_000_000
