"""Compare the files and stores of an index with a fresh index of the same tree."""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lore_etl.config.settings import Settings
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport, row_id
from lore_etl.index import Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import sync
from lore_etl.stores.tokenizer import terms
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, open_index


@dataclass(frozen=True)
class State:
    """The contents of an index that must not depend on how it was built."""

    chunks: bytes
    hierarchy: list[JSON]
    catalogue: list[tuple[Any, ...]]
    vectors: dict[str, tuple[str, str]]
    words: dict[str, frozenset[str]]
    versions: dict[str, str]


def state_of(index: Index) -> State:
    """Return the contents of all files and stores of an index."""
    words = {word for chunk in chunks_of(index) for word in terms(f"{chunk.source} {chunk.text}")}
    found = {word: frozenset(id_ for id_, _ in index.keywords.search(word, 10_000)) for word in sorted(words)[:400]}
    return State(
        b"".join(chunk.line() + b"\n" for chunk in index.catalogue.every_chunk()),
        index.catalogue.hierarchy().records(),
        [(chunk.id, chunk.source, chunk.lines, chunk.columns, chunk.metadata_hash) for chunk in listed(index)],
        index.vectors.rows(),
        found,
        index.keywords.versions(),
    )


def listed(index: Index) -> list[Any]:
    """Return the catalogue's chunks in its own order."""
    return index.catalogue.page(None, None, 100_000, 0)[1]


def fresh_state(root: Path, settings: Settings | None = None) -> State:
    """Return the state of an index built by one sync; trees with the same content share it."""
    values = (settings or Settings()).model_dump(mode="json")
    del values["index"]["path"]
    return _built(Tree.of(root), json.dumps(values))


@dataclass(frozen=True)
class Tree:
    """A project identified by its content, independent of its folder."""

    digest: str
    root: Path = field(compare=False)

    @classmethod
    def of(cls, root: Path) -> Tree:
        """Return the current tree, without the files that Lore writes."""
        digest = hashlib.sha256()
        for path in sorted(root.rglob("*")):
            if ".lore" not in path.parts and path.is_file():
                content = path.read_bytes()
                digest.update(f"{path.relative_to(root)}\0{path.lstat().st_mode}\0{len(content)}\0".encode() + content)
        return cls(digest.hexdigest(), root)


@lru_cache(maxsize=32)
def _built(tree: Tree, settings: str) -> State:
    with tempfile.TemporaryDirectory(prefix="fresh-") as folder:
        values = json.loads(settings)
        values["index"]["path"] = folder
        with closing(open_index(tree.root, Settings.model_validate(values))) as index:
            sync(index, allow_mass_delete=True)
            return state_of(index)


def unfindable(index: Index) -> list[str]:
    """Return the sources of chunks that a search for their own vector does not find."""
    chunks = chunks_of(index)
    if not chunks:
        return []
    cached = index.cache.get({chunk.content_hash for chunk in chunks})
    vectors = np.stack([cached[chunk.content_hash] for chunk in chunks])
    return [chunks[n].source for n in index.vectors.missing([row_id(chunk) for chunk in chunks], vectors)]


def assert_equals_fresh(index: Index, settings: Settings | None = None) -> None:
    """Check that all stores equal those of a fresh index and that each chunk is found by its own vector."""
    assert state_of(index) == fresh_state(index.root, settings or index.settings)
    assert index.catalogue.waiting() == 0
    assert unfindable(index) == []


def repaired(project: Path) -> SyncReport:
    """Sync once without the model, check that the index is then whole, and return the report."""
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        report = sync(index)
        assert is_loaded(index)
        assert_equals_fresh(index)
    assert (report.failed, model.embedder.embedded) == ([], [])
    with closing(open_index(project)) as again:
        assert again.keywords.count() == again.vectors.count() == again.catalogue.total()
    return report


def bytes_below(folder: Path) -> int:
    """Return the total size of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
