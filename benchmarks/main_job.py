"""Measure syncs, queries, start and memory: `python -m benchmarks.main_job [--package chromadb] [--files 5000]`.

Prints Markdown. Speeds of different programs are compared in one run, on the same chunks.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lore_etl.chunking.fit import embedding_input
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import own_cache

LORE = str(Path(sys.executable).with_name("lore"))
QUERIES = 200
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
PLAIN = """
import json, sys, time, tempfile
texts = json.load(open(sys.argv[1]))
from sentence_transformers import SentenceTransformer
import chromadb
from lore_etl.models.model_cache import weights_folder
model = SentenceTransformer(str(weights_folder()), device="cpu")
with tempfile.TemporaryDirectory() as folder:
    collection = chromadb.PersistentClient(folder).create_collection("plain", embedding_function=None)
    started = time.perf_counter()
    for n in range(0, len(texts), 32):
        some = texts[n:n + 32]
        collection.add([str(n + k) for k in range(len(some))], embeddings=model.encode(some))
    print(time.perf_counter() - started)
"""


def package_copy(name: str, folder: Path) -> Path:
    """Copy an installed package, so that its index is written elsewhere."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"there is no package {name}")
    target = folder / name
    shutil.copytree(spec.submodule_search_locations[0], target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def lore_sync(project: Path) -> tuple[dict[str, float], float]:
    """Run `lore sync` without an owner, and return its report and wall time."""
    started = time.perf_counter()
    done = subprocess.run(
        [LORE, "sync", "--json", "--no-daemon"], cwd=project, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["report"], time.perf_counter() - started


def plain_loop(texts: Sequence[str], folder: Path) -> float:
    """Return the seconds of a sentence-transformers + Chroma loop over the same texts, without the start-up."""
    file = folder / "texts.json"
    file.write_text(json.dumps(texts))
    done = subprocess.run([sys.executable, "-c", PLAIN, str(file)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def first_sync(package: str, folder: Path) -> Path:
    """Compare a first sync with the plain loop, on the same chunks."""
    project = package_copy(package, folder)
    report, wall = lore_sync(project)
    index = Index(project, Settings())
    texts = [embedding_input(chunk) for chunk in index.catalogue.every_chunk()]
    index.close()
    plain = plain_loop(texts, folder)
    row("first sync", f"{len(texts)} chunks of `{package}` in {wall:.1f} s: {len(texts) / wall:.1f} chunks/s")
    row("plain sentence-transformers + Chroma loop", f"{plain:.1f} s: {len(texts) / plain:.1f} chunks/s")
    row("**ratio** (start-up of Lore counted, of the loop not)", f"**{plain / wall:.2f}×**")
    row("files, failed", f"{report['files']}, {len(report['failed'])}")  # type: ignore[arg-type]
    return project


def no_change(count: int, folder: Path) -> None:
    """Measure a sync of many unchanged files."""
    project = folder / "many"
    for n in range(count):
        file = project / f"area{n % 50}" / f"page{n}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {n}\n\nA sentence about subject {n}.\n")
    lore_sync(project)
    runs = [lore_sync(project) for _ in range(5)]
    walls = sorted(wall for _, wall in runs)
    inner = statistics.median(report["duration"] for report, _ in runs)
    row(f"sync without change, {count} files", f"{walls[2]:.2f} s whole process (median of 5), {inner:.2f} s of work")


def warm_queries(project: Path) -> None:
    """Measure the latency of a warm query through `App.call`."""
    app = App(project, Settings(), load_contract())
    chunks = list(app.index.catalogue.every_chunk())
    step = max(1, len(chunks) // QUERIES)
    texts = [" ".join((chunk.symbols or chunk.heading or (chunk.title,))[-1:]) for chunk in chunks[::step]][:QUERIES]
    try:
        app.call("query_documents", {"query": "warm up"})
        for label, queries in (("name", texts), ("question", [f"how is {text} used and why" for text in texts])):
            times = []
            for text in queries:
                started = time.perf_counter()
                app.call("query_documents", {"query": text[:500] or "x"})
                times.append(1000 * (time.perf_counter() - started))
            times.sort()
            p50, p95 = times[len(times) // 2], times[int(0.95 * len(times))]
            row(f"warm query by {label}, {len(chunks)} chunks", f"p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    finally:
        app.close()


def first_tools_list(project: Path) -> None:
    """Measure how long `lore mcp` without an owner takes to list its tools and to return a search result."""
    lists: list[float] = []
    searches: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        process = subprocess.Popen(
            [LORE, "mcp", "--no-daemon"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        call = {"name": "query_documents", "arguments": {"query": "client"}}
        for number, (method, params) in enumerate([("initialize", HELLO), ("tools/list", {}), ("tools/call", call)]):
            if number == 1:
                process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            process.stdout.readline()
            if number:
                (lists if number == 1 else searches).append(time.perf_counter() - started)
        process.stdin.close()
        process.wait()
        process.stdout.close()
    row("`lore mcp` to the first `tools/list`", f"{statistics.median(lists):.2f} s (median of 5)")
    row("`lore mcp` to the first search result", f"{statistics.median(searches):.2f} s (median of 5)")


def peak_memory(project: Path) -> None:
    """Measure the maximum resident memory of the programs that a user runs."""
    (project / "bench_new_file.py").write_text("def a_new_function() -> int:\n    return 1\n")
    for label, command in (
        ("sync of one new file", ["sync", "--no-daemon"]),
        ("search", ["search", "client", "--no-daemon"]),
    ):
        script = (
            "import resource, subprocess, sys;"
            "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-P", "-c", script, LORE, *command],
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        )
        row(f"peak memory, {label}", f"{int(done.stdout) // 1024} MB")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    row("peak memory of any child in this run (the plain loop included)", f"{peak} MB")


def row(what: str, figure: str) -> None:
    """Print a line of the table immediately."""
    print(f"| {what} | {figure} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", default="chromadb")
    parser.add_argument("--files", type=int, default=5000)
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip()}, {os.cpu_count()} cores\n")
    print("| what | figure |\n|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["LORE_CACHE"] = str(own_cache(folder / "cache"))  # vectors of earlier runs would be found again
        project = first_sync(options.package, folder)
        warm_queries(project)
        first_tools_list(project)
        peak_memory(project)
        no_change(options.files, folder)


if __name__ == "__main__":
    main()
