"""Compare all stores with what they were made from, in portions that delay neither searches nor syncs; mark damage."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from lore_etl.core.errors import Busy, IndexDamaged, IndexMissing, LoreError
from lore_etl.core.model import Chunk
from lore_etl.core.text import counted
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.embed import SPREAD
from lore_etl.stores import integrity
from lore_etl.stores.catalogue import ChunkKey
from lore_etl.stores.embedding_cache import CACHE

STORES = CATALOGUE, CLASSES, WORDS, CACHED, VECTORS = "catalogue", "classes", "keywords", "embeddings", "vectors"
APART = 2 * SPREAD  # an intact vector is moved by SPREAD; a smaller change of a number changes no ranking
Pause = Callable[[int, int], None]
"""A function called with (done, total) between two portions, while nothing is held. If it raises, the run ends."""


@dataclass
class Compared:
    """The comparison of a store: the number of items, the number of damaged ones, and a note."""

    items: int = 0
    damaged: int = 0
    note: str = ""

    def count(self, items: int, damaged: int = 0, problem: str = "") -> None:
        self.items += items
        self.damaged += damaged
        if damaged:
            self.note = self.note or problem


@dataclass
class Verification:
    """A run over the stores of an index. With `until_damage`, it ends with the first portion that has damage."""

    index: Index
    pause: Pause
    portion: int = 50
    until_damage: bool = False
    found: dict[str, Compared] = field(default_factory=lambda: {name: Compared() for name in STORES})
    has_ended: bool = False
    _failed: set[str] = field(default_factory=set)
    _unreached: int = 0
    _alone: int = 0

    def run(self, first: int = 0) -> None:
        """Compare all items, from the chunk at position `first` to the one before it. Raises IndexMissing, Busy."""
        self.index.require()
        try:
            self._try(CATALOGUE, self._compare_catalogue)
            if CATALOGUE not in self._failed:
                ids = self.index.catalogue.ids()
                self._run(ids[first:] + ids[:first])
        finally:
            self._mark()

    @property
    def is_damaged(self) -> bool:
        return any(store.damaged for store in self.found.values())

    @property
    def is_whole(self) -> bool:
        return self.has_ended and not self._failed

    def _run(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), self.portion):
            self.pause(start, len(ids))
            with self._unchanging():
                self._try(CATALOGUE, partial(self._compare, ids[start : start + self.portion]))
            if CATALOGUE in self._failed or (self.until_damage and self.is_damaged):
                return
        with self._unchanging():
            self._try(WORDS, self._compare_words_as_a_whole)
            self._try(CACHED, self.index.cache.check)
            self._try(VECTORS, self._compare_vectors_as_a_whole)
        self.has_ended = True

    @contextmanager
    def _unchanging(self) -> Iterator[None]:
        """Keep syncs from switching the stores meanwhile."""
        with self.index.gate.reading():
            if self.index.catalogue.meta("dirty") is not None:
                raise Busy("The last sync of the index has not finished.", "Run `lore sync`, then call again.")
            yield

    def _try(self, name: str, compare: Callable[[], None]) -> None:
        """Compare a part of a store. After an error it is damaged, or cannot be compared now, and so is left out."""
        if name in self._failed:
            return
        try:
            compare()
        except (Busy, IndexMissing):
            raise
        except LoreError as error:
            self._failed.add(name)
            self.found[name].count(0, int(isinstance(error, IndexDamaged)), error.message)
            self.found[name].note = self.found[name].note or f"Not compared: {error.message}"

    def _compare_catalogue(self) -> None:
        self.found[CATALOGUE].count(self.index.catalogue.check())
        self.found[CLASSES].count(len(self.index.hierarchy.nodes))

    def _compare(self, ids: Sequence[str]) -> None:
        catalogue = self.index.catalogue
        chunks = list(catalogue.chunks(ids).values())
        keys = [key for key in catalogue.chunk_keys(ids) if key.has_vector]
        tree = self.index.hierarchy
        if any(chunk.class_name and chunk.chain != tree.chain(chunk.class_name) for chunk in chunks):
            self.found[CLASSES].count(0, 1, "The ancestors of a chunk are not those of the class tree.")
            catalogue.report_damage("the class tree differs from the chunks")
        self._try(WORDS, lambda: self._compare_words(chunks))
        cached: dict[str, np.ndarray] = {}
        self._try(CACHED, lambda: cached.update(self._cached(keys)))
        if keys:
            self._try(VECTORS, lambda: self._compare_vectors(keys, cached))

    def _compare_words(self, chunks: Sequence[Chunk]) -> None:
        wrong = len(self.index.keywords.differing(chunks))
        self.found[WORDS].count(len(chunks), wrong, "A chunk is not found by its words.")

    def _cached(self, keys: Sequence[ChunkKey]) -> dict[str, np.ndarray]:
        """Return the cached vectors of these chunks that are as their seals say, and count the others."""
        intact, damaged = self.index.cache.compared({key.content_hash for key in keys})
        self.found[CACHED].count(len(intact) + damaged, damaged, "A cached vector differs from its seal.")
        return intact

    def _compare_vectors(self, keys: Sequence[ChunkKey], cached: dict[str, np.ndarray]) -> None:
        """Compare type, source and vector of each row with the catalogue and the cache, and search for it."""
        store = self.index.vectors
        stored = store.stored([key.row_id for key in keys])
        wrong = sum(key.row_id not in stored or stored[key.row_id][:2] != key.row[1:] for key in keys)
        self.found[VECTORS].count(len(keys), wrong, "A vector is missing, or belongs to another file.")
        known = [key for key in keys if key.row_id in stored and key.content_hash in cached]
        self._alone += len(keys) - len(known)
        if known:
            here = np.stack([stored[key.row_id][2] for key in known])
            there = np.stack([cached[key.content_hash] for key in known])
            apart = int((~(np.linalg.norm(here - there, axis=1) < APART)).sum())  # also if a number is not finite
            self.found[VECTORS].count(0, apart, "A vector is not the one of its text.")
            self._unreached += len(store.missing([key.row_id for key in known], there))

    def _compare_words_as_a_whole(self) -> None:
        surplus = abs(self.index.keywords.count() - self.index.catalogue.total())
        self.found[WORDS].count(0, surplus, "It has another number of chunks than the catalogue.")
        changed = integrity.changed(self.index.folder / KEYWORDS) or set()
        self.found[WORDS].count(0, len(changed), "Its files have changed since they were written.")

    def _compare_vectors_as_a_whole(self) -> None:
        with_vector = self.index.catalogue.with_vector()
        if not with_vector:
            return
        surplus = abs(self.index.vectors.count() - with_vector)
        self.found[VECTORS].count(0, surplus, "It has another number of vectors than the catalogue.")
        if self._unreached > self.index.limits.unreached * with_vector:
            lost = f"A search does not reach {counted(self._unreached, 'vector')}."
            self.found[VECTORS].count(0, self._unreached, lost)
        if self._alone and not self.found[VECTORS].note:
            self.found[VECTORS].note = f"{counted(self._alone, 'vector')} not compared: the cache does not have them."

    def _mark(self) -> None:
        """Mark the damaged stores, so that the next sync rebuilds them. Catalogue and cache mark themselves."""
        folder = self.index.folder
        if self.found[WORDS].damaged:
            integrity.mark(folder / KEYWORDS)
        if self.found[VECTORS].damaged:
            with suppress(LoreError):  # the catalogue is damaged: its rebuild is one of the vectors, too
                self.index.generations.mark(self.index.generation)
        if integrity.is_suspect(folder / CACHE) and not self.found[CACHED].damaged:
            self.found[CACHED].count(0, 1, "The file is damaged.")
