"""Add a cached, shared or computed vector for each chunk to a vector store, and check that a search finds it.

A target of shared vectors that is away, or lies, costs a warning and time. Its vectors are not trusted: some are
recomputed at once, and each that reaches the first results of a search (`refuse_wrong`).
"""

import hashlib
import os
import random
import socket
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, closing, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

import numpy as np

from lore_etl.chunking.fit import embedding_input
from lore_etl.core.errors import ConfigError, ProviderError, ProviderUnavailable
from lore_etl.core.extras import require
from lore_etl.core.model import Chunk, Problem, SyncReport
from lore_etl.core.progress import Progress
from lore_etl.index import Index
from lore_etl.models.embedder import Embedder, Vectors
from lore_etl.models.model_cache import prepared
from lore_etl.stores.catalogue import ChunkKey
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_etl.stores.target import TargetFailed

SPREAD = 1e-3  # share of the length of a vector
FIRST_BATCH = 32  # chunks
LOOKED_UP = 2_000  # chunks whose vectors are in memory at once
WRITES = 2  # more writes do not make a missing row searchable
COMPARED = 8  # vectors of a sync that are recomputed
TASK_TEXTS = 64  # half a second of one core
PACK_TEXTS = 16_384  # texts that a cluster embeds again after this process was killed
SIMILARITY = 0.98  # of a vector to one computed here; other processors and versions differ by less than 0.001


def spread(rows: Sequence[tuple[str, str, str]], vectors: Vectors) -> Vectors:
    """Move each vector slightly in a direction derived from its row id; cosines change by less than 1e-6.

    HNSW links thousands of equal vectors only to each other: a third of the others were unreachable (`stores.chroma`).
    """
    seeds = (int.from_bytes(hashlib.blake2b(row[0].encode(), digest_size=8).digest(), "little") for row in rows)
    directions = np.stack([np.random.default_rng(seed).standard_normal(vectors.shape[1]) for seed in seeds])
    moved = vectors + SPREAD * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return found


