"""Damage to a stored index: a search is correct or reports it, and a sync repairs it without the model."""

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import IndexDamaged, LoreError
from lore_etl.index import Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import MARK
from lore_etl.stores.export import CHUNKS, HIERARCHY
from lore_etl.stores.owner_file import note_of
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.calls import Opener, sync_job
from tests.harness.damaging import cut, garble, garble_middle
from tests.harness.indexes import assert_equals_fresh, repaired
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, copy_project, open_index, sync_once, write_project
from tests.harness.refusals import refused
from tests.harness.trying import is_long, often

pytestmark = pytest.mark.usefixtures("prepared_python")
MANY = 1_010  # more than Chroma keeps in its log, so that its HNSW files exist
PAGES = MANY if is_long() else 90  # for more files, a sync would start other processes
QUERY = "subject77 lighthouse"
WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk
CLASS = "class Lamp:\n    '''Shines.'''\n"


def write_pages(folder: Path, count: int) -> Path:
    """Write this many pages, in few files."""
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse word{n % 7}\n" for n in range(PAGES)}
    others = (f"## Page {n}\n\nsubject{n} lighthouse {WORDS}\n" for n in range(PAGES, count))
    return write_project(folder, {**pages, "docs/others.md": "\n".join(others), "src/lamp.py": CLASS})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that tests sync; a copy would not do, because an index of copied files is read again."""
    return write_pages(tmp_path_factory.mktemp("damage") / "project", PAGES)


@pytest.fixture(scope="module")
def shared_large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project whose index has HNSW files."""
    return write_pages(tmp_path_factory.mktemp("damage") / "large", MANY)


@pytest.fixture
def project(shared: Path) -> Path:
    """Return the project with an intact, closed index: each test repairs the damage it does, except to the cache."""
    return intact(shared)


@pytest.fixture
def large_project(shared_large: Path) -> Path:
    """Return the large project in the same state."""
    return intact(shared_large)


def intact(project: Path) -> Path:
    if not is_intact_after_a_sync(project):
        shutil.rmtree(project / ".lore")
        assert is_intact_after_a_sync(project)
    return project


def is_intact_after_a_sync(project: Path) -> bool:
    with closing(open_index(project)) as index:
        sync(index)
        hashes = {chunk.content_hash for chunk in chunks_of(index)}
        return is_loaded(index) and index.cache.get(hashes).keys() == hashes


def one_of(folder: Path, pattern: str) -> Path:
    return next(folder.glob(pattern))


def remove_all_but(folder: Path, *kept: str) -> None:
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def append(path: Path, content: bytes) -> None:
    path.write_bytes(path.read_bytes() + content)


def vectors(lore: Path) -> Path:
    return one_of(lore, "vectors-*")


def sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def change(lore: Path, table: str, column: str, value: str) -> None:
    """Change a column as a fault of the disk would: the file's own checks notice nothing."""
    sql(lore / "catalogue.sqlite", f"UPDATE {table} SET {column} = {value}")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda lore: None,
    "catalogue garbage": lambda lore: garble(lore / "catalogue.sqlite"),
    "catalogue middle garbage": lambda lore: garble_middle(lore / "catalogue.sqlite"),
    "catalogue cut": lambda lore: cut(lore / "catalogue.sqlite"),
    "catalogue emptied": lambda lore: (lore / "catalogue.sqlite").write_bytes(b""),
    "catalogue deleted": lambda lore: (lore / "catalogue.sqlite").unlink(),
    "catalogue log garbage": lambda lore: (lore / "catalogue.sqlite-wal").write_bytes(b"\xa5" * 50_000),
    "cache garbage": lambda lore: garble(lore / "embeddings.sqlite"),
    "cache middle garbage": lambda lore: garble_middle(lore / "embeddings.sqlite"),
    "cache deleted": lambda lore: (lore / "embeddings.sqlite").unlink(),
    "catalogue text changed": lambda lore: change(lore, "chunk", "own", "replace(own, 'subject77', 'subject78')"),
    "catalogue relations changed": lambda lore: change(lore, "chunk", "relations", "replace(relations, '[', '[ ')"),
    "catalogue class changed": lambda lore: change(lore, "class", "name", "'lamp.Lamb'"),
    "catalogue facts changed": lambda lore: change(lore, "file", "facts", "replace(facts, 'Lamp', 'Lamb')"),
    "catalogue value changed": lambda lore: change(lore, "meta", "value", "value || '0'"),
    "exported files garbage": lambda lore: list(map(garble, (lore / CHUNKS, lore / HIERARCHY))),
    "keywords meta garbage": lambda lore: (lore / "keywords" / "meta.json").write_text("garbage"),
    "keywords meta deleted": lambda lore: (lore / "keywords" / "meta.json").unlink(),
    "keywords segment file deleted": lambda lore: one_of(lore, "keywords/*.term").unlink(),
    "keywords segment file garbage": lambda lore: garble(one_of(lore, "keywords/*.idx")),
    "keywords deleted": lambda lore: shutil.rmtree(lore / "keywords"),
    "keywords emptied": lambda lore: empty(lore / "keywords"),
    "vectors deleted": lambda lore: shutil.rmtree(vectors(lore)),
    "vectors emptied": lambda lore: empty(vectors(lore)),
    "vectors database garbage": lambda lore: garble(vectors(lore) / "chroma.sqlite3"),
    "vectors database deleted": lambda lore: (vectors(lore) / "chroma.sqlite3").unlink(),
    "vectors seal deleted": lambda lore: (vectors(lore) / "seal.json").unlink(),
    "vectors seal garbage": lambda lore: (vectors(lore) / "seal.json").write_text("garbage"),
    "owner note garbage": lambda lore: note_of(lore).write_text("garbage"),
    "everything but the cached vectors": lambda lore: remove_all_but(lore, "embeddings.sqlite", MARK),
}
HNSW_DAMAGES: dict[str, Callable[[Path], object]] = {
    "vectors cut": lambda lore: cut(one_of(lore, "vectors-*/*/data_level0.bin")),
    "vectors garbage": lambda lore: garble(one_of(lore, "vectors-*/*/data_level0.bin")),
}
SEARCH_FIRST = {
    "nothing", "catalogue middle garbage", "catalogue cut", "catalogue deleted", "catalogue log garbage",
    "cache garbage", "cache deleted", "catalogue text changed", "catalogue relations changed", "exported files garbage",
    "catalogue class changed", "catalogue facts changed", "catalogue value changed",
    "keywords meta garbage", "keywords segment file deleted",
    "keywords emptied", "vectors emptied", "vectors cut", "vectors garbage", "vectors database deleted",
    "vectors seal garbage", "owner note garbage", "everything but the cached vectors",
}  # fmt: skip
"""The damages that every run searches in: of each part one that is missing, cut short, and changed in place."""
SYNC_FIRST = {"catalogue garbage", "catalogue text changed", "vectors database garbage", "keywords deleted"}
"""The damages that every run repairs without a search before it. The long run tries both orders of all damages."""
UNHARMED = {
    "nothing",
    "catalogue log garbage",  # SQLite's own checksums leave it out
    "exported files garbage",  # nothing reads them, and a sync writes them again
    "vectors seal deleted", "vectors seal garbage",  # the store is then examined as after a crash
    "owner note garbage",  # no part of the index
}  # fmt: skip
"""The damages that neither lose nor change anything that a search uses."""
USUAL = {(name, True) for name in SEARCH_FIRST} | {(name, False) for name in SYNC_FIRST}


def in_both_orders(project: str, damages: Mapping[str, Callable[[Path], object]]) -> list[Any]:
    """Return the parameters of a test: the fixture of the project, the damage, and whether a search comes first."""
    return [
        pytest.param(
            project, damage, searched_before, id=f"{name}-{'search' if searched_before else 'sync'} first",
            marks=[] if (name, searched_before) in USUAL else [pytest.mark.long],
        )
        for name, damage in damages.items()
        for searched_before in (True, False)
    ]  # fmt: skip


def answer(index: Index) -> tuple[str, bool] | str:
    """Return the best keyword result and whether it is also the best vector result, or the hint of the error."""
    try:
        candidates = retrieve(index, parse(QUERY), None, 20)
        assert candidates.degraded is None
        by_word = max(candidates.found, key=lambda candidate: candidate.keyword or 0)
        by_meaning = max(candidates.found, key=lambda candidate: candidate.vector or 0)
        return by_word.chunk.source, by_word == by_meaning
    except LoreError as error:
        return error.hint


def names(index: Index) -> list[str] | str:
    try:
        return sorted(index.hierarchy.nodes)
    except LoreError as error:
        return error.hint


@pytest.mark.parametrize(
    ("fixture", "damage", "searched_before"),
    [*in_both_orders("project", DAMAGES), *in_both_orders("large_project", HNSW_DAMAGES)],
)
@pytest.mark.promise(7)
def test_a_search_is_correct_or_rejected_and_a_sync_repairs_without_the_model(
    request: pytest.FixtureRequest, fixture: str, damage: Callable[[Path], object], searched_before: bool
) -> None:
    project: Path = request.getfixturevalue(fixture)
    damage(project / ".lore")
    if searched_before:
        with closing(open_index(project)) as index:
            for _ in range(2):
                found, classes = answer(index), names(index)
                assert found == ("docs/77.md", True) or "lore sync" in found
                assert classes == ["lamp.Lamp"] or "lore sync" in classes
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        report = sync(index)

        assert is_loaded(index)  # a search may be the first to meet a damaged vector of the cache, and marks it
        assert answer(index) == ("docs/77.md", True)
        assert names(index) == ["lamp.Lamp"]
        assert (report.failed, model.embedder.embedded) == ([], [])
    with closing(open_index(project)) as again:
        assert answer(again) == ("docs/77.md", True)


