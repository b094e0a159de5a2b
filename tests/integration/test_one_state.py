"""A reply comes from one state of the index: what it shows and what it says about its freshness belong together."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.snapshot import Derived
from lore_server.app import App
from lore_server.query.filters import Filters
from lore_server.query.query_service import RESULTS, QueryService
from tests.harness.calls import Opener
from tests.harness.projects import open_index, settle, write_project

PATH = "PRPs/a.md"
READS: list[tuple[str, JSON]] = [
    ("query_documents", {"query": "alpha"}),
    ("knowledge_search", {"query": "alpha"}),
    ("ask_knowledge_base", {"query": "What is alpha?"}),
    ("get_source", {"path": PATH}),
    ("get_document_by_id", {}),
]


@pytest.fixture
def app(tmp_path: Path, open_app: Opener) -> App:
    write(tmp_path, 1)
    app = open_app(tmp_path)
    sync(app.index)
    return app


def write(project: Path, edition: int) -> None:
    write_project(project, {PATH: f"# Alpha\n\nAlpha is the first letter in edition{edition} of the alphabet.\n"})


@pytest.mark.promise(5)
@pytest.mark.parametrize(("operation", "arguments"), READS)
def test_a_reply_that_shows_a_changed_file_is_stale_although_the_watcher_has_not_reported_it(
    app: App, operation: str, arguments: JSON
) -> None:
    app.freshness.watched = True  # so it does not check all files again by itself

    def asked() -> JSON:
        return app.call(operation, arguments_of(app, arguments))

    assert asked()["freshness"]["state"] == "fresh"
    write(app.index.root, 2)
    reply = asked()
    assert any(part.get("changed") for part in (reply, *reply.get("results", ()), *reply.get("citations", ())))
    assert (reply["freshness"]["state"], reply["freshness"]["changed_files"]) == ("stale", 1)

    app.freshness.notice()
    assert app.freshness.changed_files() == {PATH}
    sync(app.index)
    write(app.index.root, 3)
    again = asked()
    assert (again["freshness"]["state"], again["freshness"]["changed_files"]) == ("stale", 1)


@pytest.fixture
def sync_before_freshness(app: App, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes the next replies meet an edit and its sync before they compare their files."""

    def meet(times: int) -> None:
        compare, editions = app.freshness.changed_of, iter(range(2, 2 + times))

        def late(sources: Collection[str]) -> set[str]:
            if edition := next(editions, None):
                write(app.index.root, edition)
                sync(app.index)
            return compare(list(sources))

        monkeypatch.setattr(app.freshness, "changed_of", late)

    return meet


def arguments_of(app: App, arguments: JSON) -> JSON:
    return arguments or {"id": app.index.catalogue.of_source(PATH)[0].id}


@pytest.mark.promise(5)
@pytest.mark.parametrize("listener", [NOBODY, Listener()], ids=["http", "mcp"])
@pytest.mark.parametrize(("operation", "arguments"), READS)
def test_a_reply_that_a_sync_overtakes_shows_the_new_text_or_is_not_fresh(
    app: App,
    sync_before_freshness: Callable[[int], None],
    operation: str,
    arguments: dict[str, Any],
    listener: Listener,
) -> None:
    given = arguments_of(app, arguments)
    sync_before_freshness(1)

    reply = app.call(operation, given, listener)

    assert ("edition2" in str(reply), reply["freshness"]["state"]) in [(True, "fresh"), (False, "stale")]


def test_a_reply_that_each_sync_overtakes_is_not_fresh(app: App, sync_before_freshness: Callable[[int], None]) -> None:
    sync_before_freshness(100)

    reply = app.call("query_documents", {"query": "alpha"})

    assert reply["freshness"]["state"] == "stale"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write_project(tmp_path, {"a.md": "# Alpha\n\nThe zebra text.\n", "b.md": "# Beta\n\nThe okapi text.\n"})
    index = open_index(tmp_path)
    sync(index)
    yield index
    index.close()


def test_a_query_is_searched_once_until_a_sync(index: Index) -> None:
    queries = QueryService(index)
    first = queries.find("zebra")
    assert queries.find("zebra") is first
    assert queries.find("zebra", filters=Filters(types=("guide",))) is not first
    assert queries.find("okapi") is not first
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
