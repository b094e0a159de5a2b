"""The embedding cache on real SQLite: lookups, eviction, and recovery from damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lore_etl.core.errors import StorageError
from lore_etl.models.embedder import Vectors
from lore_etl.stores.embedding_cache import CACHE, EmbeddingCache

DIMENSION = 8


def vectors_of(count: int) -> Vectors:
    found = np.random.default_rng(1).normal(size=(count, DIMENSION)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def hashes(count: int) -> list[str]:
    return [f"{n:064x}" for n in range(count)]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[EmbeddingCache]:
    opened = EmbeddingCache(tmp_path, "model one", DIMENSION)
    yield opened
    opened.close()


def test_vectors_are_read_back_bit_for_bit_also_after_reopening(cache: EmbeddingCache, tmp_path: Path) -> None:
    cache.put(hashes(3), vectors_of(3))
    cache.close()

    found = EmbeddingCache(tmp_path, "model one", DIMENSION)
    got = found.get([*hashes(3), "unknown"])
    found.close()

    assert list(got) == hashes(3)
    assert np.array_equal(np.stack(list(got.values())), vectors_of(3))


def test_another_model_or_dimension_finds_no_vectors(cache: EmbeddingCache, tmp_path: Path) -> None:
    cache.put(hashes(1), vectors_of(1))

    for fingerprint, dimension in (("model two", DIMENSION), ("model one", DIMENSION + 1)):
        other = EmbeddingCache(tmp_path, fingerprint, dimension)
        assert other.get(hashes(1)) == {}
        other.close()


def test_unused_vectors_are_dropped_once_there_are_many(cache: EmbeddingCache) -> None:
    cache.put(hashes(1_600), vectors_of(1_600))

    cache.keep_only(set(hashes(600)))
    assert len(cache.get(hashes(1_600))) == 1_600

    cache.keep_only(set(hashes(100)))
    assert list(cache.get(hashes(1_600))) == hashes(100)


def test_a_vector_whose_length_is_not_one_is_computed_again(cache: EmbeddingCache, tmp_path: Path) -> None:
    cache.put(hashes(2), vectors_of(2))
    connection = sqlite3.connect(tmp_path / CACHE)
    connection.execute("UPDATE vector SET value = ? WHERE content = ?", (b"\xff" * 4 * DIMENSION, hashes(2)[0]))
    connection.commit()
    connection.close()

    assert list(cache.get(hashes(2))) == hashes(2)[1:]


def overwrite(file: Path, start: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(start)
        opened.write(b"\xa5" * (file.stat().st_size - start))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"garbage" * 5_000),
    "all but the first page": lambda file: overwrite(file, 4_096),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:10_000]),
    "emptied": lambda file: file.write_bytes(b""),
    "deleted": lambda file: file.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_set_aside_and_the_cache_starts_empty(
    cache: EmbeddingCache, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    cache.put(hashes(2_000), vectors_of(2_000))
    cache.close()
    damage(tmp_path / CACHE)

    again = EmbeddingCache(tmp_path, "model one", DIMENSION)
    again.get(hashes(2_000))
    again.put(hashes(3), vectors_of(3))

    assert list(again.get(hashes(3))) == hashes(3)
    again.close()


def test_a_full_disk_is_reported(cache: EmbeddingCache) -> None:
    cache.put(hashes(1), vectors_of(1))
    cache._opened().execute("PRAGMA max_page_count = 1")  # SQLite then reports a full disk

    with pytest.raises(StorageError):
        cache.put(hashes(2_000), vectors_of(2_000))

    assert list(cache.get(hashes(1))) == hashes(1)
