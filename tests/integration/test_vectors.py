"""The vector store on real Chroma, in this process and with `chroma run`: limits and damaged files."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lore_etl.config.settings import DatabaseSettings, Settings
from lore_etl.core.errors import Busy, IndexDamaged, StorageError
from lore_etl.index import Index
from lore_etl.models.embedder import Vectors
from lore_etl.pipeline.sync import sync
from lore_etl.stores import integrity
from lore_etl.stores.chroma import backend
from lore_etl.stores.chroma.backend import effort
from lore_etl.stores.chroma.client import open_client
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma
from lore_etl.stores.chroma.vector_store import VectorStore
from tests.harness.damaging import cut, garble
from tests.harness.models import HashModel
from tests.harness.processes import run
from tests.harness.projects import write_project
from tests.harness.refusals import refused
from tests.harness.vectors import rows_of, vectors_of

pytestmark = [pytest.mark.later, pytest.mark.usefixtures("prepared_python")]
SETTINGS = DatabaseSettings()
CHROMA_LIMIT = 5_461
Open = Callable[..., VectorStore]
"""(folder, at_least, settings) -> the store."""


@pytest.fixture(params=[EmbeddedChroma, pytest.param(ChildChroma, marks=pytest.mark.long)], ids=["embedded", "server"])
def open_store(request: pytest.FixtureRequest) -> Open:
    """Opens a folder of vectors in this process or with a server; tests marked `both` run with each."""

    def opened(folder: Path, at_least: int = 0, settings: DatabaseSettings = SETTINGS) -> VectorStore:
        return VectorStore(request.param(folder, settings), at_least)

    return opened


both = pytest.mark.parametrize("open_store", [EmbeddedChroma, ChildChroma], ids=["embedded", "server"], indirect=True)
"""The tests of what a store promises. The others show what happens above a connection, whichever it is."""


@pytest.fixture
def store(tmp_path: Path, open_store: Open) -> Iterator[VectorStore]:
    opened = open_store(tmp_path / "vectors")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a closed store of 3,000 rows, more than fit in Chroma's log, so that its HNSW files are on disk."""
    folder = tmp_path_factory.mktemp("big") / "vectors"
    filled = VectorStore(EmbeddedChroma(folder, SETTINGS))
    filled.add(rows_of(3_000), vectors_of(3_000))
    filled.close()
    return folder


@pytest.fixture
def copy(big: Path, tmp_path: Path) -> Path:
    shutil.copytree(big, tmp_path / "copy")
    return tmp_path / "copy"


def segment_file(folder: Path, name: str) -> Path:
    return next(folder.glob(f"*/{name}"))


BELOW = [pytest.param(count, marks=pytest.mark.long) for count in (CHROMA_LIMIT - 1, CHROMA_LIMIT)]


@pytest.mark.parametrize("count", [*BELOW, CHROMA_LIMIT + 1])
def test_any_number_of_rows_is_added_read_changed_and_deleted(tmp_path: Path, open_store: Open, count: int) -> None:
    sparse = DatabaseSettings(ef_construction=10, ef_search=10, max_neighbors=4)
    store = open_store(tmp_path / "vectors", settings=sparse)
    rows, vectors = rows_of(count), vectors_of(count, dimension=4)

    store.add(rows, vectors)

    assert store.count() == count
    assert store.rows() == {row[0]: (row[1], row[2]) for row in rows}
    store.heal(rows, vectors)
    store.update([(id_, "ticket", source) for id_, _, source in rows])
    assert {type_ for type_, _ in store.rows().values()} == {"ticket"}
    store.delete(row[0] for row in rows[1:])
    assert store.rows().keys() == {rows[0][0]}
    store.close()


@both
@pytest.mark.promise(8)
def test_each_row_is_found_by_its_own_vector_with_similarity_one(store: VectorStore) -> None:
    rows, vectors = rows_of(1_500), vectors_of(1_500)

    store.add(rows, vectors)

    assert store.missing([row[0] for row in rows], vectors) == []
    (best, similarity), *_ = store.search(vectors[7], 5)
    assert best == rows[7][0]
    assert similarity == pytest.approx(1, abs=1e-5)


def ef_search_of(folder: Path) -> int:
    client = open_client(folder)
    try:
        return int(client.get_collection("lore", embedding_function=None).configuration_json["hnsw"]["ef_search"])
    finally:
        client.close()


def test_an_existing_collection_takes_over_a_changed_effort_of_searches(tmp_path: Path, open_store: Open) -> None:
    folder = tmp_path / "vectors"
    for ef_search in (100, 300):
        store = open_store(folder, settings=DatabaseSettings(ef_search=ef_search))
        store.add(rows_of(10), vectors_of(10))
        store.close()

        assert ef_search_of(folder) == ef_search


