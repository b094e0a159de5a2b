"""Measure a vector store as it grows to a million rows, in this process and on a Chroma server.

    python -m benchmarks.vector_sizes [--rows 1000 10000 100000 300000 1000000] [--modes embedded http] [--json FILE]

The vectors are those of `benchmarks.hnsw`: seeded, of length 1, around 200 centres. Row ids, types and sources are like
those of a project. At each size: adding rows, searches among all rows and among those of a type, recall against a
comparison with all vectors, memory and disk; at the last one also deleting a hundredth of the rows, and Chroma's own
`vacuum`. The server has a tenant and a database of its own, and its memory and processor time are included. Times are
of processors, because these hardly depend on what else the machine does; each mode is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.hnsw import CENTRES, DIMENSION, SPREAD
from lore_etl.config.settings import DatabaseSettings
from lore_etl.models.embedder import Vectors
from lore_etl.stores.chroma.generations import Generations, generations_of
from lore_etl.stores.chroma.vector_store import Row, VectorStore
from tests.harness.chroma import CHROMA, chroma_running
from tests.harness.projects import ROOT

SIZES = (1_000, 10_000, 100_000, 300_000, 1_000_000)
PORTION, QUERIES, TOP = 10_000, 50, 100
TYPES = ("src", "src", "src", "src", "guide", "ticket", "ticket", "test", "test", "release")
RARE = "example"  # of one row in a hundred
ROWS_PER_SOURCE = 6
TENANT, DATABASE = "acme", "team"
MEGABYTE = 1_000_000
COLUMNS = (
    "rows", "mode", "add, ms a row", "open, ms", "search, ms; wall p50", "a common type", "a rare type", "recall@100",
    "memory, MB", "disk, MB",
)  # fmt: skip
Figures = dict[str, float]


class Rows:
    """The rows that were added so far, and the true neighbours of the queries among them."""

    def __init__(self) -> None:
        chance = np.random.default_rng(7)
        self._centres = chance.normal(size=(CENTRES, DIMENSION))
        self.queries = self._around(chance, QUERIES)
        self.count = 0
        self._best = np.empty((QUERIES, 0), dtype=np.float32)
        self._places = np.empty((QUERIES, 0), dtype=np.int64)

    def _around(self, chance: np.random.Generator, count: int) -> Vectors:
        vectors = self._centres[chance.integers(CENTRES, size=count)] + SPREAD * chance.normal(size=(count, DIMENSION))
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def next(self, count: int) -> tuple[list[Row], Vectors]:
        """Return more rows with their vectors."""
        numbers = range(self.count, self.count + count)
        vectors = self._around(np.random.default_rng(self.count), count)
        self._best = np.concatenate([self._best, self.queries @ vectors.T], axis=1)
        self._places = np.concatenate([self._places, np.tile(np.array(numbers), (QUERIES, 1))], axis=1)
        best = np.argsort(-self._best, axis=1)[:, :TOP]
        self._best = np.take_along_axis(self._best, best, axis=1)
        self._places = np.take_along_axis(self._places, best, axis=1)
        self.count += count
        return [row(number) for number in numbers], vectors

    def recall(self, found: Sequence[Sequence[tuple[str, float]]]) -> float:
        hits = sum(
            len({row(int(place))[0] for place in right} & {row_id for row_id, _ in got})
            for right, got in zip(self._places, found, strict=True)
        )
        return hits / self._places.size


def row(number: int) -> Row:
    type_ = TYPES[number % len(TYPES)] if number % 100 else RARE
    place = number // ROWS_PER_SOURCE
    return f"{number:032x}.{number:016x}", type_, f"packages/area{place % 400}/module{place}.py"


class Costs:
    """Measure the processes of a mode: processor time, memory and disk."""

    def __init__(self, processes: Sequence[str], folder: Path) -> None:
        self._processes, self._folder = processes, folder

    def processor(self) -> float:
        """Return the seconds of processor time so far."""
        stats = (Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() for process in self._processes)
        return sum(int(stat[11]) + int(stat[12]) for stat in stats) / 100

    def memory(self) -> float:
        """Return the resident megabytes."""
        texts = (Path(f"/proc/{process}/status").read_text() for process in self._processes)
        return sum(int(text.partition("VmRSS:")[2].split()[0]) for text in texts) * 1024 / MEGABYTE

    def disk(self) -> float:
        return sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file()) / MEGABYTE

    def of(self, act: Callable[[], object]) -> tuple[float, float]:
        """Return the seconds of processor time and of the clock that a call takes."""
        started, before = time.perf_counter(), self.processor()
        act()
        return self.processor() - before, time.perf_counter() - started


@contextmanager
def opened(mode: str, folder: Path) -> Iterator[tuple[Generations, Costs]]:
    if mode == "embedded":
        yield generations_of(folder, DatabaseSettings()), Costs(["self"], folder)
        return
    with chroma_running(folder / "server") as server:
        server.ask("POST", "/api/v2/tenants", {"name": TENANT})
        server.ask("POST", f"/api/v2/tenants/{TENANT}/databases", {"name": DATABASE})
        settings = DatabaseSettings(
            mode="http", host="127.0.0.1", port=server.port, tenant=TENANT, database=DATABASE, timeout_seconds=600
        )
        yield generations_of(folder, settings), Costs(["self", str(server.process.pid)], folder / "server")


def measured(mode: str, sizes: Sequence[int]) -> Iterator[Figures]:
    """Measure one mode at each size, then the deletion and the vacuum."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, rows, found = Path(temporary), Rows(), Figures()
        with opened(mode, folder) as (generations, costs):
            for size in sizes:
                found = at_size(generations, costs, rows, size)
                yield found
            store = generations.open(1, rows.count)
            gone = [row(number)[0] for number in range(0, rows.count, 100)]
            processor, wall = costs.of(lambda: store.delete(gone))
            found |= {"delete ms": 1000 * processor / len(gone), "delete wall": wall, "left": store.count()}
            store.close()
        path = folder / "vectors-1" if mode == "embedded" else folder / "server"
        found["disk before vacuum"] = disk_of(path)
        started = time.perf_counter()
        command = [sys.executable, "-c", CHROMA, "vacuum", "--path", str(path), "--force", "--timeout", "600"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        found |= {"vacuum wall": time.perf_counter() - started, "disk after vacuum": disk_of(path)}
        yield found


def disk_of(folder: Path) -> float:
    return Costs((), folder).disk()


def at_size(generations: Generations, costs: Costs, rows: Rows, size: int) -> Figures:
    """Add rows up to this size, open the store again, and search."""
    before, processor, wall = rows.count, 0.0, 0.0
    store = generations.open(1, before)
    while rows.count < size:
        some, vectors = rows.next(min(PORTION, size - rows.count))
        took = costs.of(lambda some=some, vectors=vectors: store.add(some, vectors))  # type: ignore[misc]
        processor, wall = processor + took[0], wall + took[1]
    store.close()
    added = size - before
    found: Figures = {"rows": size, "add ms": 1000 * processor / added, "add wall ms": 1000 * wall / added}
    stores = list[VectorStore]()
    found["open ms"] = 1000 * costs.of(lambda: stores.append(generations.open(1, size)))[0]
    store = stores[0]
    store.search(rows.queries[0], TOP)  # reads the graph
    for name, type_ in (("all", None), ("common", "src"), ("rare", RARE)):
        only = None if type_ is None else [id_ for id_, own, _ in map(row, range(size)) if own == type_]
        hits, times = searched(costs, rows, partial(store.search, limit=TOP, only=only, type_=type_))
        found[f"{name} ms"] = 1000 * sum(processor for processor, _ in times) / QUERIES
        found[f"{name} p50 ms"] = 1000 * sorted(wall for _, wall in times)[QUERIES // 2]
        if type_ is None:
            found["recall"] = rows.recall(hits)
    found |= {"memory": costs.memory(), "disk": costs.disk()}
    store.close()
    return found


def searched(
    costs: Costs, rows: Rows, search: Callable[[Vectors], list[tuple[str, float]]]
) -> tuple[list[list[tuple[str, float]]], list[tuple[float, float]]]:
    """Return what is found for each query, and what it takes."""
    hits = list[list[tuple[str, float]]]()

    def ask(query: Vectors) -> None:
        hits.append(search(query))

    return hits, [costs.of(partial(ask, query)) for query in rows.queries]


def table(mode: str, one: Figures) -> str:
    cells = (
        f"{one['rows']:,.0f}",
        mode,
        f"{one['add ms']:.2f}",
        f"{one['open ms']:,.0f}",
        f"{one['all ms']:.1f}, {one['all p50 ms']:.1f}",
        f"{one['common ms']:.1f}",
        f"{one['rare ms']:.1f}",
        f"{one['recall']:.3f}",
        f"{one['memory']:,.0f}",
        f"{one['disk']:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def ten_times(two: Sequence[Figures]) -> Figures:
    """Continue the last two sizes as a power of the number of rows to ten times the last."""
    small, large = two
    span = math.log(large["rows"] / small["rows"])
    known = [name for name in small if min(small[name], large[name]) > 0 and name != "recall"]
    return {name: large[name] * 10 ** (math.log(large[name] / small[name]) / span) for name in known}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=SIZES)
    options.add_argument("--modes", nargs="+", default=("embedded", "http"), choices=("embedded", "http"))
    options.add_argument("--json", type=Path, help="a file for the figures")
    options.add_argument("--mode", help=argparse.SUPPRESS)
    values = options.parse_args()
    if values.mode:
        for found in measured(values.mode, sorted(values.rows)):
            print(json.dumps(found), flush=True)
        return
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    every: dict[str, list[Figures]] = {}
    for mode in values.modes:
        command = [sys.executable, "-m", "benchmarks.vector_sizes", "--mode", mode, "--rows", *map(str, values.rows)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            for line in child.stdout:
                found = json.loads(line)
                if "left" not in found:
                    every.setdefault(mode, []).append(found)
                    print(table(mode, found), flush=True)
                else:
                    every[mode][-1] = found
        if child.returncode:
            sys.exit(child.returncode)
        if len(every[mode]) > 1:
            print(table(f"{mode}, calculated", every[mode][-1] | {"recall": math.nan} | ten_times(every[mode][-2:])))
        last = every[mode][-1]
        print(
            f"{mode}: deleting a row {last['delete ms']:.2f} ms, {last['left']:,.0f} rows left; vacuum "
            f"{last['vacuum wall']:.1f} s, "
            f"disk {last['disk before vacuum']:,.0f} to {last['disk after vacuum']:,.0f} MB",
            flush=True,
        )
        if values.json:
            values.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
