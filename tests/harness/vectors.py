"""Make rows and vectors for the vector store."""

import numpy as np

from lore_etl.models.embedder import Vectors
from lore_etl.stores.chroma.vector_store import Row


def rows_of(count: int, type_: str = "guide") -> list[Row]:
    return [(f"{n:032x}.{n:016x}", type_, f"docs/{n}.md") for n in range(count)]


def vectors_of(count: int, dimension: int = 16, seed: int = 1) -> Vectors:
    found = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)
