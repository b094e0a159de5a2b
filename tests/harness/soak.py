"""Run many syncs and then many requests on one application, and record the resources that its process holds."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import HashModel
from tests.harness.owners import owner_of, resident_kilobytes

LIVING = 10  # added files that have not been deleted yet
CALLERS = 8
BATCH = 50  # requests between two measurements
ENDINGS = "house gate way field bridge stone water mill yard wood port ness"
WORDS = [f"{first}{last}" for first in "light moor sea north old red high west".split() for last in ENDINGS.split()]
LANES = "call"  # prefix of the names of App's worker threads


@dataclass(frozen=True)
class Usage:
    """The resources of a process: open descriptors, threads without the worker pool, resident kilobytes."""

    descriptors: int
    threads: int
    kilobytes: int

    @classmethod
    def now(cls) -> Usage:
        """Measure this process. The worker pool is excluded: it starts its threads one by one, up to a fixed number."""
        lanes = sum(thread.name.startswith(LANES) for thread in threading.enumerate())
        return cls(
            len(list(Path("/proc/self/fd").iterdir())) - 1,  # without the descriptor of the listing
            len(list(Path("/proc/self/task").iterdir())) - lanes,
            resident_kilobytes("self"),
        )


@dataclass(frozen=True)
class Soaked:
    """The resources of the process after the warm-up, after each sync, and after each batch of requests."""

    after_syncs: list[Usage]
    after_requests: list[Usage]


def slope(samples: Sequence[Usage], steps: int) -> float:
    """Return the growth of memory in kilobytes per step, by least squares over the second half of `steps`."""
    half = [sample.kilobytes for sample in samples[len(samples) // 2 :]]
    return float(np.polyfit(np.arange(len(half)), half, 1)[0]) * (len(samples) - 1) / steps


def soak(project: Path, pages: int, syncs: int, requests: int) -> Soaked:
    """Run syncs that each find changes, then requests of several kinds from several threads.

    The environment decides where Lore keeps its own files (`LORE_HOME`). Raises the error of a failed call.
    """
    project.mkdir()
    (project / "base.py").write_text("class Base:\n    pass\n", encoding="utf-8")
    for number in range(pages):
        _write(project / f"docs/page{number}.md", number)
    model = HashModel()
    with (
        closing(App(project.resolve(), Settings(), load_contract(), model)) as app,
        ThreadPoolExecutor(CALLERS) as callers,
    ):
        _sync(app)
        _ask(app, callers, range(4 * BATCH))
        for number in range(LIVING):
            _change(project, number)
            _sync(app)
        after_syncs = [Usage.now()]
        for number in range(LIVING, LIVING + syncs):
            _change(project, number)
            report = _sync(app)
            assert all(report[done] for done in ("updated", "created", "deleted")), report
            assert _finds(app, number)
            model.embedder.embedded.clear()  # the stand-in records every text, for other tests
            after_syncs.append(Usage.now())
        _ask(app, callers, range(4 * BATCH))
        after_requests = [Usage.now()]
        for start in range(0, requests, BATCH):
            _ask(app, callers, range(start, start + BATCH))
            after_requests.append(Usage.now())
        return Soaked(after_syncs, after_requests)


def edit_and_sync(project: Path, lore: Callable[..., CompletedProcess[str]], rounds: int) -> list[int]:
    """Edit a page of a small project, sync and search, again and again; return the owner's kilobytes after each."""
    project.mkdir()
    for number in range(20):
        _write(project / f"docs/page{number}.md", number)
    samples = list[int]()
    assert lore("init", cwd=project).returncode == 0
    for number in range(rounds):
        _write(project / "docs/page0.md", rounds + number)
        for command in (["sync"], ["search", _sentence(rounds + number)]):
            done = lore(*command, cwd=project)
            assert done.returncode == 0, done.stderr
        samples.append(resident_kilobytes(owner_of(project).pid))
    return samples


def _change(project: Path, number: int) -> None:
    """Edit a page, add a class, and delete a class that an earlier change added."""
    _write(project / f"docs/page{number % LIVING}.md", number)
    (project / f"part{number}.py").write_text(
        f'from base import Base\n\n\nclass Part{number % LIVING}(Base):\n    """{_sentence(number)}"""\n',
        encoding="utf-8",
    )
    (project / f"part{number - LIVING}.py").unlink(missing_ok=True)


def _write(page: Path, number: int) -> None:
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"# Page\n\n{_sentence(number)}\n", encoding="utf-8")


def _sentence(number: int) -> str:
    """Return a different text for each number, from few words: the stand-in model caches a vector per word."""
    return f"{' '.join(random.Random(number).choices(WORDS, k=30))}."


def _finds(app: App, number: int) -> bool:
    """Return whether a search finds the files of a change."""
    results = app.call("query_documents", {"query": _sentence(number)})["results"]
    return {f"docs/page{number % LIVING}.md", f"part{number}.py"} <= {result["source"] for result in results}


def _sync(app: App) -> dict[str, Any]:
    """Sync, wait for the job's thread to end, and return the report."""
    job = app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    for thread in threading.enumerate():
        if thread.name.startswith("job "):
            thread.join()
    report: dict[str, Any] = job["report"]
    assert (report["failed"], report["warnings"]) == ([], []), report  # `rebuilt` is expected after about 550 syncs
    return report


def _ask(app: App, callers: ThreadPoolExecutor, numbers: Iterable[int]) -> None:
    """Send requests of every kind, several at a time. Raises the error of a failed call."""
    for result in callers.map(lambda number: app.call(*_request(number)), numbers):
        assert result


def _request(number: int) -> tuple[str, dict[str, Any]]:
    question = {"query": " ".join(_sentence(number % 500).split()[:4])}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("query_documents", question),
        ("ask_knowledge_base", question),
        ("knowledge_search", question),
        ("list_documents", {"limit": 20, "offset": number % 100}),
        ("list_sources", {}),
        ("get_source", {"path": "base.py"}),
        ("get_class_hierarchy", {}),
        ("healthcheck", {}),
        ("get_job", {"id": "latest"}),
    ]
    return requests[number % len(requests)]
