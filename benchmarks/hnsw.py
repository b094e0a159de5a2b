"""Compare Lore's HNSW settings with Chroma's defaults: `python -m benchmarks.hnsw [--rows 20000]`.

Rows are seeded vectors of length 1 around 200 centres, distributed like the embeddings of a project; an exhaustive
comparison gives the true neighbours.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.main_job import row
from lore_etl.config.settings import DatabaseSettings
from lore_etl.models.embedder import Vectors
from lore_etl.stores.chroma.generations import generations_of

DIMENSION, CENTRES, SPREAD, QUERIES, TOP = 384, 200, 1.0, 200, 100
CHROMAS_OWN = DatabaseSettings(ef_search=100, ef_construction=100, max_neighbors=16)


def clustered(rows: int) -> Vectors:
    """Return vectors of shape (rows, DIMENSION)."""
    random = np.random.default_rng(7)
    centres = random.normal(size=(CENTRES, DIMENSION))
    vectors = centres[random.integers(CENTRES, size=rows)] + SPREAD * random.normal(size=(rows, DIMENSION))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


def measure(label: str, settings: DatabaseSettings, vectors: np.ndarray, queries: np.ndarray) -> None:
    """Measure recall and speed of one setting."""
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :TOP]
    with tempfile.TemporaryDirectory() as folder:
        store = generations_of(Path(folder), settings).open(1)
        started = time.perf_counter()
        store.add([(f"{n}.0", "src", "a.py") for n in range(len(vectors))], vectors)
        added = len(vectors) / (time.perf_counter() - started)
        started = time.perf_counter()
        found = [[int(row_id.partition(".")[0]) for row_id, _ in store.search(query, TOP)] for query in queries]
        milliseconds = 1000 * (time.perf_counter() - started) / len(queries)
        store.close()
    hits = sum(len(set(map(int, right)) & set(got)) for right, got in zip(truth, found, strict=True))
    recall = hits / (TOP * len(queries))
    row(label, f"recall@{TOP} {recall:.3f}, {milliseconds:.1f} ms a query, {added:,.0f} rows/s added")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000)
    vectors = clustered(parser.parse_args().rows + QUERIES)
    rows, queries = vectors[:-QUERIES], vectors[-QUERIES:]
    measure(f"Chroma's HNSW settings, {len(rows)} rows", CHROMAS_OWN, rows, queries)
    measure(f"ours, {len(rows)} rows", DatabaseSettings(), rows, queries)


if __name__ == "__main__":
    main()
