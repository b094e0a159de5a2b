"""Compare a separate Chroma server with Chroma in this process: `python -m benchmarks.databases [--rows 5000]`.

The vectors are those of `benchmarks.hnsw`. The server is killed with `kill -9` while rows are unsealed in its files.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.hnsw import QUERIES, TOP, clustered
from benchmarks.main_job import row
from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.generations import FolderGenerations, generations_of
from lore_etl.stores.chroma.vector_store import Row, VectorStore

UPSERTS, SHORT = 500, 10


def timed(act: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def measure(mode: str, vectors: np.ndarray, queries: np.ndarray) -> None:
    """Measure one database mode with the given rows."""
    rows: list[Row] = [(f"{n:032x}.{n:016x}", "src", "a.py") for n in range(len(vectors))]
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :TOP]
    with tempfile.TemporaryDirectory() as folder:
        generations = generations_of(Path(folder), DatabaseSettings.model_validate({"mode": mode}))
        generations.open(1).close()  # import the libraries before timing
        opened: list[VectorStore] = []
        row(f"{mode}: open", f"{1000 * timed(lambda: opened.append(generations.open(1))):.0f} ms")
        store = opened[0]
        row(f"{mode}: add", f"{1000 * timed(lambda: store.add(rows, vectors)) / len(rows):.2f} ms a row")
        store.search(queries[0], TOP)
        found: list[list[tuple[str, float]]] = []
        took = timed(lambda: found.extend(store.search(query, TOP) for query in queries)) / len(queries)
        hits = sum(
            len({rows[n][0] for n in right} & {row_id for row_id, _ in got})
            for right, got in zip(truth, found, strict=True)
        )
        row(f"{mode}: search", f"{1000 * took:.1f} ms, recall@{TOP} {hits / (TOP * len(queries)):.3f}")
        took = timed(lambda: [store.search(query, SHORT) for query in queries]) / len(queries)
        row(f"{mode}: search for {SHORT}", f"{1000 * took:.1f} ms")
        took = timed(lambda: store.heal(rows[:UPSERTS], vectors[:UPSERTS])) / UPSERTS
        row(f"{mode}: upsert of rows that exist", f"{1000 * took:.1f} ms a row")
        took = timed(lambda: store.missing([row for row, _, _ in rows], vectors))
        row(f"{mode}: look up every row", f"{took:.1f} s")
        row(f"{mode}: close", f"{1000 * timed(store.close):.0f} ms")
        if mode == "server" and isinstance(generations, FolderGenerations):
            kill(generations, rows, vectors)


def kill(generations: FolderGenerations, rows: list[Row], vectors: np.ndarray) -> None:
    """Kill the server after the last write, open it again, and look for every row."""
    store = generations.open(2)
    store.add(rows, vectors)
    os.kill(int(store.where().rpartition(" ")[2]), signal.SIGKILL)
    while store.is_alive():
        os.sched_yield()
    store.close()
    opened: list[VectorStore] = []
    took = timed(lambda: opened.append(generations.open(2, len(rows))))
    lost = opened[0].missing([row for row, _, _ in rows], vectors)
    row("server: open after kill -9", f"{1000 * took:.0f} ms with the first look, {len(lost)} of {len(rows)} rows lost")
    opened[0].close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000)
    vectors = clustered(parser.parse_args().rows + QUERIES)
    for mode in ("embedded", "server"):
        measure(mode, vectors[:-QUERIES], vectors[-QUERIES:])


if __name__ == "__main__":
    main()
