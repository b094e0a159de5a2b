"""The embedding cache on real SQLite: lookups, eviction, and recovery from damage."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.core.errors import StorageError
from lore_etl.models.embedder import Vectors
from lore_etl.pipeline.embed import SPREAD
from lore_etl.stores.embedding_cache import CACHE, SHARED, EmbeddingCache, SharedVectors
from lore_etl.stores.integrity import is_suspect
from tests.harness.damaging import overwrite

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


def test_half_precision_moves_a_vector_less_than_two_equal_texts_are_moved_apart(tmp_path: Path) -> None:
    vectors = np.random.default_rng(2).normal(size=(500, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cache = EmbeddingCache(tmp_path, "model one", 384)

    kept = np.stack(list(cache.put(hashes(500), vectors).values()))

    cache.close()
    assert np.linalg.norm(kept - vectors, axis=1).max() < SPREAD / 3
    assert (tmp_path / CACHE).stat().st_size < 500 * 1_200


@pytest.mark.promise(14)
def test_vectors_are_read_back_as_they_were_returned_also_after_reopening_but_not_for_another_model_or_dimension(
    cache: EmbeddingCache, tmp_path: Path
) -> None:
    cache.put(hashes(1), vectors_of(1))
    for fingerprint, dimension in (("model two", DIMENSION), ("model one", DIMENSION + 1)):
        other = EmbeddingCache(tmp_path, fingerprint, dimension)
        assert other.get(hashes(1)) == {}
        other.close()

    returned = cache.put(hashes(3), vectors_of(3))
    cache.close()
    found = EmbeddingCache(tmp_path, "model one", DIMENSION)
    got = found.get([*hashes(3), "unknown"])
    found.close()
    assert list(got) == hashes(3)
    assert {vector.dtype for vector in got.values()} == {np.dtype(np.float32)}
    assert np.array_equal(np.stack(list(got.values())), np.stack(list(returned.values())))


def test_unused_vectors_are_dropped_once_there_are_many(cache: EmbeddingCache) -> None:
    cache.put(hashes(1_600), vectors_of(1_600))

    cache.keep_only(600, lambda: set(hashes(600)))
    assert len(cache.get(hashes(1_600))) == 1_600

    cache.keep_only(100, lambda: set(hashes(100)))
    assert list(cache.get(hashes(1_600))) == hashes(100)


def turn_around(value: bytes) -> bytes:
    """Change the sign of a vector's first number: one bit, and the length stays 1."""
    return bytes([value[0], value[1] ^ 0x80]) + value[2:]


