"""Measure how Lore grows, in a real project or a synthetic one of any size.

    python -m benchmarks.growth [--checkout PATH] [--chunks 1000 10000 20000 100000 300000] [--folder DIR]

One project grows from size to size. At each: the sync of the new chunks, one without changes and some of edited files,
queries, recall of the vector search against a comparison with all vectors, memory and disk. With `--checkout`, the
files are those of a real project, in random order and under its own ignore rules, and the sizes are approximate; its
last size is the whole project. The vectors of added files are synthetic in both (`synthetic.py`), so the model only
embeds the queries and the edits. Every size is measured in a separate process; `--json` keeps the figures, and the plot
is drawn from them: `python -m benchmarks.growth --draw FIGURES`.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks import synthetic
from benchmarks.before_after import SETTLED_SECONDS
from benchmarks.edit import Editor
from benchmarks.plot import Line, chart
from benchmarks.search_parts import PARTS, SEARCH, figures, measure
from lore_etl.config.settings import Settings
from lore_etl.core.model import row_id_of
from lore_etl.files.indexed import ProjectFiles
from lore_etl.index import Index
from lore_etl.system.processes import keep_present_objects
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.projects import ROOT

SIZES = (1_000, 10_000, 20_000, 100_000, 300_000)
PICTURE = ROOT / "docs" / "images" / "growth.svg"
QUESTIONS = 60
TOP = 100
EDITS = 5
CHUNKS_PER_REAL_FILE = 5  # about the average of Neo.mjs and Waypoint
MEGABYTE = 1_000_000
Figures = dict[str, float]


def add_files(root: Path, checkout: Path | None, before: int, chunks: int) -> None:
    """Add the files that take the project from one number of chunks to another."""
    if checkout is None:
        synthetic.write_tree(root, range(before // synthetic.CHUNKS, chunks // synthetic.CHUNKS))
        return
    paths = sorted(ProjectFiles(checkout, (), checkout / ".lore").scan().files)
    random.Random(5).shuffle(paths)
    rules = [path.relative_to(checkout).as_posix() for path in checkout.rglob(".gitignore")]
    for path in rules + paths[before // CHUNKS_PER_REAL_FILE : chunks // CHUNKS_PER_REAL_FILE]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(checkout / path, root / path)
    time.sleep(SETTLED_SECONDS)


def synced(root: Path) -> Figures:
    """Sync the added files; return processor and wall time of this, and of a sync without change."""
    with closing(Index(root, Settings())) as index:
        around = synthetic.centres(index)
        known = index.catalogue.total() if index.exists() else 0
        read_wall, read = synthetic.extract(index, around)
    with closing(App(root, Settings(), load_contract())) as app:
        found: Figures = {}
        for name in ("sync", "no change"):
            wall, processor = time.perf_counter(), time.process_time()
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 86_400})
            found |= {f"{name} wall": time.perf_counter() - wall, f"{name} cpu": time.process_time() - processor}
        report = app.call("get_job", {"id": "latest"})["report"]
        assert report["failed"] == [], report
        found["added"] = app.index.catalogue.total() - known
    found["sync wall"] += read_wall
    found["sync cpu"] += read
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    return found


def searched(root: Path) -> Figures:
    """Return the times of queries, the memory of the process that answers them, and recall against all vectors."""
    with closing(App(root, Settings(), load_contract())) as app:
        app.warm()
        app.freshness.watched = True  # as in an owner
        keep_present_objects()
        times = figures(measure(app, QUESTIONS))
        found: Figures = {"chunks": app.index.catalogue.total(), "memory": _resident()}
        found |= {f"query {kind}": value for kind, value in times[SEARCH].items()}
        found |= {f"parts {kind}": value for kind, value in times[PARTS].items()}
        found["recall"] = recall(app.index)
        found["disk"] = sum(file.stat().st_size for file in (root / ".lore").rglob("*") if file.is_file()) / MEGABYTE
        found["edit cpu"] = edited(app)
    return found


def edited(app: App) -> float:
    """Return the processor time of a sync of one edited file: the median of some files."""
    editor, times = Editor(app.index), []
    for _ in range(EDITS):
        editor.edit()
        started = time.process_time()
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        times.append(time.process_time() - started)
    return statistics.median(times)


def recall(index: Index) -> float:
    """Return the share of the true nearest 100 chunks that the vector search finds."""
    around = synthetic.centres(index)
    questions = np.stack([index.embedder.embed_query(question) for question in synthetic.questions(QUESTIONS)])
    hashes = {row_id_of(id_, content): content for _, _, id_, content in index.catalogue.every_row()}
    ids, best = np.array(list(hashes)), np.empty((QUESTIONS, 0))
    places = np.empty((QUESTIONS, 0), dtype=int)
    for start in range(0, len(ids), synthetic.PORTION):
        some = [hashes[row] for row in ids[start : start + synthetic.PORTION]]
        scores = questions @ synthetic.vectors(some, around).T
        best = np.concatenate([best, scores], axis=1)
        places = np.concatenate([places, np.tile(np.arange(start, start + len(some)), (QUESTIONS, 1))], axis=1)
        chosen = np.argsort(-best, axis=1)[:, :TOP]
        best, places = np.take_along_axis(best, chosen, axis=1), np.take_along_axis(places, chosen, axis=1)
    hits = 0
    for question, right in zip(questions, places, strict=True):
        found = {row for row, _ in index.vectors.search(question, TOP)}
        hits += len(found & set(ids[right]))
    return hits / (TOP * QUESTIONS)


def _resident() -> float:
    """Return the resident memory of this process in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / MEGABYTE


