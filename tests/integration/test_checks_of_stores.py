"""Changes of a store by another program or a failing disk are found when it is opened and before each sync.

After each error, whose hint says to run `lore sync`, one sync cures the store, whoever met the error.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lore_etl.core.errors import CatalogueDamaged, IndexDamaged
from lore_etl.core.model import Chunk
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.integrity import SEAL, explain, is_suspect, mark
from lore_server.contract import load_contract
from lore_server.query.freshness import Freshness
from lore_server.services.health import HealthService
from lore_server.services.verification import Verifier
from tests.harness.damaging import flip, garble, turn_cached_vectors_around
from tests.harness.indexes import assert_equals_fresh, repaired
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, copy_project, open_index, sync_once, write_project
from tests.harness.refusals import refused

if TYPE_CHECKING:
    from lore_server.replies.records import DriftRecord

pytestmark = [pytest.mark.promise(7), pytest.mark.usefixtures("prepared_python")]
MANY = 1_010  # more than Chroma keeps in its log, so that its HNSW files exist
WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk
PAGES: dict[str, str | bytes] = {
    "a.md": "# Alpha\n\nThe zebra text.\n",
    "b.md": "# Beta\n\nThe okapi text.\n",
    "lamp.py": "class Lamp:\n    '''Shines.'''\n",
}
CHANGES = {
    "the source of a chunk": "UPDATE chunk SET source = 'b.md' WHERE source = 'a.md'",
    "the type of a chunk": "UPDATE chunk SET type = 'ticket' WHERE source = 'a.md'",
    "the place of a chunk": "UPDATE chunk SET position = position + 1 WHERE source = 'a.md'",
    "the text of a chunk": "UPDATE chunk SET own = replace(own, 'zebra', 'horse')",
    "the relations of a chunk": "UPDATE chunk SET relations = replace(relations, '[', '[ ')",
    "the stamp of a file": "UPDATE file SET stamp = stamp || '0' WHERE path = 'a.md'",
    "the hash of a file": "UPDATE file SET hash = 'x' WHERE path = 'a.md'",
    "the notes of a file": "UPDATE file SET notes = '[[\"failed\", \"x\"]]' WHERE path = 'a.md'",
    "a class": "UPDATE class SET record = replace(record, 'lamp.py', 'lamb.py')",
    "a value": "UPDATE meta SET value = '2' WHERE key = 'generation' OR key = 'replaced'",
}
UNREAD = {
    name: CHANGES[name] for name in ("the type of a chunk", "the place of a chunk", "the notes of a file", "a class")
}
"""Changes of what a sync without changed files does not read."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a closed index."""
    return synced(write_project(tmp_path / "project", PAGES))


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
    sync_once(project)
    return project


@pytest.fixture
def index(project: Path) -> Iterator[Index]:
    """Return the open index of the project."""
    with closing(open_index(project)) as opened:
        assert opened.catalogue.total() == 3
        yield opened


def change(project: Path, statement: str) -> None:
    """Change the catalogue as another program would."""
    with closing(sqlite3.connect(project / ".lore" / CATALOGUE)) as connection, connection:
        assert connection.execute(statement).rowcount > 0


@pytest.mark.parametrize("statement", CHANGES.values(), ids=CHANGES)
def test_a_changed_row_is_found_when_the_catalogue_is_opened(project: Path, statement: str) -> None:
    change(project, statement)

    with closing(open_index(project)) as index, refused(CatalogueDamaged, hint="lore sync"):
        index.catalogue.total()


def test_a_changed_value_is_never_believed(index: Index) -> None:
    """A commit makes readers read the values again."""
    change(index.root, CHANGES["a value"])
    index.catalogue.set_meta(another="1")

    with pytest.raises(CatalogueDamaged):
        index.catalogue.meta("replaced")


@pytest.mark.parametrize("statement", UNREAD.values(), ids=UNREAD)
def test_a_row_that_changed_while_the_index_was_open_is_found_by_the_next_sync(index: Index, statement: str) -> None:
    change(index.root, statement)

    report = sync(index)

    assert "catalogue is damaged" in " ".join(report.warnings)
    assert_equals_fresh(index)


def test_a_catalogue_that_was_deleted_while_it_is_written_is_rebuilt_by_one_sync_of_the_same_process(
    index: Index,
) -> None:
    """The open connections write to the deleted file, without an error."""
    (index.folder / CATALOGUE).unlink()
    index.catalogue.set_meta(another="1")

    sync(index)

    assert (index.folder / CATALOGUE).exists()
    assert_equals_fresh(index)


def test_a_row_that_changed_while_the_index_was_open_is_found_after_it_was_closed(project: Path) -> None:
    with closing(open_index(project)) as index:
        assert index.catalogue.total() == 3
        change(project, UNREAD["the notes of a file"])

    with closing(open_index(project)) as again, pytest.raises(CatalogueDamaged):
        again.catalogue.total()


@pytest.mark.parametrize("must_change", [False, True])
def test_damage_that_a_reader_of_the_keyword_index_met_is_repaired_by_the_next_sync_of_the_process(
    index: Index, must_change: bool
) -> None:
    assert index.keywords.count() == 3
    mark(index.folder / KEYWORDS)
    if must_change:
        write_project(index.root, {"a.md": "# Alpha\n\nThe walrus text.\n"})
    assert not is_loaded(index)

    report = sync(index)

    assert "keyword index was damaged" in " ".join(report.warnings)
    assert is_loaded(index)
    assert_equals_fresh(index)


