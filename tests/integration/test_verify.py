"""A verification compares every item of every store, and marks damage that no check of files or pages can see."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lore_etl.core.errors import Busy, IndexMissing, LoreError
from lore_etl.core.model import row_id
from lore_etl.index import Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import create_only, sync
from lore_etl.pipeline.verify import Compared, Verification
from lore_etl.stores.embedding_cache import CACHE
from lore_etl.stores.sqlite_file import row_seal
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.damaging import turn_cached_vectors_around
from tests.harness.indexes import assert_equals_fresh
from tests.harness.models import HashModel
from tests.harness.projects import chunks_of, open_index, sync_once, write_project
from tests.harness.refusals import refused

pytestmark = pytest.mark.usefixtures("prepared_python")
CLASSES = "class Lamp:\n    '''Shines.'''\n\n\nclass Lantern(Lamp):\n    '''Shines at night.'''\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} costs {100 * n} euro\n" for n in range(1, 7)}
    return write_project(tmp_path / "project", {**pages, "src/lamps.py": CLASSES})


def verified(index: Index) -> dict[str, Compared]:
    run = Verification(index, lambda done, total: None, portion=3)
    run.run()
    return run.found


def damaged(found: dict[str, Compared]) -> list[str]:
    return [name for name, compared in found.items() if compared.damaged]


def index_other_words(index: Index) -> None:
    """Index another text under the version of the record, as bits of a posting list would change it."""
    chunk = chunks_of(index, "docs/3.md")[0]
    index.keywords.replace([replace(chunk, text=chunk.text.replace("300", "900"))], ())
    index.keywords.publish()


def forget_words(index: Index) -> None:
    index.keywords.replace((), [chunks_of(index, "docs/3.md")[0].id])
    index.keywords.publish()


def exchange_two_vectors(index: Index) -> None:
    rows = [(row_id(chunk), chunk.type.value, chunk.source) for chunk in chunks_of(index)[:2]]
    stored = index.vectors.stored([row[0] for row in rows])
    index.vectors.heal(rows, np.stack([stored[row[0]][2] for row in reversed(rows)]))
    index.vectors.seal()


def change_a_number(index: Index) -> None:
    chunk = chunks_of(index, "docs/3.md")[0]
    row = row_id(chunk), chunk.type.value, chunk.source
    vector = index.vectors.stored(row[:1])[row[0]][2].copy()
    vector[np.argmax(np.abs(vector))] *= -1
    index.vectors.heal([row], vector[np.newaxis])
    index.vectors.seal()


def change_a_source(index: Index) -> None:
    row = row_id(chunks_of(index, "docs/3.md")[0])
    index.vectors.update([(row, "src", "docs/4.md")])
    index.vectors.seal()


def lose_a_vector(index: Index) -> None:
    index.vectors.delete([row_id(chunks_of(index, "docs/3.md")[0])])
    index.vectors.seal()


def add_a_vector(index: Index) -> None:
    index.vectors.add([("surplus.row", "guide", "docs/3.md")], index.embedder.embed(["surplus"]))
    index.vectors.seal()


def sql(index: Index, file: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(index.folder / file)) as connection, connection:
        connection.execute(statement, values)


def change_a_record(index: Index) -> None:
    sql(index, "catalogue.sqlite", "UPDATE chunk SET own = replace(own, '300 euro', '900 euro')")


def change_a_class(index: Index) -> None:
    record = '[["lamps.Other"],"src/lamps.py",[5,6],[]]'
    seal = row_seal("lamps.Lantern", record)
    sql(index, "catalogue.sqlite", "UPDATE class SET record = ?, seal = ? WHERE name LIKE '%Lantern'", record, seal)


def turn_a_cached_vector(index: Index) -> None:
    turn_cached_vectors_around(index.folder, "rowid = 2")


DAMAGES: dict[str, list[Callable[[Index], None]]] = {
    "keywords": [index_other_words, forget_words],
    "vectors": [exchange_two_vectors, change_a_number, change_a_source, lose_a_vector, add_a_vector],
    "catalogue": [change_a_record, change_a_class],
    "embeddings": [turn_a_cached_vector],
}


def test_an_intact_index_is_compared_completely(project: Path) -> None:
    with closing(open_index(project)) as index:
        sync(index)
        chunks, files, classes = index.catalogue.total(), len(index.catalogue.stamps()), len(index.hierarchy.nodes)

        found = verified(index)

        assert damaged(found) == []
        assert {store.note for store in found.values()} == {""}
        assert found["catalogue"].items > chunks + files + classes
        assert found["classes"].items == classes
        assert {found[name].items for name in ("keywords", "vectors", "embeddings")} == {chunks}
        assert is_loaded(index)


@pytest.mark.promise(7)
@pytest.mark.promise(8)
@pytest.mark.parametrize(("store", "damage"), [(store, one) for store, damages in DAMAGES.items() for one in damages])
def test_damage_is_found_and_repaired_by_one_sync(project: Path, store: str, damage: Callable[[Index], None]) -> None:
    model = HashModel()
    with closing(open_index(project, model=model)) as index:
        sync(index)
        damage(index)

        assert store in damaged(verified(index))
        assert store == "catalogue" or damaged(verified(index)) == [store]
        assert not is_loaded(index) or store == "catalogue"
        assert has_hint_or_no_damage(index)

        sync(index)
        assert damaged(verified(index)) == []
        assert is_loaded(index)
        assert_equals_fresh(index)
        assert len(model.embedder.embedded) <= index.catalogue.total() + 1


def has_hint_or_no_damage(index: Index) -> bool:
    """Return whether a search reports the damage, unless it does not use the damaged store."""
    try:
        return bool(retrieve(index, parse("subject3 euro"), None, 20).found)
    except LoreError as error:
        return "lore sync" in error.hint


def test_an_unfinished_or_missing_index_is_not_called_intact(project: Path) -> None:
    with closing(open_index(project)) as index:
        with pytest.raises(IndexMissing):
            verified(index)
        create_only(index)
        with refused(Busy, hint="lore sync"):
            verified(index)


def test_without_cached_vectors_it_says_what_was_not_compared(project: Path) -> None:
    sync_once(project)
    (project / ".lore" / CACHE).unlink()
    with closing(open_index(project)) as index:
        found = verified(index)

    assert damaged(found) == []
    assert "not compared" in found["vectors"].note
    assert found["embeddings"].items == 0


def test_a_pass_from_the_middle_compares_all_and_one_until_damage_ends_early(project: Path) -> None:
    with closing(open_index(project)) as index:
        sync(index)
        run = Verification(index, lambda done, total: None, portion=2)
        run.run(first=3)
        assert run.found["keywords"].items == index.catalogue.total()

        index_other_words(index)
        run = Verification(index, lambda done, total: None, portion=1, until_damage=True)
        run.run()

        assert run.found["keywords"].items < index.catalogue.total()
        assert not is_loaded(index)
