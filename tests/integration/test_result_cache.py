"""The result of a recent query is reused unless the index has changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.snapshot import Derived
from lore_server.query.query_service import RESULTS, QueryService
from tests.harness.projects import open_index, settle, write_project


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n", "b.md": "# Beta\n\nThe okapi text.\n"})
    index = open_index(tmp_path)
    sync(index)
    yield index
    index.close()


def test_the_same_query_is_searched_once(index: Index) -> None:
    queries = QueryService(index)
    first = queries.find("zebra")

    assert queries.find("zebra") is first
    assert queries.find("zebra", "guide") is not first
    assert queries.find("okapi") is not first


def test_a_query_is_searched_again_after_a_sync(index: Index) -> None:
    queries = QueryService(index)
    first = queries.find("zebra")
    (index.root / "c.md").write_text("# Gamma\n\nAnother zebra text.\n")
    settle(index.root)
    sync(index)
    second = queries.find("zebra")

    assert {result.source for result in second.ranked} == {result.source for result in first.ranked} | {"c.md"}
    (index.root / "c.md").unlink()
    sync(index)
    assert {result.source for result in queries.find("zebra").ranked} == {result.source for result in first.ranked}


def test_a_query_is_searched_again_after_each_commit_of_a_load(index: Index) -> None:
    queries = QueryService(index)
    found = queries.find("zebra")
    for value in ("1", None):
        index.catalogue.set_meta(dirty=value)
        again = queries.find("zebra")

        assert again is not found
        found = again


def test_what_a_commit_overtakes_is_not_kept(index: Index) -> None:
    kind = Derived[str]("kind")
    overtaken = index.snapshot

    def derive() -> str:
        index.catalogue.set_meta(dirty="1")
        return "before"

    assert overtaken.read(kind, None, derive) == "before"
    assert index.snapshot.read(kind, None, lambda: "after") == "after"


def test_only_the_latest_queries_are_kept(index: Index) -> None:
    queries = QueryService(index)
    first, second = queries.find("zebra 0"), queries.find("zebra 1")
    for number in range(2, RESULTS.kept + 1):
        queries.find(f"zebra {number}")
        assert queries.find("zebra 1") is second  # a value that is requested again is kept

    assert queries.find("zebra 1") is second
    assert queries.find("zebra 0") is not first