@dataclass
class Filler:
    """A filler of vector stores for one load, with its report; it reads texts from the catalogue batch by batch."""

    index: Index
    report: SyncReport
    progress: Progress

    def fill(self, store: VectorStore, chunks: list[ChunkKey], mark: bool) -> list[ChunkKey]:
        """Add rows for chunks; return those that now have a vector. `mark` records batches. Raises ProviderUnavailable.

        Cached vectors come first, as a stage of their own: the pace of the stage `embedding` is that of the model.
        """
        done: list[ChunkKey] = []
        unknown = dict[str, list[ChunkKey]]()
        for start, batch in _batches(chunks, self.index.limits.embed_batch):
            cached = self.index.cache.get({chunk.content_hash for chunk in batch})
            if cached:
                self.progress("reusing vectors", start, len(chunks))
                done += self._add(store, batch, cached, mark)
            for chunk in batch:
                if chunk.content_hash not in cached:
                    unknown.setdefault(chunk.content_hash, []).append(chunk)
        with closing(self._embedded([first for first, *_ in unknown.values()])) as batches:
            for start, batch, vectors in batches:
                self.progress("embedding", start, len(unknown))
                same = [chunk for first in batch for chunk in unknown[first.content_hash]]
                done += self._add(store, same, vectors, mark)
        if unknown:
            self.progress("embedding", len(unknown), len(unknown))
        return done

    def _add(
        self, store: VectorStore, chunks: list[ChunkKey], vectors: dict[str, Vectors], mark: bool
    ) -> list[ChunkKey]:
        """Add rows for the chunks that have one of these vectors, and return them."""
        chunks = [chunk for chunk in chunks if chunk.content_hash in vectors]
        if chunks:
            rows = [chunk.row for chunk in chunks]
            store.add(rows, spread(rows, np.stack([vectors[chunk.content_hash] for chunk in chunks])))
            if mark:
                self.index.catalogue.mark_vectors([chunk.id for chunk in chunks], present=True)
        return chunks

    def _embedded(self, chunks: list[ChunkKey]) -> Generator[tuple[int, list[ChunkKey], dict[str, Vectors]]]:
        """Yield each batch with its position and vectors; the model embeds the next batch while one is processed."""
        batches = list(_batches(chunks, self.index.limits.embed_batch))
        if not batches:
            return
        self.progress("embedding", 0, len(chunks))
        with ThreadPoolExecutor(1, thread_name_prefix="embedding") as ahead:
            pending = ahead.submit(self._vectors, batches[0][1])
            for (start, some), following in zip_longest(batches, batches[1:]):
                vectors = pending.result()
                if following:
                    pending = ahead.submit(self._vectors, following[1])
                yield start, some, vectors

    def recompute(self, chunks: list[ChunkKey]) -> None:
        """Add the vectors of these chunks that the cache lacks to it."""
        for _, batch in _batches(chunks, self.index.limits.embed_batch):
            self._vectors(batch)

    def look_up(self, store: VectorStore, chunks: list[ChunkKey]) -> list[ChunkKey]:
        """Search for each chunk by its vector, and rewrite chunks that are not found; return those still not found."""
        portions = (chunks[start : start + LOOKED_UP] for start in range(0, len(chunks), LOOKED_UP))
        return [chunk for portion in portions for chunk in self._look_up(store, portion)]

    def _look_up(self, store: VectorStore, chunks: list[ChunkKey]) -> list[ChunkKey]:
        cached = self._vectors(chunks)  # a damaged cache may lose what was just written
        chunks = [chunk for chunk in chunks if chunk.content_hash in cached]
        for written in range(1, WRITES + 2):
            if not chunks:
                break
            vectors = np.stack([cached[chunk.content_hash] for chunk in chunks])
            lost = store.missing([chunk.row_id for chunk in chunks], vectors)
            chunks = [chunks[n] for n in lost]
            if chunks and written <= WRITES:
                rows = [chunk.row for chunk in chunks]
                store.heal(rows, spread(rows, vectors[lost]))
        return chunks

    def _vectors(self, chunks: Sequence[ChunkKey]) -> dict[str, Vectors]:
        """Return content hash -> vector, cached or computed, without chunks that cannot be embedded."""
        cache = self.index.cache
        found = cache.get({chunk.content_hash for chunk in chunks})
        unknown = {chunk.content_hash: chunk for chunk in chunks if chunk.content_hash not in found}
        if unknown:
            texts = self.index.catalogue.chunks(chunk.id for chunk in unknown.values())
            computed = self._embed([texts[chunk.id] for chunk in unknown.values() if chunk.id in texts])
            if computed:
                found |= cache.put(computed, computed.values())
            self.report.embedded += len(computed)
        return found

    def _embed(self, chunks: list[Chunk]) -> dict[str, Vectors]:
        """Embed chunks together; after a failure embed each half, so that only failing chunks are omitted."""
        try:
            vectors = self.index.embedder.embed([embedding_input(chunk) for chunk in chunks])
        except ProviderUnavailable:
            raise
        except ProviderError as error:
            if len(chunks) == 1:
                reason = f"lines {chunks[0].lines}: not embedded: {error.message}"
                self.report.failed.append(Problem(chunks[0].source, reason))
                return {}
            middle = len(chunks) // 2
            return {**self._embed(chunks[:middle]), **self._embed(chunks[middle:])}
        return {chunk.content_hash: vector for chunk, vector in zip(chunks, vectors, strict=True)}


def _batches(chunks: list[ChunkKey], largest: int) -> Iterator[tuple[int, list[ChunkKey]]]:
    """Yield each batch with its position; the first ones are small, so that progress and results appear early."""
    start, size = 0, min(FIRST_BATCH, largest)
    while start < len(chunks):
        yield start, chunks[start : start + size]
        start, size = start + size, min(2 * size, largest)


def take_shared(index: Index, chunks: list[ChunkKey], report: SyncReport) -> None:
    """Put the shared vectors of these chunks into the cache of the index."""
    ids = {chunk.content_hash: chunk.id for chunk in chunks}
    missing = ids.keys() - index.cache.get(ids).keys()
    packs = index.vector_packs() if missing else None
    if packs is None:
        return
    try:
        found = packs.get(missing)
    except TargetFailed as error:
        report.warnings.append(f"embedding.shared is not usable: {error}.")
        return
    some = random.SystemRandom().sample(sorted(found), min(COMPARED, len(found)))
    texts = index.catalogue.chunks(ids[name] for name in some)
    if _differ(index, {name: texts[ids[name]] for name in some}, found):
        report.warnings.append("embedding.shared is not usable: its vectors are not those of their texts.")
        return
    index.cache.add(found, found.values())
    index.cache.distrust(found.keys() - set(some))