def test_a_write_to_the_keyword_index_breaks_its_seal_first(index: Index) -> None:
    """Otherwise the files of a killed write would count as damage."""
    seal = index.folder / KEYWORDS / SEAL
    assert seal.exists()

    def chunks() -> Iterator[Chunk]:
        assert not seal.exists()
        yield from index.catalogue.every_chunk()

    index.keywords.replace(chunks(), ())

    assert seal.exists()


def interrupt_a_commit(project: Path) -> None:
    """Leave the keyword files of a sync that was killed before it renamed `meta.json`, among them one of deletions."""
    lore = project / ".lore"
    before, written = project.parent / "before", project.parent / "written"
    shutil.copytree(lore, before)
    (project / "a.md").write_text("# Alpha\n\nanother text\n")
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
    with closing(open_index(project)) as index, refused(IndexDamaged, match="damaged", hint="lore sync"):
        use(index)


def part(project: Path, name: str) -> str:
    """Return the state of a part of the health check."""
    with closing(open_index(project)) as index:
        verifier = Verifier(index, lambda: None)
        drift: DriftRecord = {"score": 0, "total": 0, "violations": []}
        service = HealthService(
            index, load_contract(), lambda: None, lambda: None, Freshness(index), verifier, lambda: drift
        )
        checks = service.check()["checks"]
    return next(check["status"] for check in checks if check["part"] == name)


def byte_of(pattern: str) -> Callable[[Path], object]:
    return lambda folder: flip(next(folder.glob(pattern)))


DAMAGES: dict[str, Callable[[Path], object]] = {
    **{f"a byte of {name} is changed": byte_of(name) for name in ("*.term", "*.idx", "*.store", "*.fast", "meta.json")},
    "a file is missing": lambda folder: next(folder.glob("*.store")).unlink(),
    "a file was added": lambda folder: (folder / "added.store").write_bytes(b"x"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.promise(30)
def test_a_changed_file_of_the_keyword_index_is_found_when_it_is_opened_and_reported_until_one_sync(
    project: Path, damage: Callable[[Path], object]
) -> None:
    damage(project / ".lore" / KEYWORDS)

    asked_for_a_sync(project, lambda index: index.keywords.count())

    assert is_suspect(project / ".lore" / KEYWORDS)
    assert part(project, "keywords") == "failed"
    assert "keyword index was damaged" in " ".join(repaired(project).warnings)
    assert part(project, "keywords") == "ok"


def test_garbage_in_the_open_keyword_index_is_repaired_by_one_sync_of_the_same_process(index: Index) -> None:
    assert index.keywords.count() == 3
    for file in (index.folder / KEYWORDS).glob("*.*"):
        if file.suffix in (".idx", ".term", ".store", ".fast"):
            garble(file)

    report = sync(index)

    assert "keyword index was damaged" in " ".join(report.warnings)
    assert is_loaded(index)
    assert_equals_fresh(index)


@pytest.mark.parametrize("name", ["data_level0.bin", "link_lists.bin", "header.bin", "length.bin", "chroma.sqlite3"])
@pytest.mark.parametrize("at", [0.1, 0.7])
def test_a_flipped_byte_of_a_vector_file_is_reported_until_one_sync(large_project: Path, name: str, at: float) -> None:
    flip(next(path for path in (large_project / ".lore").glob(f"vectors-*/**/{name}") if path.stat().st_size), at)

    asked_for_a_sync(large_project, lambda index: index.vectors)

    assert repaired(large_project).rebuilt


def test_damage_that_a_call_of_chroma_met_is_cured_by_a_sync_of_the_same_process(project: Path) -> None:
    with closing(open_index(project)) as index:
        store = index.vectors
        with refused(IndexDamaged, hint="lore sync"):  # of another dimension: Chroma's error could also mean damage
            store.search(index.embedder.embed_query("x")[:3], 5)
        assert not is_loaded(index)

        report = sync(index)

        assert report.rebuilt
        assert is_loaded(index)
        assert_equals_fresh(index)
        assert not list(index.folder.glob("*.suspect"))


def test_an_error_of_a_store_whose_folder_was_deleted_counts_as_damage(tmp_path: Path) -> None:
    found = explain(ValueError("x"), tmp_path / "vectors-1", "vector store", (ValueError,), "failed")

    assert isinstance(found, IndexDamaged)
    assert "lore sync" in found.hint


def test_a_changed_bit_of_a_cached_vector_is_never_used_and_cured_by_one_sync(project: Path) -> None:
    turn_cached_vectors_around(project / ".lore", "rowid = 1")
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        names = {chunk.content_hash for chunk in chunks_of(index)}
        assert len(index.cache.get(names)) == len(PAGES) - 1
        assert not is_loaded(index)

        report = sync(index)

        assert report.warnings == ["1 cached vector damaged: deleted, or computed again."]
        assert len(model.embedder.embedded) == 1
        assert index.cache.get(names).keys() == names
        assert is_loaded(index)
        assert_equals_fresh(index)
