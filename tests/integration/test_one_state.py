"""A reply comes from one state of the index: what it shows and what it says about its freshness belong together."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import Contract
from tests.harness.models import HashModel
from tests.harness.projects import write_project

PATH = "PRPs/a.md"
READS: list[tuple[str, JSON]] = [
    ("query_documents", {"query": "alpha"}),
    ("knowledge_search", {"query": "alpha"}),
    ("ask_knowledge_base", {"query": "What is alpha?"}),
    ("get_source", {"path": PATH}),
    ("get_document_by_id", {}),
]


@pytest.fixture
def app(tmp_path: Path, contract: Contract) -> Iterator[App]:
    write(tmp_path, 1)
    app = App(tmp_path.resolve(), Settings(), contract, HashModel())
    sync(app.index)
    yield app
    app.close()


def write(project: Path, edition: int) -> None:
    write_project(project, {PATH: f"# Alpha\n\nAlpha is the first letter in edition{edition} of the alphabet.\n"})


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
    return arguments or {"id": app.call("query_documents", {"query": "alpha"})["results"][0]["id"]}


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


def test_a_reply_that_syncs_keep_overtaking_ends_and_is_not_fresh(
    app: App, sync_before_freshness: Callable[[int], None]
) -> None:
    sync_before_freshness(100)

    reply = app.call("query_documents", {"query": "alpha"})

    assert reply["freshness"]["state"] == "stale"


@pytest.mark.parametrize(("operation", "arguments"), READS)
def test_a_reply_is_fresh_if_nothing_changes(app: App, operation: str, arguments: dict[str, Any]) -> None:
    assert app.call(operation, arguments_of(app, arguments))["freshness"]["state"] == "fresh"
