"""The catalogue on real SQLite: transactions, order, threads, damage."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lore_etl.core.errors import Busy, CatalogueDamaged, StorageError
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.stores import sqlite_file
from lore_etl.stores.catalogue import Catalogue, ChunkKey, FileRow
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.integrity import is_suspect
from tests.harness.chunks import make_chunk
from tests.harness.damaging import cut, overwrite
from tests.harness.refusals import refused


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    opened = Catalogue(tmp_path)
    yield opened
    opened.close()


def piece(source: str, first: int, column: int | None = None, type_: str = "guide") -> Chunk:
    columns = None if column is None else (column, column + 10)
    return make_chunk(source, type_, f"line {first}", lines=(first, first), columns=columns, anchor=f"{first}:{column}")


def put(catalogue: Catalogue, *chunks: Chunk, has_vector: bool = True) -> None:
    catalogue.apply(((ChunkRecord.of(chunk), has_vector) for chunk in chunks), ())


def test_chunks_and_rows_of_files_are_read_back_until_they_are_replaced_or_removed(catalogue: Catalogue) -> None:
    chunk = make_chunk("a.py", "src", "text ☂ \0", chain=(("Base", "b.py"),), tags=("x",), symbols=("f",))
    put(catalogue, chunk)
    assert catalogue.chunks([chunk.id, "unknown"]) == {chunk.id: chunk}
    (key,) = catalogue.chunk_keys()
    assert (key.content_hash, key.metadata_hash, key.has_vector) == (chunk.content_hash, chunk.metadata_hash, True)

    row = FileRow("a.md", "stamp", "hash", "recipe", "{}", "[]")
    catalogue.apply((), (), [row, FileRow("b.md", "s", "h", "r", "{}", "[]")])
    newer = FileRow("a.md", "later", "hash", "recipe", "{}", "[]")
    catalogue.apply((), (), [newer], ["b.md"])
    assert catalogue.files() == {"a.md": newer}
    assert catalogue.stamps() == {"a.md": "later"}


def test_the_chunks_of_a_file_are_ordered_by_line_and_column(catalogue: Catalogue) -> None:
    wanted = [piece("a.md", 1), piece("a.md", 9), piece("a.md", 10, 0), piece("a.md", 10, 800), piece("a.md", 70_000)]

    for chunk in reversed(wanted):
        put(catalogue, chunk)

    assert catalogue.of_source("a.md") == wanted
    assert catalogue.page(None, None, 10, 0) == (5, wanted)


def test_pages_are_filtered_by_type_and_source_and_include_the_total(catalogue: Catalogue) -> None:
    a, b = [piece("a.md", n) for n in range(1, 6)], [piece("b.md", n, type_="ticket") for n in range(1, 4)]
    put(catalogue, *b, *a)

    assert catalogue.page(None, None, 3, 4) == (8, [a[4], b[0], b[1]])
    assert catalogue.page("ticket", None, 10, 0) == (3, b)
    assert catalogue.page("guide", "b.md", 10, 0) == (0, [])
    assert catalogue.page(None, "a.md", 2, 100) == (5, [])
    assert catalogue.counts() == {"guide": 5, "ticket": 3}


@pytest.mark.parametrize("count", [499, 500, 501, 5_461, 40_000])
def test_any_number_of_ids_can_be_requested_at_once(catalogue: Catalogue, count: int) -> None:
    chunk = piece("a.md", 1)
    put(catalogue, chunk)

    assert catalogue.chunks([*(f"unknown{n}" for n in range(count - 1)), chunk.id, chunk.id]) == {chunk.id: chunk}


def test_preloaded_and_kept_chunks_are_read_once_until_they_change_even_if_that_is_while_they_are_read(
    catalogue: Catalogue, tmp_path: Path
) -> None:
    chunks = {chunk.id: chunk for chunk in (piece("a.md", n) for n in range(1, 1_200))}
    put(catalogue, *chunks.values())
    portions = list(catalogue.preload())
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as other, other:
        other.execute("UPDATE chunk SET own = 'not read'")
    assert sorted(hash_ for portion in portions for hash_ in portion) == sorted(c.content_hash for c in chunks.values())
    assert catalogue.kept_chunks(chunks) == chunks

    same, changed, gone = (piece("b.md", n) for n in (1, 2, 3))
    ids = [same.id, changed.id, gone.id]
    put(catalogue, same, changed, gone)
    assert catalogue.kept_chunks([*ids, "unknown"]) == catalogue.chunks(ids)
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as other, other:
        other.execute("UPDATE chunk SET own = 'not read' WHERE id = ?", (same.id,))
    after = ChunkRecord.of(replace(changed, title="Another title")).chunk
    catalogue.apply([(ChunkRecord.of(after), True)], [gone.id])
    assert catalogue.kept_chunks(ids) == {same.id: same, changed.id: after}

    before = piece("c.md", 1)
    later = ChunkRecord.of(replace(before, title="Another title")).chunk
    put(catalogue, before)

    def changing() -> Iterator[tuple[ChunkRecord, bool]]:
        yield ChunkRecord.of(later), True
        with ThreadPoolExecutor(1) as pool:  # another thread sees the state before the transaction
            assert pool.submit(catalogue.kept_chunks, [before.id]).result(timeout=60) == {before.id: before}

    catalogue.apply(changing(), ())
    assert catalogue.kept_chunks([before.id]) == {before.id: later}


def test_a_change_is_atomic(catalogue: Catalogue) -> None:
    put(catalogue, piece("a.md", 1))

    def failing() -> Iterator[tuple[ChunkRecord, bool]]:
        yield ChunkRecord.of(piece("a.md", 2)), True
        raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        catalogue.apply(failing(), [piece("a.md", 1).id], generation="2")

    assert catalogue.of_source("a.md") == [piece("a.md", 1)]
    assert catalogue.meta("generation") is None


def test_other_threads_read_the_old_state_until_a_transaction_ends(catalogue: Catalogue) -> None:
    put(catalogue, piece("a.md", 1))
    inside, seen = threading.Event(), list[int]()
    read = threading.Event()

    def reader() -> None:
        inside.wait(120)
        seen.append(sum(catalogue.counts().values()))
        read.set()

    thread = threading.Thread(target=reader)
    thread.start()

    def slow() -> Iterator[tuple[ChunkRecord, bool]]:
        yield ChunkRecord.of(piece("a.md", 2)), True
        inside.set()
        assert read.wait(120)
        yield ChunkRecord.of(piece("a.md", 3)), True

    catalogue.apply(slow(), ())
    thread.join(120)

    assert seen == [1]
    assert catalogue.counts() == {"guide": 3}


def test_keys_are_those_of_the_chunks_in_order_without_their_texts(catalogue: Catalogue) -> None:
    first, second, ticket = piece("b.md", 2), piece("b.md", 10), piece("a.md", 1, type_="ticket")
    closed = replace(ticket, state="closed", superseded_by="b.md")
    put(catalogue, first, closed)
    put(catalogue, second, has_vector=False)

    keys = catalogue.chunk_keys()

    hashes = ticket.content_hash, ChunkRecord.of(closed).metadata_hash
    assert keys[0] == ChunkKey(ticket.id, "a.md", KnowledgeType.TICKET, *hashes, True, "closed", "b.md")
    assert keys[0].row == (f"{ticket.id}.{ticket.content_hash[:16]}", "ticket", "a.md")
    assert [key.id for key in keys] == [ticket.id, first.id, second.id]
    assert [key.id for key in catalogue.chunk_keys(waiting_only=True)] == [second.id]
    assert catalogue.chunk_keys([second.id, "unknown"]) == [keys[2]]


def test_chunks_have_a_vector_once_they_are_marked_and_after_a_switch_exactly_the_given_ones(
    catalogue: Catalogue,
) -> None:
    first, second = piece("a.md", 1), piece("a.md", 2)
    put(catalogue, first, second, has_vector=False)
    assert (catalogue.waiting(), catalogue.with_vector()) == (2, 0)

    catalogue.mark_vectors([first.id], present=True)
    assert (catalogue.waiting(), catalogue.with_vector()) == (1, 1)

    catalogue.switch_vectors([second.id], generation="2")
    assert {key.id: key.has_vector for key in catalogue.chunk_keys()} == {first.id: False, second.id: True}
    assert catalogue.meta("generation") == "2"


def test_a_type_that_lore_does_not_write_is_damage(catalogue: Catalogue) -> None:
    put(catalogue, piece("a.md", 1))
    with catalogue.transaction() as connection:
        connection.execute("UPDATE chunk SET type = 'unheard-of'")

    with pytest.raises(CatalogueDamaged):
        catalogue.chunk_keys()


def test_meta_values_and_counts_stay_in_memory_until_a_transaction_ends(catalogue: Catalogue) -> None:
    catalogue.set_meta(a="1")
    statements = list[str]()
    with catalogue._connect() as connection:  # the only connection, which later calls use
        connection.set_trace_callback(statements.append)

    assert [catalogue.metas("a", "b") for _ in range(3)] == [("1", None)] * 3
    assert len(statements) == 1
    assert [(catalogue.total(), catalogue.waiting()) for _ in range(3)] == [(0, 0)] * 3
    assert len(statements) == 3
    with pytest.raises(ZeroDivisionError), catalogue.transaction() as writing:
        writing.execute("UPDATE meta SET value = '2'")
        raise ZeroDivisionError
    assert catalogue.meta("a") == "1"
    catalogue.apply([(ChunkRecord.of(piece("a.md", 1)), False)], (), a="3")
    assert (catalogue.meta("a"), catalogue.total(), catalogue.waiting()) == ("3", 1, 1)
    catalogue.set_meta(a=None, b="4")
    assert catalogue.metas("a", "b") == (None, "4")


def filled_file(folder: Path) -> Path:
    catalogue = Catalogue(folder)
    put(catalogue, *(piece(f"{n}.md", 1) for n in range(2_000)))
    catalogue.close()
    return folder / CATALOGUE


DAMAGES: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"garbage" * 1_000),
    "header garbage": lambda file: overwrite(file, 0, 100),
    "middle garbage": lambda file: overwrite(file, 0.2, file.stat().st_size // 2),
    "cut in half": cut,
    "emptied": lambda file: file.write_bytes(b""),
    "a table is gone": lambda file: sqlite3.connect(file).executescript("DROP TABLE chunk; CREATE TABLE chunk (id)"),
    "a record is no chunk": lambda file: sqlite3.connect(file).executescript("UPDATE chunk SET own = '{}'"),
}


def read_all(folder: Path) -> None:
    catalogue = Catalogue(folder)
    try:
        catalogue.chunk_keys()
        catalogue.page(None, None, 10_000, 0)
    finally:
        catalogue.close()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_reported_when_found_and_remembered_until_a_sync(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    damage(filled_file(tmp_path))

    with refused(CatalogueDamaged, hint="lore sync"):
        read_all(tmp_path)

    with pytest.raises(CatalogueDamaged):
        Catalogue(tmp_path)


def test_garbage_in_the_write_ahead_log_is_ignored(tmp_path: Path) -> None:
    file = filled_file(tmp_path)
    file.with_name(file.name + "-wal").write_bytes(b"\xa5" * 100_000)

    catalogue = Catalogue(tmp_path)

    assert sum(catalogue.counts().values()) == 2_000
    catalogue.close()


def test_a_locked_database_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0)
    catalogue = Catalogue(tmp_path)
    blocker = sqlite3.connect(tmp_path / CATALOGUE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")

    with pytest.raises(StorageError) as caught:
        catalogue.set_meta(dirty="1")

    assert not isinstance(caught.value, CatalogueDamaged)
    assert not is_suspect(tmp_path / CATALOGUE)
    blocker.close()
    catalogue.close()


@pytest.mark.promise(15)
def test_a_catalogue_with_another_schema_version_is_reported(tmp_path: Path) -> None:
    Catalogue(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / CATALOGUE)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(CatalogueDamaged, match="layout 99; this version writes"):
        Catalogue(tmp_path)


def test_threads_that_end_leave_no_open_file(catalogue: Catalogue, tmp_path: Path) -> None:
    def use() -> None:
        catalogue.set_meta(a="b")
        catalogue.counts()

    def in_threads(number: int) -> int:
        for _ in range(number):
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        files = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
        return len([file for file in files if Path(file).is_relative_to(tmp_path.resolve())])

    assert in_threads(1) == in_threads(20)


def test_a_closed_catalogue_refuses_calls_and_creates_no_file(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    catalogue.close()
    (tmp_path / CATALOGUE).unlink()

    with pytest.raises(Busy):
        catalogue.counts()

    assert not (tmp_path / CATALOGUE).exists()
