"""Garbage in a database file: a single sync repairs it, and no search silently loses results."""

import itertools
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.errors import LoreError
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.catalogue_file import SEAL
from lore_etl.stores.claim import CATALOGUE
from lore_etl.stores.embedding_cache import CACHE
from lore_etl.stores.export import CHUNKS
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.damaging import overwrite
from tests.harness.indexes import assert_equals_fresh, fresh_state, repaired, state_of
from tests.harness.projects import open_index, sync_once, write_project
from tests.harness.trying import is_long, often

pytestmark = pytest.mark.later

PAGE = 4096
DOCUMENTS = 60
GARBAGE = {"bytes": b"\xa5", "zeros": b"\0", "text": b"q"}
POSITIONS = range(0, 100, 7 if is_long() else 30)  # percent of the file
FILES = {
    **{f"docs/{n}.md": f"# Page {n}\n\nsubject{n} lighthouse word{n % 7}\n" for n in range(DOCUMENTS)},
    "src/lamp.py": "class Lamp:\n    '''Shines.'''\n",
}
KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
for value in (0, 1):
    connection.execute("UPDATE chunk SET has_vector = ?", (value,))
os._exit(9)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a synced project that each test damages and repairs."""
    project = write_project(tmp_path_factory.mktemp("garbage") / "project", FILES)
    sync_once(project)
    return project


def found(index: Index) -> list[str] | str:
    """Return the sources found for a word, or the hint of the error."""
    try:
        candidates = retrieve(index, parse("lighthouse"), None, DOCUMENTS + 1)
        return sorted(candidate.chunk.source for candidate in candidates.found if candidate.keyword)
    except LoreError as error:
        return error.hint


@pytest.mark.parametrize(
    ("kind", "length"),
    often(itertools.product(GARBAGE, (300, 3 * PAGE)), {("bytes", 3 * PAGE), ("zeros", 300), ("text", 300)}),
)
def test_a_sync_repairs_a_catalogue_with_garbage_at_any_position(project: Path, kind: str, length: int) -> None:
    complete = sorted(path for path in FILES if path.startswith("docs/"))
    for percent in POSITIONS:
        overwrite(project / ".lore" / CATALOGUE, percent / 100, length, GARBAGE[kind])
        with closing(open_index(project)) as index:
            answer = found(index)
            assert answer == complete or "lore sync" in answer
        repaired(project)


@pytest.mark.parametrize("percent", POSITIONS)
def test_a_sync_repairs_a_catalogue_with_the_log_of_a_killed_process(project: Path, percent: int) -> None:
    catalogue = project / ".lore" / CATALOGUE
    killed = subprocess.run([sys.executable, "-c", KILLED, catalogue], check=False, capture_output=True, text=True)
    assert (killed.returncode, killed.stderr) == (9, "")
    log = catalogue.with_name(f"{CATALOGUE}-wal")
    assert log.stat().st_size
    overwrite(catalogue, percent / 100, 2 * PAGE)
    overwrite(log, percent / 100, PAGE)

    repaired(project)


def test_a_running_process_repairs_a_catalogue_overwritten_by_another(project: Path) -> None:
    for percent in POSITIONS:
        with closing(open_index(project)) as index:
            assert sync(index).unchanged
            overwrite(project / ".lore" / CATALOGUE, percent / 100, 2 * PAGE)
            sync(index)
            assert_equals_fresh(index)


def test_damage_found_by_a_reader_is_repaired_by_the_next_sync_of_the_same_process(project: Path) -> None:
    with closing(open_index(project)) as index:
        sync(index)
        with index.catalogue.transaction() as connection:  # a write by Lore, so the seal matches the file
            connection.execute("UPDATE chunk SET own = 'x'")
        assert "lore sync" in found(index)

        report = sync(index)

        assert "catalogue is damaged" in report.warnings[0]
        assert_equals_fresh(index)


def test_an_unchanged_catalogue_is_not_checked_again(project: Path) -> None:
    """A check reads every row, so it must not run for an intact catalogue."""
    sync_once(project)
    catalogue = project / ".lore" / CATALOGUE
    seal = (project / ".lore" / SEAL).read_text(encoding="utf-8")
    with closing(sqlite3.connect(catalogue)) as connection, connection:
        connection.execute("UPDATE file SET notes = 'x'")  # only the check of the catalogue reads this
    with closing(open_index(project)) as index:
        assert "lore sync" in found(index)
    assert repaired(project).warnings
    assert repaired(project).warnings == []
    assert (project / ".lore" / SEAL).read_text(encoding="utf-8") != seal


@pytest.mark.parametrize("length", [300, 3 * PAGE])
@pytest.mark.parametrize("name", [CACHE, CHUNKS])
def test_a_sync_repairs_garbage_in_the_cache_and_in_the_chunks(tmp_path: Path, name: str, length: int) -> None:
    project = write_project(tmp_path / "project", FILES)
    sync_once(project)
    for percent in POSITIONS:
        for garbage in GARBAGE.values():
            overwrite(project / ".lore" / name, percent / 100, length, garbage)
        (project / "docs/1.md").write_text(f"# New {percent}\n\nlighthouse\n", encoding="utf-8")
        with closing(open_index(project)) as index:
            assert sync(index).failed == []
            assert state_of(index) == fresh_state(project)


@pytest.mark.parametrize("value", [7, None, b"\xa5", "\xa5"])
@pytest.mark.parametrize("column", ["model", "content", "value"])
def test_a_cache_with_values_of_another_type_is_accepted(tmp_path: Path, column: str, value: object) -> None:
    project = write_project(tmp_path / "project", {"a.md": FILES["docs/1.md"]})
    sync_once(project)
    with closing(sqlite3.connect(project / ".lore" / CACHE)) as connection, connection:
        connection.execute(f"UPDATE OR IGNORE embedding SET {column} = ?", (value,))
    shutil.rmtree(next((project / ".lore").glob("vectors-*")))

    with closing(open_index(project)) as index:
        assert sync(index).failed == []
        assert_equals_fresh(index)
