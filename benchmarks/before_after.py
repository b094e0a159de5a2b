"""Print the cost of a change: syncs, queries and memory on a copy of the installed starlette.

    python -m benchmarks.before_after

Run it alternately in two checkouts, and compare the figures of the pairs. It uses the real model in this process.
"""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import own_cache

ROUNDS = 12
SETTLED_SECONDS = 2.1  # files that were just written are read again by the next sync
QUESTIONS = (
    "how are websocket connections closed",
    "StaticFiles",
    "what does the CORS middleware do with credentials",
    "order of exception handlers",
    "background tasks run after the response",
    "Router lifespan",
    "signing of the session cookie",
    "mount an application under a path",
    "request body stream",
    "TestClient",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
            os.environ[name] = str(Path(folder, name))
        os.environ["LORE_CACHE"] = str(own_cache(Path(folder, "cache")))
        measure(Path(folder, "starlette"))


def measure(project: Path) -> None:
    """Print wall and CPU seconds of three syncs, milliseconds of queries, and the peak memory."""
    copied_project(project)
    report("first sync", lambda: synced(project))
    report("sync without change", lambda: synced(project))
    with open(project / "routing.py", "a", encoding="utf-8") as file:
        file.write("\n# edited\n")
    time.sleep(SETTLED_SECONDS)
    report("sync of one edited file", lambda: synced(project))
    with closing(App(project, Settings(), load_contract())) as app:
        query(app, [0])
        milliseconds = sorted(query(app, range(1, ROUNDS + 1)))
    count = len(milliseconds)
    print(f"query: p50 {milliseconds[count // 2]:.1f} ms, p95 {milliseconds[int(0.95 * count)]:.1f} ms")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def copied_project(project: Path) -> Path:
    """Copy the installed starlette."""
    spec = find_spec("starlette")
    assert spec is not None
    assert spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, project, ignore=shutil.ignore_patterns("__pycache__"))
    time.sleep(SETTLED_SECONDS)
    return project


def synced(project: Path) -> None:
    with closing(Index(project, Settings())) as index:
        assert sync(index).failed == []


def query(app: App, rounds: range | list[int]) -> list[float]:
    taken = []
    for number in rounds:
        for question in QUESTIONS:
            start = time.perf_counter()
            app.call("query_documents", {"query": f"{question} {number}"})
            taken.append(1000 * (time.perf_counter() - start))
    return taken


def report(name: str, work: Callable[[], None]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    print(f"{name}: {time.perf_counter() - wall:.3f} s, {time.process_time() - cpu:.3f} s of CPU")


if __name__ == "__main__":
    main()
