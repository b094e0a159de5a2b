"""Until the stores have the state that was extracted, replies say so, and no search mixes the two states."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.core.model import row_id
from lore_etl.index import Index
from lore_etl.pipeline.load import is_loaded
from lore_etl.pipeline.sync import create_only, sync
from lore_etl.stores import keywords
from lore_server.query.freshness import Freshness
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.indexes import assert_equals_fresh
from tests.harness.processes import run
from tests.harness.projects import chunks_of, open_index, sync_once, write_project

PAGES: dict[str, str | bytes] = {
    "a.md": "# Alpha\n\nThe zebra text.\n",
    "b.md": "# Beta\n\nThe okapi text.\n",
    "c.md": "# Gamma\n\nThe gnu text.\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(open_index(write_project(tmp_path / "project", PAGES))) as opened:
        sync(opened)
        yield opened


def state(index: Index) -> str:
    return Freshness(index).record()["state"]


@pytest.mark.promise(1)
def test_after_a_deletion_is_extracted_replies_are_partial_until_it_is_loaded(index: Index) -> None:
    """No chunk waits for a vector and no file differs: only the unfinished load makes the replies partial."""
    assert state(index) == "fresh"
    (index.root / "c.md").unlink()

    create_only(index)

    assert (index.catalogue.waiting(), len(Freshness(index).changed_files())) == (0, 0)
    assert state(index) == "partial"
    assert not is_loaded(index)
    sync(index)
    assert state(index) == "fresh"
    assert_equals_fresh(index)


@pytest.mark.promise(1)
def test_a_search_does_not_use_the_vector_of_an_earlier_text(index: Index) -> None:
    (before,) = chunks_of(index, "a.md")
    write_project(index.root, {"a.md": "# Alpha\n\nThe walrus text.\n"})

    create_only(index)

    (after,) = chunks_of(index, "a.md")
    assert (before.id, row_id(before)) in {(after.id, row) for row in index.vectors.rows()}, "nothing is tested"
    assert index.catalogue.waiting() == 1
    found = retrieve(index, parse("zebra"), None, 10)
    assert before.id not in {id_ for id_, _ in found.by_meaning}
    assert all(candidate.vector is None for candidate in found.found if candidate.chunk.id == before.id)


KILLED_BETWEEN_WORDS_AND_CATALOGUE = """
import os, signal, sys, threading
from pathlib import Path
from lore_etl.pipeline.sync import sync
from tests.harness.owners import wait_until
from tests.harness.projects import open_index

index = open_index(Path(sys.argv[1]))
with index.gate.reading():  # the sync waits here before it makes the words and the catalogue visible
    threading.Thread(target=sync, args=(index,), daemon=True).start()
    wait_until(lambda: index.gate._switching)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.promise(1)
def test_words_of_a_text_that_the_catalogue_never_had_are_removed(tmp_path: Path) -> None:
    """The numbers of chunks are the same everywhere, so only a comparison id by id finds the difference."""
    root = write_project(tmp_path / "project", PAGES)
    sync_once(root)
    write_project(root, {"a.md": "# Alpha\n\nThe walrus text.\n"})
    assert run(KILLED_BETWEEN_WORDS_AND_CATALOGUE, root).returncode == -9
    write_project(root, {"a.md": PAGES["a.md"]})

    with closing(open_index(root)) as index:
        assert index.keywords.search("walrus", 5), "nothing is tested"
        sync(index)

        assert not index.keywords.search("walrus", 5)
        assert_equals_fresh(index)


def test_a_sync_applies_other_weights_of_words(tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an update of Lore: no file has changed, and all chunks are weighed anew."""
    before = dict(index.keywords.search("alpha zebra", 10))
    monkeypatch.setattr(keywords, "_REPEATED", 5)
    assert not is_loaded(index)

    sync(index)

    assert is_loaded(index)
    with closing(open_index(write_project(tmp_path / "other", PAGES))) as fresh:
        sync(fresh)
        wanted = [score for _, score in fresh.keywords.search("alpha zebra", 10)]
    now = dict(index.keywords.search("alpha zebra", 10))
    assert list(now.values()) == pytest.approx(wanted)
    assert now.keys() == before.keys()
    assert now != pytest.approx(before)
