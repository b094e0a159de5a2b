"""Print how long it takes to find an edit in a large index, by stages, with memory and disk.

    python -m benchmarks.edit [--checkout PATH | --files 4000] [--rounds 9] [--folder DIR]

The project is a copy of a real checkout with its own ignore rules. Without one, the script creates a project of half
Markdown, half Python, with about ten chunks per file and no ignore rules. The real model embeds each edit
and each question. The vectors of the unedited chunks are random, so that the index is built in a minute; this does not
change the cost of a sync. The stages are those of this process; then an owner in the background is measured from
outside, with the commands of a user. Keep the project with `--folder`, and alternate between two checkouts to compare
them. On a busy machine, only processor time is meaningful.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.main_job import LORE, lore_sync, row
from benchmarks.owner import stop
from benchmarks.unified import vocabulary
from lore_etl.config.settings import Settings
from lore_etl.files.indexed import ProjectFiles
from lore_etl.index import Index
from lore_etl.pipeline.sync import create_only
from lore_etl.stores.owner_file import read_note
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.indexes import bytes_below
from tests.harness.models import own_cache
from tests.harness.projects import write_project

SECTIONS, SENTENCES, WORDS = 10, 5, 14
COMMENTS = {".py": "#", ".mjs": "//", ".js": "//", ".ts": "//", ".go": "//", ".md": ""}
OWNED_ROUNDS = 5
SETTLED_SECONDS = 0.1  # edits must be older than a clock tick before the sync


def write_tree(root: Path, files: int) -> None:
    """Write a project of this many files."""
    words, chance = vocabulary(), random.Random(5)
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def sentences() -> str:
        lines = (" ".join(chance.choices(words, weights, k=WORDS)).capitalize() + "." for _ in range(SENTENCES))
        return "\n".join(lines)

    tree = {}
    for number in range(files):
        folder = f"area{number % 40}"
        if number % 2:
            methods = (f'    def method{n}(self) -> None:\n        """{sentences()}"""\n' for n in range(SECTIONS))
            base = "" if number < 3 else f"(Part{number // 4 * 2 + 1})"
            head = "" if number < 3 else f"from parts import Part{number // 4 * 2 + 1}\n\n\n"
            tree[f"{folder}/part{number}.py"] = f"{head}class Part{number}{base}:\n" + "\n".join(methods)
        else:
            parts = (f"## Section {n}\n\n{sentences()}\n" for n in range(SECTIONS))
            tree[f"{folder}/page{number}.md"] = f"# Page {number}\n\n" + "\n".join(parts)
    write_project(root, tree)


def build(root: Path) -> None:
    """Index the project with random vectors for its current chunks."""
    with closing(Index(root, Settings())) as index:
        create_only(index)
        hashes = sorted({chunk.content_hash for chunk in index.catalogue.every_chunk()})
        vectors = np.random.default_rng(1).standard_normal((len(hashes), index.embedder.dimension))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        index.cache.put(hashes, vectors.astype(np.float32))


class Editor:
    """Edits one indexed file after another; in code, the edit moves every class and method by a line."""

    def __init__(self, index: Index) -> None:
        kinds = tuple(COMMENTS)
        self._paths = sorted(index.root / path for path in index.catalogue.paths() if path.endswith(kinds))
        self._number = 0

    def edit(self) -> tuple[Path, str]:
        """Edit the next file, and return it with the new word in it."""
        path = self._paths[(self._number * 997 + 11) % len(self._paths)]
        self._number += 1
        word, before = "".join(random.choices("bcdfgklmnprst", k=14)), path.read_text(encoding="utf-8")
        comment = COMMENTS[path.suffix]
        after = f"{comment} {word}\n{before}" if comment else f"{before}\n## {word}\n\nThis edit.\n"
        path.write_text(after, encoding="utf-8")
        time.sleep(SETTLED_SECONDS)
        return path, word


def measure(app: App, editor: Editor, rounds: int) -> None:
    """Edit a file, sync, and search for the edit."""
    stages: dict[str, list[float]] = {}
    for _ in range(rounds):
        path, word = editor.edit()
        cpu, started = time.process_time(), time.perf_counter()
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        synced = time.perf_counter()
        reply = app.call("query_documents", {"query": word})
        found, cpu = time.perf_counter(), time.process_time() - cpu
        assert path.relative_to(app.index.root).as_posix() in [result["source"] for result in reply["results"]], reply
        report = app.call("get_job", {"id": "latest"})["report"]
        assert report["failed"] == []
        for name, seconds in (
            ("pipeline", report["duration"]),
            ("the job around it", synced - started - report["duration"]),
            ("the question", found - synced),
            ("**from the sync's start to found**", found - started),
            ("processor time of all", cpu),
        ):
            stages.setdefault(f"{path.suffix}: {name}", []).append(1000 * seconds)
    show(stages)


def show(stages: dict[str, list[float]]) -> None:
    for name, times in sorted(stages.items()):
        row(name, f"median {statistics.median(times):.0f} ms, largest {max(times):.0f} ms")


def listing(root: Path) -> None:
    """Time the listing of all files, beside `git status` in the same run."""
    stages: dict[str, list[float]] = {}
    files, edited = ProjectFiles(root, (), root / ".lore"), next(root.glob("*.*"))

    def look() -> None:
        files.notice([str(edited)])
        files.look()

    steps: dict[str, Callable[[], object]] = {
        "listing, the first": files.scan,
        "listing, with kept decisions": files.scan,
        "look at one reported file": look,
    }
    if (root / ".git").exists():
        steps["`git status`"] = lambda: subprocess.run(
            ["git", "status", "-s"], cwd=root, capture_output=True, check=True
        )
    for name, step in steps.items():
        for _ in range(1 if name.endswith("first") else 5):
            started = time.perf_counter()
            step()
            stages.setdefault(name, []).append(1000 * (time.perf_counter() - started))
    show(stages)


def unchanged(app: App) -> None:
    """Sync without a change."""
    stages: dict[str, list[float]] = {}
    for _ in range(5):
        cpu, started = time.process_time(), time.perf_counter()
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        stages.setdefault("sync without change", []).append(1000 * (time.perf_counter() - started))
        stages.setdefault("sync without change, processor time", []).append(1000 * (time.process_time() - cpu))
    show(stages)


def cold(root: Path, step: Callable[[], object], name: str) -> None:
    """Run `lore sync` without an owner after a step."""
    stages: dict[str, list[float]] = {}
    for _ in range(3):
        step()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _, wall = lore_sync(root)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        stages.setdefault(f"`lore sync --no-daemon`, {name}", []).append(1000 * wall)
        stages.setdefault(f"`lore sync --no-daemon`, {name}, processor time", []).append(1000 * cpu)
    show(stages)


def owned(root: Path, editor: Editor) -> None:
    """Measure an owner in the background with whole processes; the processor time is that of both processes."""
    stages: dict[str, list[float]] = {}

    def spent() -> float:
        mine, note = resource.getrusage(resource.RUSAGE_CHILDREN), read_note(root / ".lore")
        fields = Path(f"/proc/{note.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split() if note else []
        ticks = sum(map(int, fields[11:13]))  # proc(5): utime and stime
        return mine.ru_utime + mine.ru_stime + ticks / os.sysconf("SC_CLK_TCK")

    def take(name: str, step: Callable[[], object]) -> None:
        cpu, started = spent(), time.perf_counter()
        step()
        stages.setdefault(f"owner: {name}", []).append(1000 * (time.perf_counter() - started))
        stages.setdefault(f"owner: {name}, processor time", []).append(1000 * (spent() - cpu))

    def memory(name: str) -> None:
        note = read_note(root / ".lore")
        assert note is not None, "the owner has ended"
        row(f"owner: memory after {name}", f"{resident(note.pid):.0f} MB")

    def find() -> None:
        path, word = editor.edit()
        while path.relative_to(root).as_posix() not in [found["source"] for found in _run(root, "search", word)]:
            pass

    stop(root)
    try:
        started = time.perf_counter()
        _run(root, "search", "ready")
        row("owner: the first search, which starts it", f"{time.perf_counter() - started:.2f} s")
        memory("the first search")
        take("the first `lore sync`", lambda: _run(root, "sync"))
        for _ in range(OWNED_ROUNDS):
            take("`lore sync`, no change", lambda: _run(root, "sync"))
        for _ in range(OWNED_ROUNDS):
            editor.edit()
            take("`lore sync`, an edit", lambda: _run(root, "sync"))
        memory("the syncs")
        for _ in range(OWNED_ROUNDS):
            take("from an edit until a search finds it, without a sync", find)
        memory("all edits")
    finally:
        stop(root)
    show(stages)


def _run(root: Path, *command: str) -> list[dict[str, str]]:
    """Run a command of Lore in the project, and return its results, if it has any."""
    done = subprocess.run([LORE, *command, "--json"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: nothing was found
    results: list[dict[str, str]] = json.loads(done.stdout).get("results", [])
    return results


def resident(pid: int) -> float:
    """Return the memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def own_memory() -> str:
    """Return the memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{resident(os.getpid()):.0f} MB, at most {peak / 1024:.0f} MB until then"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=2_000)
    options.add_argument("--checkout", type=Path, help="a real project to copy")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--folder", type=Path, help="where the project is kept, so that another run need not index it")
    values = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (values.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME", "LORE_CACHE"):
            os.environ[name] = str(folder / name)
        root = folder / "project"
        if not root.exists():
            del os.environ["LORE_CACHE"]
            os.environ["LORE_CACHE"] = str(own_cache(folder / "LORE_CACHE"))
            if values.checkout:
                shutil.copytree(values.checkout, root, symlinks=True, ignore=shutil.ignore_patterns(".lore"))
            else:
                write_tree(root, values.files)
            build(root)
        listing(root)
        with closing(App(root, Settings(), load_contract())) as app:
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 86_400})
        with closing(App(root, Settings(), load_contract())) as app:
            app.warm()
            app.freshness.watched = True  # as in an owner, whose searches do not look at all files
            chunks = app.index.catalogue.total()
            editor = Editor(app.index)
            row("index", f"{chunks:,} chunks of {len(app.index.catalogue.stamps()):,} files")
            row("disk", f"{bytes_below(app.index.folder) / chunks / 1000:.1f} KB per chunk")
            row("memory of this process, warm", own_memory())
            unchanged(app)
            measure(app, editor, values.rounds)
            row("memory of this process after the edits", own_memory())
        owned(root, editor)
        cold(root, lambda: None, "no change")
        cold(root, editor.edit, "an edit")


if __name__ == "__main__":
    main()