def test_a_search_becomes_more_thorough_when_the_rows_multiply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "FIRST_ROWS", 4)
    root = write_project(tmp_path, {f"{n}.md": f"# Page {n}\n\nText {n}.\n" for n in range(5)})
    with closing(Index(root, Settings(), HashModel())) as index:
        first = index.vectors
        sync(index)

        assert index.vectors is not first
        assert not index.vectors.is_outgrown()
    assert ef_search_of(root / ".lore" / "vectors-1") == 2 * SETTINGS.ef_search


def recall(store: VectorStore, vectors: Vectors) -> float:
    """Return the share of the true nearest ten that searches for other vectors find."""
    questions = vectors_of(40, vectors.shape[1], seed=2)
    true = np.argsort(-(questions @ vectors.T), axis=1)[:, :10]
    found = [[int(row[:32], 16) for row, _ in store.search(question, 10)] for question in questions]
    return sum(len({*map(int, right)} & set(got)) for right, got in zip(true, found, strict=True)) / true.size


def test_a_store_that_has_grown_is_searched_thoroughly_the_next_time_it_is_opened(
    tmp_path: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse = DatabaseSettings(ef_construction=20, ef_search=10, max_neighbors=4)
    vectors = vectors_of(3_000, dimension=32)
    with closing(open_store(tmp_path / "vectors", settings=sparse)) as store:
        store.add(rows_of(3_000), vectors)
        before = recall(store, vectors)

    monkeypatch.setattr(backend, "FIRST_ROWS", 10)
    with closing(open_store(tmp_path / "vectors", at_least=3_000, settings=sparse)) as store:
        assert recall(store, vectors) > before + 0.2


@pytest.mark.parametrize(("rows", "factor"), [(0, 1), (20_000, 1), (20_001, 2), (80_000, 2), (300_000, 4)])
def test_the_effort_of_a_search_doubles_whenever_the_rows_quadruple(rows: int, factor: int) -> None:
    assert effort(rows) == factor


@both
def test_adding_an_existing_row_does_not_change_it_and_repairing_replaces_it(store: VectorStore) -> None:
    rows, vectors = rows_of(3), vectors_of(4)
    store.add(rows, vectors[:3])

    store.add([(rows[0][0], "ticket", "other.md")], vectors[2:3])

    assert store.count() == 3
    assert store.rows()[rows[0][0]] == ("guide", "docs/0.md")
    assert store.search(vectors[0], 1)[0] == (rows[0][0], pytest.approx(1, abs=1e-5))

    store.heal([(rows[0][0], "ticket", "other.md")], vectors[3:])

    assert store.count() == 3
    assert store.rows()[rows[0][0]] == ("ticket", "other.md")
    assert store.search(vectors[3], 1)[0][0] == rows[0][0]


def test_a_deleted_row_is_missing_until_it_is_repaired_and_unknown_rows_change_nothing(store: VectorStore) -> None:
    rows, vectors = rows_of(50), vectors_of(50)
    ids = [row[0] for row in rows]
    store.add(rows, vectors)

    store.delete([rows[3][0], rows[9][0], "unknown.0"])
    store.delete([])
    store.update([("unknown.0", "guide", "a.md")])
    assert store.missing(ids, vectors) == [3, 9]
    assert store.count() == 48

    store.heal([rows[3], rows[9]], vectors[[3, 9]])
    assert store.missing(ids, vectors) == []
    assert store.rows().keys() == set(ids)


@both
@pytest.mark.parametrize("step", [2, 10])
def test_a_search_among_the_rows_of_a_type_returns_the_best_of_them(store: VectorStore, step: int) -> None:
    count = 1_200 * step  # more rows of the type than are compared one by one
    vectors = vectors_of(count, dimension=4)
    rows = [(id_, "guide" if n % step else "ticket", source) for n, (id_, _, source) in enumerate(rows_of(count))]
    store.add(rows, vectors)
    places = {rows[n][0]: n for n in range(0, count, step)}

    found = store.search(vectors[1], 40, list(places), "ticket")

    scores = [float(vectors[places[id_]] @ vectors[1]) for id_, _ in found]
    best = sorted((float(vectors[n] @ vectors[1]) for n in places.values()), reverse=True)
    assert scores == pytest.approx(best[:40], abs=1e-4)
    assert store.search(vectors[1], 5, [], "release") == []


@both
@pytest.mark.promise(14)
def test_more_results_than_rows_but_no_other_dimension_may_be_requested(store: VectorStore) -> None:
    assert store.search(vectors_of(1)[0], 10) == []
    store.add(rows_of(3), vectors_of(3, dimension=16))
    assert len(store.search(vectors_of(1)[0], 1_000)) == 3
    with pytest.raises(StorageError):
        store.search(vectors_of(1, dimension=8)[0], 1)


def test_almost_equal_texts_are_not_missing_because_of_rounded_distances(store: VectorStore) -> None:
    vectors = (np.ones((60, 768)) + 1e-3 * np.random.default_rng(1).random((60, 768))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = rows_of(60)

    store.add(rows, vectors)

    assert store.missing([row[0] for row in rows], vectors) == []


@pytest.mark.promise(8)
def test_upserts_before_deletes_lose_nothing_when_most_rows_are_replaced(store: VectorStore) -> None:
    rows, vectors = rows_of(1_600), vectors_of(1_600)
    store.add(rows[:800], vectors[:800])

    store.add(rows[800:], vectors[800:])
    store.delete(row[0] for row in rows[:800])

    assert store.missing([row[0] for row in rows[800:]], vectors[800:]) == []


@both
def test_a_closed_store_is_sealed_and_opens_with_the_same_rows(copy: Path, open_store: Open) -> None:
    assert integrity.is_sealed(copy)

    store = open_store(copy, at_least=3_000)

    assert store.count() == 3_000
    assert store.missing([row[0] for row in rows_of(3_000)], vectors_of(3_000)) == []
    store.close()
    assert integrity.is_sealed(copy)


def test_a_write_breaks_the_seal_until_the_store_is_sealed_again(store: VectorStore, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    assert integrity.is_sealed(folder)

    store.add(rows_of(1), vectors_of(1))

    assert not integrity.is_sealed(folder)
    store.seal()
    assert integrity.is_sealed(folder)


UNSET = ("data_level0.bin", "length.bin")


def garble_unset(folder: Path) -> None:
    """Fill these files as Chroma does: with memory that it has not set, which may be zero by chance."""
    for name in UNSET:
        garble(segment_file(folder, name))


def unset_content(folder: Path) -> set[int]:
    """Return the bytes in the files of vectors none of which is set yet."""
    return set(b"".join(segment_file(folder, name).read_bytes() for name in UNSET))


def test_no_memory_of_the_process_stays_in_the_files_of_unset_vectors(tmp_path: Path, open_store: Open) -> None:
    folder, rows, vectors = tmp_path / "vectors", rows_of(3_000), vectors_of(3_000)
    store = open_store(folder)
    store.add(rows[:10], vectors[:10])

    steps: list[Callable[[], None]] = [lambda: store.add(rows[10:20], vectors[10:20]), store.seal, store.close]
    for step in steps:
        garble_unset(folder)
        step()
        assert unset_content(folder) == {0}

    garble_unset(folder)  # as a killed process leaves it
    (folder / integrity.SEAL).unlink()
    store = open_store(folder, at_least=20)
    assert unset_content(folder) == {0}

    store.add(rows[20:], vectors[20:])
    assert store.missing([row[0] for row in rows], vectors) == []
    store.close()
    assert len(unset_content(folder)) > 1
    store = open_store(folder, at_least=3_000)
    assert store.missing([row[0] for row in rows], vectors) == []
    store.close()


@both
def test_a_running_search_finishes_before_the_store_closes(tmp_path: Path, open_store: Open) -> None:
    store = open_store(tmp_path / "vectors")
    store.add(rows_of(2_000), vectors_of(2_000))
    started, outcomes = threading.Barrier(9), list[str]()

    def search() -> None:
        started.wait(120)
        try:
            while True:
                assert store.missing([row[0] for row in rows_of(200)], vectors_of(2_000)[:200]) == []
        except Busy as error:
            outcomes.append(error.hint)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.wait(120)
    store.close()
    for thread in threads:
        thread.join(120)

    assert outcomes == [Busy.default_hint] * 8


DAMAGES: dict[str, Callable[[Path], None]] = {
    "vectors cut in half": lambda folder: cut(segment_file(folder, "data_level0.bin")),
    "vectors garbage": lambda folder: garble(segment_file(folder, "data_level0.bin")),
    "links garbage": lambda folder: garble(segment_file(folder, "link_lists.bin")),
    "header garbage": lambda folder: garble(segment_file(folder, "header.bin")),
    "pickle cut": lambda folder: cut(segment_file(folder, "index_metadata.pickle")),
    "segment folder deleted": lambda folder: shutil.rmtree(segment_file(folder, "header.bin").parent),
    "database garbage": lambda folder: garble(folder / "chroma.sqlite3"),
    "database cut": lambda folder: cut(folder / "chroma.sqlite3"),
    "database deleted": lambda folder: (folder / "chroma.sqlite3").unlink(),
    "everything deleted": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.promise(7)
def test_damaged_files_are_reported_not_opened(copy: Path, open_store: Open, damage: Callable[[Path], None]) -> None:
    damage(copy)

    with refused(IndexDamaged, hint="lore sync"):
        open_store(copy, at_least=3_000)

    assert not integrity.is_sealed(copy)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_unsealed_damage_is_reported_or_harmless(copy: Path, open_store: Open, damage: Callable[[Path], None]) -> None:
    damage(copy)
    (copy / integrity.SEAL).unlink(missing_ok=True)

    try:
        store = open_store(copy, at_least=3_000)
    except IndexDamaged:
        assert not integrity.is_sealed(copy)
    else:
        assert store.missing([row[0] for row in rows_of(3_000)], vectors_of(3_000)) == []
        store.close()


@both
def test_links_that_take_more_space_than_all_vectors_are_damage(copy: Path, open_store: Open) -> None:
    store = open_store(copy)
    with open(next(copy.glob("*/link_lists.bin")), "ab") as file:
        file.truncate(1 << 26)  # after a kill the file had 1.4 TB, and its digest would have taken half an hour

    with pytest.raises(IndexDamaged, match="larger than its content"):
        store.seal()
    store.close()
    with pytest.raises(IndexDamaged, match="an earlier call could not use it"):
        open_store(copy)


def test_after_a_failed_open_a_new_store_can_be_created_at_the_same_path(copy: Path, open_store: Open) -> None:
    garble(copy / "chroma.sqlite3")
    with pytest.raises(IndexDamaged):
        open_store(copy)

    shutil.rmtree(copy)
    integrity.unmark(copy)
    store = open_store(copy)
    store.add(rows_of(2), vectors_of(2))

    assert store.count() == 2
    store.close()


def test_modules_of_the_project_in_the_working_folder_are_never_imported(copy: Path, tmp_path: Path) -> None:
    (copy / integrity.SEAL).unlink()
    trap = tmp_path / "project"
    trap.mkdir()
    (trap / "chromadb.py").write_text("raise SystemExit(9)", encoding="utf-8")
    code = """
import os, sys
from pathlib import Path
from lore_etl.config.settings import DatabaseSettings
from lore_etl.stores.chroma.local import ChildChroma, EmbeddedChroma
from lore_etl.stores.chroma.vector_store import VectorStore
sys.path = [one for one in sys.path if one]
os.chdir(sys.argv[2])
for backend in (EmbeddedChroma, ChildChroma):
    store = VectorStore(backend(Path(sys.argv[1]), DatabaseSettings()))
    print(store.count())
    store.close()
"""

    done = run(code, copy, trap)

    assert (done.stdout, done.returncode) == ("3000\n3000\n", 0)


def test_an_invalid_seal_counts_as_missing(copy: Path) -> None:
    for content in ("garbage", "[1, 2]", "null"):
        (copy / integrity.SEAL).write_text(content, encoding="utf-8")
        assert integrity.changed(copy) is None


def test_similarities_are_exact_for_the_requested_rows_and_omit_unknown_rows(store: VectorStore) -> None:
    rows, vectors = rows_of(30), vectors_of(30)
    store.add(rows, vectors)

    found = store.similarities(vectors[3], [rows[3][0], rows[7][0], "unknown"])

    assert found == pytest.approx({rows[3][0]: 1.0, rows[7][0]: float(vectors[7] @ vectors[3])}, abs=1e-5)
    assert store.similarities(vectors[3], []) == {}


def test_the_scores_among_some_rows_equal_those_among_all_also_of_a_row_that_is_added(store: VectorStore) -> None:
    rows, vectors = rows_of(400), vectors_of(400)
    wanted = [row[0] for row in reversed(rows)]
    store.add(rows[1:], vectors[1:])
    before = store.search(vectors[0], 400, only=wanted)

    store.add(rows[:1], vectors[:1])
    every = dict(store.search(vectors[0], 400))
    first, again = (store.search(vectors[0], 400, only=wanted) for _ in range(2))

    assert len(before) == 399
    assert (first[0][0], len(first)) == (rows[0][0], 400)
    assert again == first
    assert dict(first) == pytest.approx(every, abs=1e-5)
    assert dict(first).keys() == set(wanted)