def change_a_value(file: Path, content_hash: str, value: Callable[[bytes], object]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        (stored,) = connection.execute("SELECT value FROM embedding WHERE content = ?", (content_hash,)).fetchone()
        connection.execute("UPDATE embedding SET value = ? WHERE content = ?", (value(stored), content_hash))


def test_a_changed_bit_or_a_vector_of_another_text_is_noticed_by_every_reader_and_repaired(
    cache: EmbeddingCache, tmp_path: Path
) -> None:
    names = hashes(3)
    cache.put(names, vectors_of(3))
    change_a_value(tmp_path / CACHE, names[0], turn_around)
    assert list(cache.similarities(vectors_of(1)[0], names)) == names[1:]
    assert is_suspect(tmp_path / CACHE)
    assert list(cache.get(names)) == names[1:]
    assert cache.repair() == names[:1]
    assert not is_suspect(tmp_path / CACHE)
    assert cache.repair() == []

    names = hashes(2)
    cache.put(names, vectors_of(2))
    with closing(sqlite3.connect(tmp_path / CACHE)) as connection:
        (other,) = connection.execute("SELECT value FROM embedding WHERE content = ?", (names[1],)).fetchone()
    change_a_value(tmp_path / CACHE, names[0], lambda value: other)
    assert list(cache.get(names)) == names[1:]


@pytest.mark.parametrize("layout", [0, 1, 3])
@pytest.mark.promise(15)
def test_a_file_of_another_layout_is_set_aside(cache: EmbeddingCache, tmp_path: Path, layout: int) -> None:
    cache.put(hashes(2), vectors_of(2))
    cache.close()
    with closing(sqlite3.connect(tmp_path / CACHE)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")

    for known in ([], hashes(1)):
        with closing(EmbeddingCache(tmp_path, "model one", DIMENSION)) as again:
            assert list(again.get(hashes(2))) == known
            again.put(hashes(1), vectors_of(1))
    assert (tmp_path / f"{CACHE}.damaged").exists()


@pytest.mark.parametrize("layout", [0, 1, 3])
@pytest.mark.promise(15)
def test_a_shared_file_of_another_layout_is_replaced(tmp_path: Path, layout: int) -> None:
    value = {one: b"vector" for one in hashes(2)}
    with closing(SharedVectors(tmp_path, 1_000_000)) as shared:
        shared.put("model", value)
        assert shared.get("model", hashes(2)) == value
    with closing(sqlite3.connect(tmp_path / SHARED)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")

    for known in ({}, {}, value):  # the second run creates it again
        with closing(SharedVectors(tmp_path, 1_000_000)) as shared:
            assert shared.get("model", hashes(2)) == known
            shared.put("model", value)


def test_similarities_are_those_of_the_known_vectors_also_during_a_write(cache: EmbeddingCache, tmp_path: Path) -> None:
    vectors, names = vectors_of(600), hashes(600)
    cache.put(names, vectors)
    writer = sqlite3.connect(tmp_path / CACHE)
    writer.execute("DELETE FROM embedding")

    found = cache.similarities(vectors[3], [*names, "unknown"])

    writer.close()
    assert list(found) == names
    assert np.allclose(list(found.values()), vectors @ vectors[3], atol=SPREAD)
    assert cache.similarities(vectors[3], []) == {}


def test_preloaded_vectors_are_not_read_again_and_others_once_until_they_change(
    cache: EmbeddingCache, tmp_path: Path
) -> None:
    vectors, names = vectors_of(3), hashes(3)
    cache.put(names, vectors)
    cache.kept_values([*names, "unknown"])
    with closing(sqlite3.connect(tmp_path / CACHE)) as connection, connection:
        connection.execute("DELETE FROM embedding")
    assert cache.similarities(vectors[0], names).keys() == set(names)

    vectors, names = vectors_of(4), hashes(3)
    cache.put(names, vectors[:3])
    before = cache.similarities(vectors[0], names)
    with closing(sqlite3.connect(tmp_path / CACHE)) as connection, connection:
        connection.execute("DELETE FROM embedding")
    assert cache.similarities(vectors[0], names) == before
    cache.put(names[1:2], vectors[3:])
    assert cache.similarities(vectors[3], names[1:2])[names[1]] == pytest.approx(1, abs=SPREAD)


@pytest.mark.parametrize("value", [b"", b"\xff" * 2 * DIMENSION, b"\0" * 2 * DIMENSION, b"\0" * 7, "text", 3, None])
def test_a_damaged_vector_has_no_similarity_and_is_computed_again(
    cache: EmbeddingCache, tmp_path: Path, value: object
) -> None:
    cache.put(hashes(2), vectors_of(2))
    change_a_value(tmp_path / CACHE, hashes(2)[0], lambda stored: value)

    assert list(cache.similarities(vectors_of(1)[0], hashes(2))) == hashes(2)[1:]
    assert list(cache.get(hashes(2))) == hashes(2)[1:]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"garbage" * 5_000),
    "all but the first page": lambda file: overwrite(file, 4_096 / file.stat().st_size, file.stat().st_size),
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


@pytest.mark.promise(3)
def test_a_full_disk_is_reported(cache: EmbeddingCache) -> None:
    cache.put(hashes(1), vectors_of(1))
    cache._open_once().execute("PRAGMA max_page_count = 1")  # SQLite then reports a full disk

    with pytest.raises(StorageError):
        cache.put(hashes(2_000), vectors_of(2_000))

    assert list(cache.get(hashes(1))) == hashes(1)


def test_only_computed_vectors_are_shared_with_other_indexes(tmp_path: Path) -> None:
    caches = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shared = SharedVectors(tmp_path / "shared", 1_000_000)
        caches.append(EmbeddingCache(tmp_path / name, "model one", DIMENSION, shared))
    first, second = caches

    first.put(hashes(3), vectors_of(3))
    first.add(hashes(5)[3:], vectors_of(2))

    assert list(second.get(hashes(5))) == hashes(3)
    for cache in caches:
        cache.close()
