"""Changes of a store by another program or a failing disk are found when it is opened, and before each sync."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import CatalogueDamaged, IndexDamaged
from lore_etl.core.model import Chunk
from lore_etl.index import KEYWORDS, Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.integrity import SEAL, is_suspect, mark
from tests.harness.indexes import assert_equals_fresh
from tests.harness.projects import open_index, write_project

pytestmark = pytest.mark.promise(7)
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
    root = write_project(tmp_path / "project", PAGES)
    with closing(open_index(root)) as index:
        sync(index)
    return root


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

    with closing(open_index(project)) as index, pytest.raises(CatalogueDamaged) as caught:
        index.catalogue.total()

    assert "lore sync" in caught.value.hint


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


def test_a_row_that_changed_while_the_index_was_open_is_found_after_it_was_closed(project: Path) -> None:
    with closing(open_index(project)) as index:
        assert index.catalogue.total() == 3
        change(project, UNREAD["the notes of a file"])

    with closing(open_index(project)) as again, pytest.raises(CatalogueDamaged):
        again.catalogue.total()


def test_damage_that_a_reader_of_the_catalogue_met_is_repaired_by_the_next_sync_of_the_process(index: Index) -> None:
    mark(index.folder / CATALOGUE)

    report = sync(index)

    assert "catalogue is damaged" in " ".join(report.warnings)
    assert not is_suspect(index.folder / CATALOGUE)
    assert_equals_fresh(index)


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


def keyword_file(project: Path) -> Path:
    return next((project / ".lore" / KEYWORDS).glob("*.store"))


def garble(file: Path) -> None:
    """Change a byte, and neither the size of the file nor its time."""
    info, content = file.stat(), bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a byte is changed": garble,
    "a file is missing": Path.unlink,
    "a file was added": lambda file: file.with_name("added.store").write_bytes(b"x"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_changed_file_of_the_keyword_index_is_found_when_it_is_opened(
    project: Path, damage: Callable[[Path], object]
) -> None:
    damage(keyword_file(project))

    with closing(open_index(project)) as index, pytest.raises(IndexDamaged, match="damaged") as caught:
        index.keywords.count()

    assert "lore sync" in caught.value.hint
    assert is_suspect(project / ".lore" / KEYWORDS)


def test_a_write_to_the_keyword_index_breaks_its_seal_first(index: Index) -> None:
    """Otherwise the files of a killed write would count as damage."""
    seal = index.folder / KEYWORDS / SEAL
    assert seal.exists()

    def chunks() -> Iterator[Chunk]:
        assert not seal.exists()
        yield from index.catalogue.every_chunk()

    index.keywords.replace(chunks(), ())

    assert seal.exists()