@pytest.mark.parametrize("name", often([name for name in DAMAGES if name not in UNHARMED], SEARCH_FIRST - UNHARMED))
@pytest.mark.promise(30)
def test_the_health_check_or_a_verification_reports_each_kind_of_damage(
    project: Path, open_app: Opener, name: str
) -> None:
    DAMAGES[name](project / ".lore")
    app = open_app(project)
    before = app.call("healthcheck", {})
    if name.startswith("cache "):  # searches use Chroma's copies; only a verification compares both
        reply = app.call("manage_database", {"action": "verify"})
        notes = " ".join(store["note"] for store in reply["verification"]["stores"])
        assert reply["status"] == "damaged" or f"{PAGES + 1:,} vectors not compared" in notes
    else:
        assert before["status"] in ("unhealthy", "degraded")
        assert "lore sync" in " ".join(check["detail"] for check in before["checks"] if check["status"] != "ok")

    assert sync_job(app)["state"] == "done"

    assert app.call("healthcheck", {})["status"] == "healthy"


@pytest.mark.promise(7)
def test_a_repaired_index_equals_a_fresh_index(large_project: Path) -> None:
    lore = large_project / ".lore"
    garble(lore / "catalogue.sqlite")
    garble(one_of(lore, "keywords/*.idx"))
    cut(one_of(lore, "vectors-*/*/data_level0.bin"))

    repaired(large_project)


@pytest.fixture
def rewritten(tmp_path: Path) -> Path:
    """Return a project with the index before its last edit beside it: every store has as many rows as before."""
    project = write_project(tmp_path / "project", {"a.md": "# Alpha\n\nThe zebra text.\n", "b.md": "# Beta\n"})
    sync_once(project)
    shutil.copytree(project / ".lore", tmp_path / "yesterday")
    write_project(project, {"a.md": "# Alpha\n\nThe walrus text.\n"})
    sync_once(project)
    return project


@pytest.mark.parametrize("searched_before", [True, False])
@pytest.mark.parametrize("store", ["keywords", "vectors-1", "catalogue.sqlite"])
@pytest.mark.promise(7)
def test_an_intact_store_of_another_day_is_never_searched_and_one_sync_repairs_it(
    rewritten: Path, store: str, searched_before: bool
) -> None:
    lore, earlier = rewritten / ".lore", rewritten.parent / "yesterday" / store
    if earlier.is_dir():
        shutil.rmtree(lore / store)
        shutil.copytree(earlier, lore / store)
    else:
        shutil.copy2(earlier, lore / store)
    if searched_before:
        with closing(open_index(rewritten)) as index, refused(IndexDamaged, hint="lore sync"):
            retrieve(index, parse("walrus"), None, 10)
    model = HashModel()

    with closing(open_index(rewritten, model=model)) as index:
        sync(index)

        assert is_loaded(index)
        assert model.embedder.embedded == []
        assert_equals_fresh(index)


@pytest.mark.parametrize("file", ["catalogue.sqlite", "embeddings.sqlite"])
@pytest.mark.promise(7)
def test_a_folder_in_the_place_of_a_file_is_replaced_by_one_sync(rewritten: Path, file: str) -> None:
    place = rewritten / ".lore" / file
    for _ in range(2):  # the second time, an earlier file was set aside
        place.unlink()
        place.mkdir()
        (place / "inner").write_text("x")

        with closing(open_index(rewritten)) as index:
            sync(index)
            assert is_loaded(index)
            assert retrieve(index, parse("walrus"), None, 10).by_word
        assert place.is_file()


def test_if_vectors_and_their_cache_are_lost_everything_is_embedded_again(project: Path) -> None:
    shutil.rmtree(vectors(project / ".lore"))
    garble(project / ".lore" / "embeddings.sqlite")

    with closing(open_index(project)) as index:
        assert sync(index).embedded == PAGES + 1
        assert answer(index) == ("docs/77.md", True)


def test_after_the_catalogue_is_lost_its_vectors_are_not_used_for_another_model(tmp_path: Path) -> None:
    write_project(tmp_path, {f"docs/{n}.md": f"# Page {n}\n\nsubject{n}\n" for n in range(20)})
    sync_once(tmp_path)
    (tmp_path / ".lore" / "catalogue.sqlite").unlink()

    report = sync_once(tmp_path, model=HashModel("another"))

    assert (report.rebuilt, report.embedded) == ("their model is unknown", 20)


def test_a_copied_index_answers_without_a_sync(tmp_path: Path) -> None:
    """The files of a copy have other modification times; their content decides."""
    project = write_project(tmp_path / "one", {"a.md": "# Alpha\n\nThe zebra text.\n"})
    sync_once(project)
    copy_project(project, tmp_path / "two", copy_function=shutil.copyfile)

    copied = open_index(tmp_path / "two")
    found = retrieve(copied, parse("zebra"), None, 10).found
    copied.close()

    assert [result.chunk.source for result in found] == ["a.md"]
    assert found[0].vector is not None
