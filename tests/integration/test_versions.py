"""Stores of other versions of Lore and Chroma are opened, upgraded or set aside, and nothing is misread or lost."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import CatalogueDamaged
from lore_etl.core.model import SyncReport
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import ASIDE, CATALOGUE, adopt, is_ours
from lore_etl.stores.embedding_cache import CACHE
from lore_server.knowledge.memory_store import MemoryStore
from lore_server.knowledge.store import KnowledgeStore
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.indexes import assert_equals_fresh, unfindable
from tests.harness.knowledge import assert_sound, create, messages
from tests.harness.models import HashModel
from tests.harness.projects import open_index
from tests.harness.versions import CHAPTERS, FILES, MAIN, MEMORY, PROJECT, project_with, unpacked

pytestmark = [pytest.mark.promise(15), pytest.mark.usefixtures("prepared_python")]
INDEXES = ("index-7bd9bf9", "index")
KNOWLEDGE = ("knowledge-7bd9bf9", "knowledge")
LATER = 1_000


def synced(project: Path) -> tuple[SyncReport, list[str]]:
    """Return the report of a sync, after which all stores equal fresh ones, and the texts that it embedded."""
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        report = sync(index)
        assert_equals_fresh(index)
    return report, model.embedder.embedded


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def adopted(tmp_path: Path) -> Path:
    """Return a project whose index of this layout was adopted."""
    project = project_with("index", tmp_path)
    adopt(project / ".lore")
    return project


def set_layout(database: Path, layout: int) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")


def test_an_index_of_this_layout_is_used_as_it_is(adopted: Path) -> None:
    """If this fails because a layout has changed: count its version up, and write the fixtures again."""
    with closing(open_index(adopted)) as index:
        found = retrieve(index, parse("lighthouse subject3"), None, 10).found
        assert found[0].chunk.source == "docs/3.md"
        assert unfindable(index) == []
    report, embedded = synced(adopted)

    assert (report.rebuilt, report.warnings, embedded) == (None, [], [])
    assert (report.created, report.updated, report.deleted) == (0, 0, 0)


@pytest.mark.parametrize("name", INDEXES)
def test_an_index_without_a_record_is_set_aside_unchanged_and_built_again(tmp_path: Path, name: str) -> None:
    project = project_with(name, tmp_path)
    before = contents(project / ".lore")

    report, embedded = synced(project)

    assert report.created == len(embedded) > len(FILES) - 1
    assert contents(project / f".lore{ASIDE}") == before


def test_an_index_of_the_first_layout_is_built_again_once_it_is_adopted(tmp_path: Path) -> None:
    project = project_with("index-7bd9bf9", tmp_path)
    adopt(project / ".lore")

    with closing(open_index(project)) as index, pytest.raises(CatalogueDamaged, match="another version of Lore"):
        retrieve(index, parse("lighthouse"), None, 10)
    report, embedded = synced(project)

    assert len(embedded) >= len(FILES)
    assert "another version of Lore (layout 1" in report.warnings[0]
    assert all((project / f".lore/{name}.damaged").exists() for name in (CATALOGUE, CACHE))


def test_a_catalogue_of_a_later_layout_is_not_read_but_built_again(adopted: Path) -> None:
    set_layout(adopted / ".lore" / CATALOGUE, LATER)

    for _ in range(2):
        with closing(open_index(adopted)) as index, pytest.raises(CatalogueDamaged, match=f"layout {LATER}"):
            retrieve(index, parse("lighthouse"), None, 10)
    report, embedded = synced(adopted)

    assert (embedded, len(report.warnings)) == ([], 1)
    assert is_ours(adopted / ".lore")


def test_vectors_of_a_cache_of_a_later_layout_are_computed_again(adopted: Path) -> None:
    set_layout(adopted / ".lore" / CACHE, LATER)
    shutil.rmtree(adopted / ".lore/vectors-1")

    report, embedded = synced(adopted)

    assert (report.failed, len(embedded) >= len(FILES)) == ([], True)
    assert (adopted / f".lore/{CACHE}.damaged").exists()


def test_vectors_that_an_earlier_chroma_wrote_are_found(adopted: Path) -> None:
    with closing(open_index(adopted)) as index:
        expected = index.vectors.rows().keys()
    shutil.rmtree(adopted / ".lore/vectors-1")
    unpacked("chroma-1.0.0", adopted / ".lore/vectors-1")

    with closing(open_index(adopted)) as index:
        assert unfindable(index) == []
        assert index.vectors.rows().keys() == expected
    _, embedded = synced(adopted)

    assert embedded == []


@pytest.mark.parametrize("name", KNOWLEDGE)
def test_knowledge_of_earlier_layouts_is_read_and_extended_with_nothing_lost(tmp_path: Path, name: str) -> None:
    home = unpacked(name, tmp_path / "home")
    before, commits = contents(home / "projects"), messages(home)
    store = KnowledgeStore(home)

    assert store.reader.main(PROJECT)["content"] == MAIN
    create(store, "later", project=PROJECT)
    (memory,) = MemoryStore(store).all(PROJECT)

    assert memory.memory.body == MEMORY
    after = contents(home / "projects")
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1
    assert all(f"## {title}" in after["my-app/knowledge/guide.md"].decode() for title in CHAPTERS)
    assert messages(home)[: len(commits)] == commits
    assert_sound(home)
