"""After every error whose hint says to run `lore sync`, one sync cures the store, whoever met the error."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import IndexDamaged
from lore_etl.core.model import SyncReport
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import sync
from lore_etl.stores.embedding_cache import CACHE
from lore_etl.stores.integrity import SEAL, mark
from lore_server.contract import load_contract
from lore_server.query.freshness import Freshness
from lore_server.services.health import HealthService
from tests.harness.indexes import assert_equals_fresh
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, copy_project, open_index, write_project

pytestmark = pytest.mark.usefixtures("prepared_python")
PAGES = 12
MANY = 1_010  # more than Chroma keeps in its log, so that its HNSW files exist
WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a closed index of a few pages."""
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse\n" for n in range(PAGES)}
    return synced(write_project(tmp_path / "project", pages))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with a closed index that has HNSW files."""
    text = "\n".join(f"## Page {n}\n\nsubject{n} lighthouse {WORDS}\n" for n in range(MANY))
    return synced(write_project(tmp_path_factory.mktemp("pristine") / "project", {"docs/all.md": text}))


@pytest.fixture
def large_project(pristine: Path, tmp_path: Path) -> Path:
    copy_project(pristine, tmp_path / "large")
    return tmp_path / "large"


def synced(project: Path) -> Path:
    with closing(open_index(project)) as index:
        sync(index)
    return project


def repaired(project: Path) -> SyncReport:
    """Return the report of one sync, after which the index must be whole without the model."""
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        report = sync(index)
        assert is_loaded(index)
        assert_equals_fresh(index)
    assert model.embedder.embedded == []
    with closing(open_index(project)) as again:
        assert again.keywords.count() == again.vectors.count() == again.catalogue.total()
    return report


def flip(path: Path, at: float = 0.5) -> None:
    """Change a byte of a file and neither its size nor its time, as a failing disk does."""
    info, data = path.stat(), bytearray(path.read_bytes())
    data[int(len(data) * at)] ^= 0xFF
    path.write_bytes(data)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def interrupt_a_commit(project: Path) -> None:
    """Leave the keyword files of a sync that was killed before it renamed `meta.json`, among them one of deletions."""
    lore = project / ".lore"
    before, written = project.parent / "before", project.parent / "written"
    shutil.copytree(lore, before)
    (project / "docs" / "3.md").write_text("# Page 3\n\nanother text\n")
    synced(project)
    (lore / KEYWORDS).rename(written)
    shutil.copytree(before, lore, dirs_exist_ok=True)
    (lore / KEYWORDS / SEAL).unlink()
    for file in written.iterdir():
        if not (lore / KEYWORDS / file.name).exists() and file.name != SEAL:
            shutil.copy2(file, lore / KEYWORDS)
    assert list((lore / KEYWORDS).glob("*.del"))


def test_a_sync_succeeds_after_a_commit_of_the_keyword_index_was_interrupted(project: Path) -> None:
    interrupt_a_commit(project)

    with closing(open_index(project)) as index:
        report = sync(index)

        assert (report.updated, is_loaded(index)) == (1, True)
        assert [id_ for id_, _ in index.keywords.search("another", 5)]
        assert_equals_fresh(index)


def asked_for_a_sync(project: Path, use: Callable[[Index], object]) -> None:
    """Use a store, which must fail with the hint to sync; status must report that in a new process, too."""
    with closing(open_index(project)) as index, pytest.raises(IndexDamaged, match="damaged") as caught:
        use(index)
    assert "lore sync" in caught.value.hint


def part(project: Path, name: str) -> str:
    """Return the state of a part of the health check."""
    with closing(open_index(project)) as index:
        checks = HealthService(index, load_contract(), lambda: None, lambda: None, Freshness(index)).check()["checks"]
    return next(check["status"] for check in checks if check["part"] == name)


@pytest.mark.parametrize("pattern", ["*.term", "*.idx", "*.store", "*.fast", "meta.json"])
@pytest.mark.promise(7, 30)
def test_a_flipped_byte_of_a_keyword_file_is_reported_until_one_sync(project: Path, pattern: str) -> None:
    flip(next((project / ".lore" / KEYWORDS).glob(pattern)))

    asked_for_a_sync(project, lambda index: index.keywords)

    assert part(project, "keywords") == "failed"
    assert "keyword index was damaged" in " ".join(repaired(project).warnings)
    assert part(project, "keywords") == "ok"


def test_damage_that_a_search_by_keywords_meets_is_cured_by_a_sync_of_the_same_process(project: Path) -> None:
    with closing(open_index(project)) as index:
        assert index.keywords.count()
        mark(index.folder / KEYWORDS)
        assert not is_loaded(index)

        report = sync(index)

        assert "keyword index was damaged" in " ".join(report.warnings)
        assert is_loaded(index)
        assert_equals_fresh(index)


@pytest.mark.parametrize("name", ["data_level0.bin", "link_lists.bin", "header.bin", "length.bin", "chroma.sqlite3"])
@pytest.mark.parametrize("at", [0.1, 0.7])
@pytest.mark.promise(7)
def test_a_flipped_byte_of_a_vector_file_is_reported_until_one_sync(large_project: Path, name: str, at: float) -> None:
    flip(next(path for path in (large_project / ".lore").glob(f"vectors-*/**/{name}") if path.stat().st_size), at)

    asked_for_a_sync(large_project, lambda index: index.vectors)

    assert repaired(large_project).rebuilt


def test_damage_that_a_call_of_chroma_met_is_cured_by_a_sync_of_the_same_process(project: Path) -> None:
    with closing(open_index(project)) as index:
        store = index.vectors
        with pytest.raises(IndexDamaged) as caught:  # of another dimension: Chroma's error could also mean damage
            store.search(index.embedder.embed_query("x")[:3], 5)
        assert "lore sync" in caught.value.hint
        assert not is_loaded(index)

        report = sync(index)

        assert report.rebuilt
        assert is_loaded(index)
        assert_equals_fresh(index)
        assert not list(index.folder.glob("*.suspect"))


def turn_cached_vectors_around(project: Path, where: str = "1") -> None:
    """Change the sign of the first number of cached vectors: a changed bit after which their length is still 1."""
    with closing(sqlite3.connect(project / ".lore" / CACHE)) as connection, connection:
        connection.create_function("turned", 1, lambda value: bytes([value[0], value[1] ^ 0x80]) + value[2:])
        connection.execute(f"UPDATE embedding SET value = turned(value) WHERE {where}")


@pytest.mark.promise(7)
def test_a_changed_bit_of_a_cached_vector_is_never_used_and_cured_by_one_sync(project: Path) -> None:
    turn_cached_vectors_around(project, "rowid = 1")
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        names = {chunk.content_hash for chunk in chunks_of(index)}
        assert len(index.cache.get(names)) == PAGES - 1
        assert not is_loaded(index)

        report = sync(index)

        assert report.warnings == ["1 cached vector damaged: deleted, or computed again."]
        assert len(model.embedder.embedded) == 1
        assert index.cache.get(names).keys() == names
        assert is_loaded(index)
        assert_equals_fresh(index)
