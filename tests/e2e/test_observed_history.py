"""Clients see a consistent history while files are edited and synced, and owners are killed and replaced."""

import random
import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lore_server.contract import load_contract
from tests.harness import http_client
from tests.harness.commands import run_lore
from tests.harness.history import FRESH, Edit, History, Listing, Read, Sync, Write, violations
from tests.harness.interfaces import bearer, send_call, serving
from tests.harness.owners import kill, owner_of, pause, wait_until
from tests.harness.ports import free_port
from tests.harness.projects import write_project
from tests.harness.stdio import StdioClient

JSON = dict[str, Any]
Ask = Callable[[str, JSON], JSON | None]
"""Calls an operation; returns None if it failed or was not answered, so that its effect is unknown."""
FILES = [f"docs/{name}.md" for name in ("harbour", "tower", "beacon", "island", "channel")]
PARTS = 3
EDIT_PAUSE_SECONDS = 0.1  # the most between two files of a burst


def text_of(file: str, version: int) -> str:
    """Return a page with several passages, each of which tells the version."""
    sentence = f"The lighthouse of edition{version} guides the ships past {file} by night."
    return f"# {file}\n" + "".join(f"\n## Part {part}\n\n{' '.join([sentence] * 12)}\n" for part in range(PARTS))


def shown_in(reply: JSON) -> Mapping[str, frozenset[int]]:
    """Return the versions of each file that a reply shows."""
    found = defaultdict[str, set[int]](set)
    for result in reply["results"]:
        texts = [result["excerpt"], *(more["excerpt"] for more in result.get("passages", ()))]
        found[result["source"]] |= {int(number) for text in texts for number in re.findall(r"edition(\d+)", text)}
    return {file: frozenset(versions) for file, versions in found.items() if versions}