def share(index: Index, report: SyncReport) -> None:
    """Share the vectors of the index that were computed on this machine, if the user wants that."""
    packs = index.vector_packs() if index.settings.embedding.shared_writes else None
    if packs is None:
        return
    hashes = index.catalogue.content_hashes()
    own = hashes - set(index.cache.distrusted(hashes))
    try:
        packs.put(index.cache.get(own))
    except TargetFailed as error:
        report.warnings.append(f"Vectors were not shared: {error}.")


def embed_on_ray(index: Index, address: str, report: SyncReport, progress: Progress) -> None:
    """Share the vectors of all texts; a cluster computes the missing ones. Raises ConfigError, ProviderUnavailable.

    Ray repeats the tasks of a killed worker or machine. Each machine has Lore, and loads the model by its name.
    """
    settings, here = index.settings.embedding, index.embedder
    packs = index.vector_packs() if settings.shared_writes and settings.provider == "local" else None
    if packs is None:
        raise ConfigError("A cluster needs a local model, `embedding.shared` and `embedding.shared_writes`.")
    require("ray", "`lore embed --on ray`")
    share(index, report)
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}  # it would upload the project
    import ray

    ids = {key.content_hash: key.id for key in index.catalogue.chunk_keys()}
    host, _, port = address.rpartition(":")
    try:
        missing = sorted(ids.keys() - packs.known())
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()  # Ray would try for minutes
        # Ray reports killed workers on stdout, and lets workers import from the current folder, which is the project
        with redirect_stdout(sys.stderr), chdir(Path(__file__).parents[2]), ray.init(address, log_to_driver=False):
            task = ray.remote(_embedded_there)
            for start in range(0, len(missing), PACK_TEXTS):
                progress("embedding", start, len(missing))
                chunks = index.catalogue.chunks(ids[name] for name in missing[start : start + PACK_TEXTS])
                texts = {chunk.content_hash: chunk for chunk in chunks.values()}
                inputs = [embedding_input(chunk) for chunk in texts.values()]
                parts = [inputs[at : at + TASK_TEXTS] for at in range(0, len(inputs), TASK_TEXTS)]
                vectors = np.concatenate(ray.get([task.remote(here.name, here.fingerprint, part) for part in parts]))
                found: dict[str, Vectors] = dict(zip(texts, vectors, strict=True))
                some = {name: texts[name] for name in random.sample(list(texts), min(COMPARED, len(texts)))}
                if _differ(index, some, found):
                    raise ValueError("its vectors are not those of this machine")
                report.embedded += packs.put(found)
    except (OSError, RuntimeError, ValueError, TargetFailed, ray.exceptions.RayError) as error:
        message = f"The cluster at {address} did not embed all texts: {getattr(error, 'cause', error)}."
        raise ProviderUnavailable(message, "Repeat the command with a node of it: what it shared is kept.") from error


def _embedded_there(name: str, fingerprint: str, texts: Sequence[str]) -> Vectors:
    embedder = _opened(name)
    if embedder.fingerprint != fingerprint:
        raise ValueError(f"a worker has another model, {embedder.fingerprint}")
    return embedder.embed(texts)


@lru_cache(1)
def _opened(name: str) -> Embedder:
    from lore_etl.models.onnx_models import OnnxEmbedder

    return OnnxEmbedder(prepared(name), threads=1)


def refuse_wrong(index: Index, chunks: Sequence[Chunk]) -> bool:
    """Recompute these shared vectors once; if one is wrong, refuse all until the next sync, and return True."""
    texts = {chunk.content_hash: chunk for chunk in chunks}
    unverified = {name: texts[name] for name in index.cache.distrusted(texts)}
    if not unverified:
        return False
    try:
        is_wrong = _differ(index, unverified, index.cache.compared(unverified)[0])
    except ProviderError:  # the next search compares them
        return False
    if is_wrong:
        index.catalogue.set_meta(refused="1")
    else:
        index.cache.trust(unverified)
    return is_wrong


def _differ(index: Index, chunks: Mapping[str, Chunk], vectors: Mapping[str, Vectors]) -> bool:
    """Return whether a vector of these chunks, by content hash, differs from the one that the model computes here."""
    expected = index.embedder.embed([embedding_input(chunk) for chunk in chunks.values()])
    pairs = ((vectors[name], here) for name, here in zip(chunks, expected, strict=True) if name in vectors)
    return any(float(there @ here) < SIMILARITY for there, here in pairs)
