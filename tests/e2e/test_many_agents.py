"""Let many agents use one index while some sync, one edits, and owners are killed."""

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy
from lore_etl.index import Index, Ownership
from lore_server.contract import Contract
from tests.harness.commands import synced_project
from tests.harness.indexes import unfindable
from tests.harness.owners import kill, owner_of, owners, resident_kilobytes, wait_until
from tests.harness.stdio import StdioClient

pytestmark = pytest.mark.later

JSON = dict[str, Any]
AGENTS, SYNCING = 8, 2
BRIDGE_KILOBYTES = 30_000


@dataclass
class Scene:
    """A project that is edited while agents search it: each edit is a new page with a unique word."""

    project: Path
    written: int = 0
    failures: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def edit(self) -> None:
        number = self.written + 1
        page = self.project / "docs" / f"live{number}.md"
        page.write_text(f"# Live {number}\n\nA harbour{number}x for the ferry.\n", encoding="utf-8")
        self.written = number

    def keep_editing(self) -> None:
        while not self.over.wait(0.2):
            self.edit()


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    files = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number{n} crosses the river.\n" for n in range(60)}
    synced_project(tmp_path, {**files, "lore.toml": "[owner]\nidle_minutes = 0.05\n"})
    return Scene(tmp_path)


@pytest.mark.parametrize("searches", [5, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.promise(5)
def test_eight_agents_share_an_index_while_two_sync_and_files_are_edited(
    scene: Scene, contract: Contract, searches: int
) -> None:
    clients = [StdioClient(scene.project) for _ in range(AGENTS)]
    editor = threading.Thread(target=scene.keep_editing)
    editor.start()

    def work(number: int) -> int:
        largest = 0
        for n in range(searches):
            _search(scene, contract, clients[number], f"ferry number{(number * 7 + n) % 60}")
            if number < SYNCING and n % 10 == 0:
                _sync_and_find(scene, clients[number])
            largest = max(largest, resident_kilobytes(clients[number].process.pid), len(owners()) - 1 and 10**9)
        return largest

    with ThreadPoolExecutor(AGENTS) as pool:
        largest = max(pool.map(work, range(AGENTS)))
    scene.over.set()
    editor.join()
    owner = owner_of(scene.project)
    codes = [client.close() for client in clients]
    wait_until(lambda: not owner.is_alive)

    assert scene.failures == []
    assert largest < BRIDGE_KILOBYTES
    assert codes == [0] * AGENTS
    assert owners() == []


@pytest.mark.parametrize("kills", [2, pytest.param(25, marks=pytest.mark.long)])
@pytest.mark.promise(1, 5)
def test_agents_do_not_notice_when_owners_are_killed_during_searches_and_syncs(
    scene: Scene, contract: Contract, kills: int
) -> None:
    clients = [StdioClient(scene.project) for _ in range(4)]
    chance, done = random.Random(7), [0] * len(clients)

    def repeat(number: int, act: Callable[[], None]) -> None:
        try:
            while not scene.over.is_set():
                act()
                done[number] += 1
        except Exception as error:  # raised in a thread: pass it on to the test
            scene.failures.append(repr(error))
            raise

    def sync(client: StdioClient) -> None:
        scene.edit()
        _sync_and_find(scene, client)

    acts: list[Callable[[], None]] = [lambda: sync(clients[0])]
    acts += [partial(_search, scene, contract, client, "ferry number7") for client in clients[1:]]
    threads = [threading.Thread(target=repeat, args=each) for each in enumerate(acts)]
    for thread in threads:
        thread.start()

    def has_moved_on(before: Sequence[int]) -> bool:
        """Return whether each client ended something that it began after the kill, so that a new owner serves it."""
        return bool(scene.failures) or all(now >= then + 2 for now, then in zip(done, before, strict=True))

    for _ in range(kills):
        before = list(done)
        wait_until(partial(has_moved_on, before), seconds=600)
        scene.over.wait(chance.random())  # at any moment of a search or a sync
        kill(owner_of(scene.project))
    scene.over.set()
    for thread in threads:
        thread.join()
    last = clients[0].call("manage_knowledge_base", action="sync", wait_seconds=600)
    health = clients[1].call("healthcheck")
    for client in clients:
        client.close()

    assert scene.failures == []
    assert last["state"] == "done"
    assert health["status"] == "healthy"
    assert _lost_rows(scene.project) == []


def _search(scene: Scene, contract: Contract, client: StdioClient, query: str) -> None:
    reply = client.call("query_documents", query=query)
    if reply.get("error"):
        scene.failures.append(f"{query}: {reply}")
        return
    contract["query_documents"].check_result(reply)
    wanted = f"docs/{query.rpartition('number')[2]}.md"
    if wanted != reply["results"][0]["source"]:
        scene.failures.append(f"{query}: {reply['results'][0]['source']}")


def _sync_and_find(scene: Scene, client: StdioClient) -> None:
    """Sync, and check that pages written before the sync are found."""
    number = scene.written
    job = client.call("manage_knowledge_base", action="sync", wait_seconds=600)
    if job.get("error") or job["state"] != "done":
        scene.failures.append(str(job))
    elif number:
        results = client.call("query_documents", query=f"harbour{number}x").get("results", [])
        if not results or results[0]["source"] != f"docs/live{number}.md":
            scene.failures.append(f"stale: harbour{number}x is not found after the sync")


def _lost_rows(project: Path) -> list[str]:
    wait_until(partial(_can_be_taken, project / ".lore"), seconds=600)  # by then even a starting owner has ended
    index = Index(project, Settings())
    try:
        return unfindable(index)
    finally:
        index.close()


def _can_be_taken(folder: Path) -> bool:
    try:
        ownership = Ownership(folder)
        ownership.take()
    except Busy:
        return False
    ownership.release()
    return True