class Scene:
    """A project whose files are replaced one after the other, and the clients that use it until the scene is over."""

    def __init__(self, project: Path, staging: Path) -> None:
        self.project, self._staging = project, staging
        self.history = History(frozenset(FILES))
        self.over = threading.Event()
        self.failures: list[Exception] = []
        self.done: list[int] = []
        self.memories = set[str]()
        self.chance = random.Random(7)

    def edit(self, version: int) -> None:
        file = FILES[version % len(FILES)]
        self._staging.write_text(text_of(file, version), encoding="utf-8")
        start = time.monotonic()
        self._staging.replace(self.project / file)
        self.history.edits.append(Edit(start, time.monotonic(), file, version))

    def keep_editing(self) -> Iterator[None]:
        """Replace some files, and continue as soon as a client has seen a fresh state again."""
        version = 0
        while not self.over.is_set():
            for _ in range(self.chance.randint(1, 2 * len(FILES))):
                self.edit(version := version + 1)
                self.over.wait(self.chance.random() * EDIT_PAUSE_SECONDS)
            self._await_freshness()
            yield

    def _await_freshness(self) -> None:
        """Wait until a client has seen a fresh state: without pauses, the index would always be behind the files."""
        since = time.monotonic()
        wait_until(
            lambda: (
                self.over.is_set()
                or any(read.state == FRESH and read.start > since for read in self.history.reads[-20:])
            )
        )

    def keep_reading(self, ask: Ask, word: str) -> Iterator[None]:
        """Search with a word of its own, so that no other client's search is shared."""
        question = {"query": f"lighthouse {word}", "limit": 10, "passages": PARTS, "max_tokens": 20_000}
        while not self.over.is_set():
            start = time.monotonic()
            if (reply := ask("query_documents", question)) is not None:
                end = time.monotonic()
                self.history.reads.append(Read(start, end, reply["freshness"]["state"], shown_in(reply)))
                yield

    def keep_syncing(self, ask: Ask) -> Iterator[None]:
        while not self.over.is_set():
            start = time.monotonic()
            job = ask("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
            if job is not None and job["state"] == "done":
                self.history.syncs.append(Sync(start, time.monotonic()))
                yield

    def keep_writing(self, ask: Ask) -> Iterator[None]:
        """Write a document and a memory in turn, and list the documents."""
        number = 0
        while not self.over.is_set():
            number += 1
            start = time.monotonic()
            if ask("create_knowledge_file", {"filename": f"keepsake{number}", "title": f"Keepsake {number}"}):
                self.history.writes.append(Write(start, time.monotonic(), f"keepsake{number}.md"))
            self.remember(ask, number)
            start = time.monotonic()
            if (reply := ask("list_knowledge_files", {})) is not None:
                names = frozenset(document["filename"] for document in reply["files"])
                self.history.listings.append(Listing(start, time.monotonic(), names))
                self._await_freshness()
                yield

    def remember(self, ask: Ask, number: int) -> None:
        name = f"Keepsake {number}"
        if ask("add_memory", {"name": name, "body": f"A keepsake of day{number}."}):
            self.memories.add(name)

    def play(self, clients: Sequence[Ask], kills: int, restart: Callable[[], None]) -> None:
        """Kill the owner again and again while the clients work, and check what they have seen."""
        reader, other, syncer, writer = clients
        threads = self.perform(
            self.keep_editing(),
            self.keep_reading(reader, "ships"),
            self.keep_reading(other, "night"),
            self.keep_syncing(syncer),
            self.keep_writing(writer),
        )
        try:
            for number in range(kills):
                self.await_steps()
                self.over.wait(self.chance.random() / 2)  # at any moment of a search, a sync or a write
                crash(self.project, loses_vectors=number % 2 == 1)
                restart()
            self.await_steps()
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
        self.check(reader)

    def check(self, ask: Ask) -> None:
        """Compare the history with the promises, and the last state with the files."""
        job = ask("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        last = ask("query_documents", {"query": "lighthouse", "limit": 10, "passages": PARTS, "max_tokens": 20_000})
        memories = ask("search_memories", {"query": "keepsake", "limit": 100, "max_tokens": 50_000, "group_ids": []})

        assert self.failures == []
        assert violations(self.history) == []
        assert job is not None and last is not None and memories is not None
        assert (job["state"], last["freshness"]["state"]) == ("done", "fresh")
        assert shown_in(last) == {edit.file: frozenset([edit.version]) for edit in self.history.edits}
        assert self.memories <= {memory["name"] for memory in memories["results"]}
        assert any(read.state == FRESH for read in self.history.reads)

    def perform(self, *acts: Iterator[None]) -> list[threading.Thread]:
        """Perform each act in a thread of its own, and count its successful steps."""
        self.done = [0] * len(acts)

        def work(number: int, act: Iterator[None]) -> None:
            try:
                for _ in act:
                    self.done[number] += 1
            except Exception as error:  # noqa: BLE001 - raised in a thread: pass it on to the test
                self.failures.append(error)

        threads = [threading.Thread(target=work, args=each) for each in enumerate(acts)]
        for thread in threads:
            thread.start()
        return threads

    def await_steps(self) -> None:
        """Wait until every client has got on."""
        before = list(self.done)

        def have_moved_on() -> bool:
            return all(now > then for now, then in zip(self.done, before, strict=True))

        wait_until(lambda: bool(self.failures) or have_moved_on(), seconds=600)
        assert self.failures == []


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    project = tmp_path / "project"
    write_project(project, {file: text_of(file, 0) for file in FILES})
    scene = Scene(project, tmp_path / "staging.md")
    scene.history.edits += [Edit(0, 0, file, 0) for file in FILES]
    assert run_lore("sync", cwd=project).returncode == 0
    return scene


def over_mcp(client: StdioClient) -> Ask:
    """Return calls through a bridge."""

    def ask(operation: str, arguments: JSON) -> JSON | None:
        reply = client.request("tools/call", {"name": operation, "arguments": arguments})
        result = reply.get("result", {"isError": True})  # an error of the protocol: the owner ended
        return None if result.get("isError") else result["structuredContent"]

    return ask


def over_http(client: httpx2.Client) -> Ask:
    """Return calls of the HTTP API."""

    def ask(operation: str, arguments: JSON) -> JSON | None:
        try:
            reply = send_call(client, operation, arguments)
        except httpx2.HTTPError:
            return None  # there is no server at the moment
        return reply.json() if reply.status_code == 200 else None

    return ask


def crash(project: Path, loses_vectors: bool) -> None:
    """Kill the owner, perhaps after the loss of its vectors: then the next one builds a new generation of them."""
    owner = owner_of(project)
    if loses_vectors:
        pause(owner.pid)
        for path in (project / ".lore").glob("vectors-*"):
            if path.is_dir():  # not the mark of a store that is being checked
                shutil.rmtree(path)
    kill(owner)


@pytest.mark.promise(1, 5)
@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.long)])
def test_agents_see_a_consistent_history_while_owners_are_killed(scene: Scene, kills: int) -> None:
    options = ("--toolsets", ",".join(load_contract().toolsets()))
    with ExitStack() as stack:
        clients = [over_mcp(stack.enter_context(StdioClient(scene.project, *options))) for _ in range(4)]
        scene.play(clients, kills, lambda: None)


@pytest.mark.long
@pytest.mark.promise(1, 5)
def test_http_clients_see_a_consistent_history_while_the_server_is_killed(scene: Scene) -> None:
    port = free_port()
    with ExitStack() as stack:
        server = stack.enter_context(ExitStack())
        url = server.enter_context(serving(scene.project, port=port))
        base, headers = f"{url}/api", bearer(scene.project)
        clients = [stack.enter_context(http_client.Client(base_url=base, headers=headers)) for _ in range(4)]

        def restart() -> None:
            server.close()
            server.enter_context(serving(scene.project, port=port))

        scene.play([over_http(client) for client in clients], 15, restart)
