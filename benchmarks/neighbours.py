"""Measure operations while a neighbour misbehaves: `python -m benchmarks.neighbours [--rounds 4] [--seconds 10]`.

The neighbours are an answer model, a Chroma server, a git remote, a tracker and the server of the hook. A few threads
use one of them at a fixed rate, while the operations that do not need it are called one after the other, for as many
seconds in each half of a round. In one half, its port refuses connections, which costs no waiting; in the other, it is
silent, slow, cut off or lying, as another process. So both halves have the same work beside the calls; their order
alternates. Prints Markdown: the p50 and the p99 of calls in the second half, as shares of the first. The first row of
each neighbour compares refusals with refusals, and so shows the noise. The model is the tests' stand-in; the index has
the sample project.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import copy_context
from pathlib import Path

import anyio

from benchmarks.load import SAMPLE
from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.execution.threads import CLIENT
from lore_server.hook.knowledge_server import target_of
from lore_server.hook.mcp_connection import open_session
from lore_server.knowledge.store import KnowledgeStore
from lore_server.trackers.pull import PullRequest, pull
from tests.harness.chroma import chroma_running
from tests.harness.knowledge import create, git
from tests.harness.models import HashModel
from tests.harness.neighbours import BEHAVIOURS, misbehaving_apart

USERS = 3  # threads that use the neighbour
PERIOD_SECONDS = 5.0  # between two uses of each; a pull that is refused tries again for 4 s
REFUSING = "refusing"
OPERATIONS: list[tuple[str, JSON]] = [
    ("list_documents", {"limit": 20}),
    ("list_sources", {}),
    ("get_source", {"path": "README.md"}),
    ("get_class_hierarchy", {}),
    ("list_projects", {}),
]
SEARCHES: list[tuple[str, JSON]] = [
    ("query_documents", {"query": word}) for word in ("retry", "worker", "queue", "shutdown")
]
Use = Callable[[App, int], object]


def ask(app: App, port: int) -> object:
    return app.call("ask_knowledge_base", {"query": f"How do retries back off, case {time.monotonic()}?"})


def search(app: App, port: int) -> object:
    return app.call("query_documents", {"query": f"retry {time.monotonic()}"})


def push(app: App, port: int) -> object:
    return app.call("sync_storage", {})


def read_tickets(app: App, port: int) -> object:
    with tempfile.TemporaryDirectory() as folder:
        request = PullRequest("github", "acme/ferry", Path(folder), address=f"http://127.0.0.1:{port}", patience=0)
        return pull(request, lambda stage: None)


def upload(app: App, port: int) -> object:
    async def connect() -> None:
        async with open_session(target_of(f"http://127.0.0.1:{port}/mcp/", {}, Path("/")), str):
            return

    return anyio.run(connect)


NEIGHBOURS: dict[str, Use] = {
    "answer model": ask,
    "Chroma server": search,
    "git remote": push,
    "tracker": read_tickets,
    "hook server": upload,
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def used(app: App, use: Use, port: int) -> Iterator[None]:
    """Use the neighbour at a fixed rate in other threads, as other clients."""
    over = threading.Event()

    def repeat(number: int) -> None:
        CLIENT.set(f"user {number}")
        due = time.monotonic() + number * PERIOD_SECONDS / USERS
        while not over.wait(max(0.0, due - time.monotonic())):
            due += PERIOD_SECONDS
            with suppress(LoreError):
                use(app, port)

    threads = [threading.Thread(target=copy_context().run, args=(repeat, number)) for number in range(USERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def timed(app: App, seconds: float, operations: list[tuple[str, JSON]]) -> list[float]:
    """Return the seconds of each call."""
    found, end = list[float](), time.perf_counter() + seconds
    for operation in itertools.cycle(operations):
        started = time.perf_counter()
        if started > end:
            break
        app.call(*operation)
        found.append(time.perf_counter() - started)
    return found


def compared(app: App, use: Use, port: int, behaviour: str, rounds: int, seconds: float) -> tuple[float, float]:
    """Return the p50 and the p99 of the calls while the neighbour misbehaves, as shares of those while it refuses."""
    operations = OPERATIONS if use is search else OPERATIONS + SEARCHES
    halves = dict[bool, list[float]]({False: [], True: []})
    for number in range(2 * rounds):
        is_bad = number % 4 in (1, 2)
        with used(app, use, port), ExitStack() as stack:
            if is_bad and behaviour != REFUSING:
                stack.enter_context(misbehaving_apart(behaviour, port))
            halves[is_bad] += timed(app, seconds, operations)
    middle = statistics.median(halves[True]) / statistics.median(halves[False])
    return middle, statistics.quantiles(halves[True], n=100)[-1] / statistics.quantiles(halves[False], n=100)[-1]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--neighbours", nargs="*", default=[*NEIGHBOURS])
    options.add_argument("--behaviours", nargs="*", default=[*BEHAVIOURS])
    given = options.parse_args()
    print("| neighbour | behaviour | p50 | p99 |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="lore-") as name, chroma_running(Path(name, "chroma")) as chroma:
        for variable in ("LORE_HOME", "LORE_STATE", "XDG_CONFIG_HOME"):
            os.environ[variable] = str(Path(name, variable))
        os.environ["OPENAI_API_KEY"] = "played"
        folder, port = Path(name).resolve(), free_port()
        knowledge = KnowledgeStore(folder / "LORE_HOME")
        create(knowledge)
        git(knowledge.home, "remote", "add", "origin", f"http://127.0.0.1:{port}/knowledge.git")
        answer = {"provider": "openai", "model": "m", "base_url": f"http://127.0.0.1:{port}", "requests_per_minute": 0}
        for neighbour in given.neighbours:
            project = folder / neighbour
            shutil.copytree(SAMPLE, project)
            is_chroma = NEIGHBOURS[neighbour] is search
            database = [{"mode": "http", "host": "127.0.0.1", "port": at} for at in (chroma.port, port)]
            settings = [{"answer": answer} | ({"database": one} if is_chroma else {}) for one in database]
            built, used_settings = map(Settings.model_validate, settings)
            with closing(App(project, built, load_contract(), HashModel())) as app:
                sync(app.index)
            with closing(App(project, used_settings, load_contract(), HashModel())) as app:
                for behaviour in (REFUSING, *given.behaviours):
                    ratios = compared(app, NEIGHBOURS[neighbour], port, behaviour, given.rounds, given.seconds)
                    print(f"| {neighbour} | {behaviour} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
