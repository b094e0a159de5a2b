"""A server of many projects opens them on demand, and closes those that are idle or too many."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import anyio.to_thread
import pytest

from lore_etl.core.errors import Busy
from lore_etl.core.progress import NOBODY
from lore_etl.stores.claim import is_in_use
from lore_server.contract import load_contract
from lore_server.execution.threads import PROJECTS
from lore_server.owner.projects import Projects
from tests.harness.commands import run_lore
from tests.harness.owners import owner_of, stop_owners, wait_until
from tests.harness.projects import write_project

pytestmark = pytest.mark.later

NAMES = ("one", "two", "three")


@pytest.fixture
def roots(tmp_path: Path) -> dict[str, Path]:
    for name in NAMES:
        write_project(tmp_path / name, {"lore.toml": "", "README.md": f"# Harbour {name}\n\nAbout {name} boats.\n"})
        assert run_lore("sync", cwd=tmp_path / name).returncode == 0
    stop_owners(tmp_path)
    return {name: tmp_path / name for name in NAMES}


def ask(projects: Projects, name: str) -> Any:
    PROJECTS.set((name,))
    return projects.call("query_documents", {"query": "harbour boats"}, NOBODY)["results"][0]["title"]


def with_projects(
    roots: dict[str, Path], work: Callable[[Projects], None], most_open: int = 9, threads: int | None = None
) -> None:
    projects = Projects(roots, None, load_contract(), most_open)

    async def serve() -> None:
        await anyio.to_thread.run_sync(work, projects)

    async def run() -> None:
        if threads is not None:
            anyio.to_thread.current_default_thread_limiter().total_tokens = threads
        await projects.run(serve)

    anyio.run(run)


def wait_for(projects: Projects, states: dict[str, str]) -> None:
    async def reached() -> None:
        with anyio.fail_after(60):
            while projects.states() != states:
                await anyio.sleep(0.01)

    anyio.from_thread.run(reached)


def test_the_project_that_was_unused_for_longest_makes_room_and_opens_again(roots: dict[str, Path]) -> None:
    def work(projects: Projects) -> None:
        assert projects.states() == dict.fromkeys(NAMES, "closed")
        for name in (*NAMES, "one"):
            assert ask(projects, name) == f"Harbour {name}"
        wait_for(projects, {"one": "open", "two": "closed", "three": "open"})
        wait_until(lambda: not is_in_use(roots["two"] / ".lore"))  # its owner closes after it makes room

    with_projects(roots, work, most_open=2)
    assert not any(is_in_use(root / ".lore") for root in roots.values())


def test_threads_that_watch_projects_are_not_those_that_open_others(
    roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lore_server.owner.process.WATCH_AGAIN_MS", 600_000)  # a watcher keeps its thread that long
    titles = list[str]()

    def work(projects: Projects) -> None:
        asking = Thread(target=lambda: titles.extend(ask(projects, name) for name in NAMES), daemon=True)
        asking.start()
        asking.join(60)

    with_projects(roots, work, threads=2)
    assert titles == [f"Harbour {name}" for name in NAMES]


def test_only_idle_projects_are_closed(roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_project(tmp_path, {"config/lore/config.toml": "[owner]\nidle_minutes = 0.005\n"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def work(projects: Projects) -> None:
        with projects.hold("two"):
            ask(projects, "one")
            wait_for(projects, {"one": "closed", "two": "open", "three": "closed"})

    with_projects(roots, work)


def test_a_background_owner_makes_way_and_another_server_does_not(roots: dict[str, Path]) -> None:
    run_lore("search", "boats", cwd=roots["one"])
    assert owner_of(roots["one"]).kind == "background"

    def work(projects: Projects) -> None:
        assert ask(projects, "one") == "Harbour one"
        others = Projects(roots, None, load_contract())

        async def serve() -> None:
            with pytest.raises(Busy):
                await anyio.to_thread.run_sync(ask, others, "one")

        anyio.from_thread.run(others.run, serve)
        assert others.states()["one"] == "BUSY"

    with_projects(roots, work)


def test_a_project_that_is_being_opened_does_not_keep_the_server_alive(roots: dict[str, Path]) -> None:
    projects = Projects(roots, None, load_contract())

    def ask_in_vain() -> None:
        with suppress(Busy):
            ask(projects, "one")

    async def run() -> None:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:

                async def serve() -> None:
                    tasks.start_soon(anyio.to_thread.run_sync, ask_in_vain)
                    while not projects.all["one"].turn.statistics().locked:
                        await anyio.sleep(0)

                await projects.run(serve)

    anyio.run(run)
    assert not is_in_use(roots["one"] / ".lore")