def grown(folder: Path, checkout: Path | None, chunks: int, before: int) -> Figures:
    """Grow the project to this size, in child processes."""
    found: Figures = {"size": chunks}
    real = ["--checkout", str(checkout)] if checkout else []
    for step in ("sync", "search"):
        command = [sys.executable, "-m", "benchmarks.growth", "--step", step, "--folder", str(folder)]
        done = subprocess.run(
            [*command, *real, "--chunks", str(before), str(chunks)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def table(every: Sequence[Figures]) -> list[str]:
    """Return the table."""
    lines = [
        "| chunks | sync of the added | sync without change | query p50, p95 | recall@100 | memory | disk |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in every:
        cells = (
            f"{one['chunks']:,.0f}",
            f"{1000 * one['sync cpu'] / one['added']:.1f} ms a chunk, peak {one['peak']:,.0f} MB",
            f"{one['no change cpu']:.2f} s",
            f"{one['query cpu p50']:.0f}, {one['query cpu p95']:.0f} ms",
            f"{one['recall']:.3f}",
            f"{one['memory']:.0f} MB",
            f"{one['disk']:,.0f} MB, {1000 * one['disk'] / one['chunks']:.1f} KB a chunk",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def draw(every: Sequence[Figures]) -> str:
    """Return the plot as SVG."""
    sizes = [one["chunks"] for one in every]
    lines = [
        Line("query, ms of processor time", [one["query cpu p50"] for one in every]),
        Line("of which embedding, HNSW and tantivy alone", [one["parts cpu p50"] for one in every]),
        Line("memory while answering, MB", [one["memory"] for one in every]),
        Line("disk, MB", [one["disk"] for one in every]),
    ]
    return chart("Growth of an index", "chunks", sizes, lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--checkout", type=Path, help="a real project to copy")
    options.add_argument("--chunks", type=int, nargs="+", default=SIZES)
    options.add_argument("--folder", type=Path, help="where the project is kept")
    options.add_argument("--json", type=Path, help="a file for the figures; sizes that it has are not measured again")
    options.add_argument("--draw", type=Path, help="only draw the plot of these figures")
    options.add_argument("--step", choices=("sync", "search"), help=argparse.SUPPRESS)
    values = options.parse_args()
    if values.draw:
        PICTURE.write_text(draw(json.loads(values.draw.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    checkout = values.checkout and values.checkout.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (values.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        synthetic.own_folders(folder)
        root = folder / "project"
        if values.step:
            if values.step == "sync":
                add_files(root, checkout, *values.chunks)
            print(json.dumps(synced(root) if values.step == "sync" else searched(root)))
            return
        known = values.json is not None and values.json.exists()
        every: list[Figures] = json.loads(values.json.read_text(encoding="utf-8")) if known else []
        before = int(every[-1].get("size", every[-1]["chunks"])) if every else 0
        for chunks in sorted(size for size in values.chunks if size > before):
            found = grown(folder, checkout, chunks, before)
            if not found["added"]:
                break  # the checkout has no more files
            every.append(found)
            before = chunks
            print("\n".join(table([found])), f"\nsync of an edit: {found['edit cpu']:.2f} s", flush=True)
            if values.json:
                values.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
        print("\n".join(table(every)))


if __name__ == "__main__":
    main()
