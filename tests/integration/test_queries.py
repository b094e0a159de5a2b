"""Searching the sample project with the real model."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import QuerySettings, Settings
from lore_etl.core.errors import IndexMissing
from lore_etl.core.model import KnowledgeType
from lore_etl.pipeline.sync import sync
from lore_etl.stores.claim import CATALOGUE
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.query.ranking import CLASSIC
from lore_server.replies import budget
from tests.harness.calls import Opener, sync_job
from tests.harness.models import LOADED, HashModel
from tests.harness.owners import wait_until
from tests.harness.projects import write_project


def search(app: App, query: str | list[str], **arguments: Any) -> dict[str, Any]:
    return app.call("query_documents", {"query": query, **arguments})


def sources(reply: dict[str, Any]) -> list[str]:
    return [result["source"] for result in reply["results"]]


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("what happens to running jobs on SIGTERM", "docs/workers.md"),
        ("Why SQLite and not Redis?", "docs/adr/0001-sqlite-as-the-default-store.md"),
        ("Which systemd settings does a worker need?", "docs/deployment.md"),
        ("Why did two workers claim the same job?", "issues/archive/v1.0.0/issue-7.md"),
        ("What to do on a dead-jobs alert?", "knowledge/oncall-runbook.md"),
        ("How will priorities avoid starvation?", "PRPs/feature-requests/PRP-3-priority-queues.md"),
        ("retries", "docs/retries.md"),
        ("ExponentialBackoff", "ferry/retry.py"),
        ("SQLiteStore", "ferry/stores/sqlite.py"),
        ("JobTable", "web/src/job-table.mjs"),
        ("docs/adr/0001-sqlite-as-the-default-store.md", "docs/adr/0001-sqlite-as-the-default-store.md"),
        ("TypeError: bad operand in /app/ferry/stores/memory.py:12, how are jobs retried", "ferry/stores/memory.py"),
        ("oncall-runbook", "knowledge/oncall-runbook.md"),
        ("v1.1.0", "release-notes/v1.1.0.md"),
        ("v2.0.0", "release-notes/v2.0.0.md"),
    ],
)
@pytest.mark.requirement("NEO-011")
def test_the_right_file_comes_first(app: App, query: str, source: str) -> None:
    assert sources(search(app, query))[0] == source


# a library is added by a command only: tests/e2e/test_cli.py
@pytest.mark.parametrize("type_", [type_.value for type_ in KnowledgeType if type_ is not KnowledgeType.LIBRARY])
@pytest.mark.requirement("NEO-012", "NEO-013", "NEO-014", "NEO-015", "NEO-016", "NEO-017")
def test_a_type_filter_returns_only_that_type_and_the_sample_has_every_type(app: App, type_: str) -> None:
    reply = search(app, "worker job retry", type=type_, limit=50)

    assert {result["type"] for result in reply["results"]} == {type_}


@pytest.mark.parametrize("subject", ["retry backoff delay", "graceful shutdown of workers"])
@pytest.mark.requirement("NEO-018")
def test_with_all_types_a_guide_outranks_a_ticket_on_the_same_subject(app: App, subject: str) -> None:
    types = [result["type"] for result in search(app, subject, limit=50, max_tokens=20_000)["results"]]

    assert {"guide", "ticket"} <= set(types)
    assert types.index("guide") < types.index("ticket")


@pytest.mark.requirement("NEO-046")
def test_a_search_for_a_class_also_returns_its_parents_below_it(app: App) -> None:
    reply = search(app, "SQLiteStore", explain=True)
    boosted = [one["source"] for one in reply["results"] if "inheritanceBoost" in {why["term"] for why in one["why"]}]

    assert sources(reply)[0] == "ferry/stores/sqlite.py"
    assert boosted == ["ferry/stores/sql.py", "ferry/stores/base.py"]


def test_an_explained_search_has_terms_that_add_up_to_each_score_and_the_time_of_each_step(app: App) -> None:
    for result in search(app, "graceful shutdown", explain=True)["results"]:
        assert sum(why["value"] for why in result["why"]) == pytest.approx(result["score"], abs=0.02)
    first = search(app, "how long do leases last", explain=True)
    again = search(app, "how long do leases last", explain=True)

    steps = ["parse", "embed", "filter", "keywords", "vectors", "passages", "scores", "rank", "copies", "reply"]
    assert list(first["timings"]) == steps
    assert all(first["timings"][step] > 0 for step in ("embed", "keywords", "vectors", "rank"))
    assert {**again["timings"], "reply": 0} == {**first["timings"], "reply": 0}  # it was searched once
    assert "timings" not in search(app, "how long do leases last")
    assert "timings" not in search(app, "how long do leases last", explain=True, max_tokens=200)
    line = render("query_documents", first).body.rpartition("\n")[2]
    assert line.startswith(f"{sum(first['timings'].values()):.1f} ms: parse {first['timings']['parse']:.1f}, embed ")


@pytest.mark.parametrize("brief", [False, True], ids=["excerpts", "brief"])
@pytest.mark.parametrize(
    "query", ["worker", "how long do leases last", "\U000aedd8D", "Qüøtß " * 50, ["store", "lease"]]
)
def test_a_result_fits_the_smallest_budget_with_every_option(app: App, query: str | list[str], brief: bool) -> None:
    for max_tokens in (200, 207, 499):
        reply = search(app, query, facets=True, explain=True, passages=3, brief=brief, max_tokens=max_tokens)
        assert bool(reply["results"]) == bool(reply["total"])
        assert "facets" not in reply
    assert "facets" in search(app, "worker", facets=True, max_tokens=500)


def test_every_excerpt_occurs_in_its_file_at_its_lines(app: App, sample: Path) -> None:
    for result in search(app, "worker", limit=50, max_tokens=20_000)["results"]:
        first, last = result["lines"]
        passage = (sample / result["source"]).read_text().split("\n")[first - 1 : last]
        shown = [line for line in result["excerpt"].split("\n") if line != "…"]
        assert set(shown) <= set(passage), result["source"]


@pytest.mark.parametrize("max_tokens", [200, 500, 2000])
def test_a_truncated_reply_is_marked(app: App, max_tokens: int) -> None:
    reply = search(app, "worker", limit=100, max_tokens=max_tokens)

    assert "truncated" in reply
    assert budget.size(reply) <= max_tokens * budget.CHARACTERS_PER_TOKEN
    assert reply["total"] > len(reply["results"])


def test_the_reply_is_fresh_until_a_file_changes_and_counts_changed_files(synced_app_of: Opener) -> None:
    app = synced_app_of({"a.md": "# Alpha\n\nText of alpha.\n", "b.md": "# Beta\n\nText of beta.\n"})
    before = search(app, "alpha")["freshness"]

    write_project(app.index.root, {"a.md": "# Alpha\n\nOther text.\n", "c.md": "# Gamma\n"})
    (app.index.root / "b.md").unlink()
    wait_until(lambda: search(app, "alpha")["freshness"]["changed_files"] == 3)  # a slow check is not repeated
    after = search(app, "alpha")["freshness"]
    sync_job(app, allow_mass_delete=True)
    again = search(app, "alpha")["freshness"]

    assert (before["state"], before["changed_files"]) == ("fresh", 0)
    assert (after["state"], after["changed_files"]) == ("stale", 3)
    assert (again["state"], again["changed_files"]) == ("fresh", 0)


def test_an_unreadable_file_does_not_make_every_reply_stale(tmp_path: Path, hash_app: App) -> None:
    write_project(tmp_path, {"a.md": "# Alpha\n\nText.\n", "bad.md": b"caf\xe9"})
    reports = [sync_job(hash_app)["report"] for _ in range(2)]
    before = search(hash_app, "alpha")["freshness"]["state"]
    write_project(tmp_path, {"bad.md": b"other\xe9"})
    hash_app.freshness.notice()
    after = search(hash_app, "alpha")["freshness"]["state"]

    named = [[failure["source"] for failure in report["failed"]] for report in reports]
    assert (named, reports[1]["known"]) == ([["bad.md"], []], 1)
    assert (before, after) == ("fresh", "stale")


@pytest.mark.promise(13)
def test_a_file_written_at_the_moment_of_the_sync_is_fresh(tmp_path: Path, hash_app: App) -> None:
    states = []
    for n in range(5):
        (tmp_path / "a.md").write_text(f"# Alpha\n\nText {n}.\n")
        sync_job(hash_app)
        states.append(search(hash_app, "alpha")["freshness"]["state"])

    assert states == ["fresh"] * 5


@pytest.mark.parametrize(
    "record", [sync_job, lambda app: sync(app.index)], ids=["a job", "a sync that fails later, or one of knowledge"]
)
def test_a_touched_file_is_fresh_after_each_quick_sync(synced_app_of: Opener, record: Callable[[App], object]) -> None:
    app = synced_app_of({"a.md": "# Alpha\n\nText.\n"})
    app.freshness.watched = True
    seen = []
    for _ in range(10):
        record(app)
        synced = search(app, "alpha")["freshness"]["changed_files"]
        write_project(app.index.root, {"a.md": "# Alpha\n\nText.\n"})
        app.freshness.notice()  # as the watcher does
        seen.append((synced, search(app, "alpha")["freshness"]["changed_files"]))

    assert seen == [(0, 1)] * 10


def test_a_search_after_warming_up_reads_no_passage_from_disk(synced_app_of: Opener) -> None:
    app = synced_app_of({"a.md": "# Alpha\n\nText of alpha.\n"})
    app.warm()
    with closing(sqlite3.connect(app.index.folder / CATALOGUE)) as other, other:
        other.execute("UPDATE chunk SET own = 'not read'")

    assert search(app, "alpha")["results"][0]["excerpt"] == "# Alpha\n\nText of alpha."


def test_chunks_without_an_embedding_are_found_by_words_and_the_reply_is_partial(synced_app_of: Opener) -> None:
    files = {"a.md": "# Alpha\n\nThe zebra text.\n", "b.md": "# Beta\n\nThe poison text.\n"}
    app = synced_app_of(files, model=HashModel(refuses=["poison"]))

    reply = search(app, "poison")

    assert sources(reply)[0] == "b.md"
    assert (reply["freshness"]["state"], reply["freshness"]["pending_vectors"]) == ("partial", 1)


def test_while_the_index_fills_embedded_chunks_do_not_displace_better_matches(synced_app_of: Opener) -> None:
    about = "The delta of {} is created before the render, so createHtml returns it."
    pages = {f"src/p{n:02}.md": f"# Page {n}\n\n{about.format('vdom helper')}\n" for n in range(20)}
    others = {f"docs/q{n:02}.md": f"# Conduct {n}\n\nBe kind to each other, always.\n" for n in range(5)}
    app = synced_app_of({**pages, **others}, model=HashModel(refuses=["createHtml"]))

    reply = search(app, "createHtml delta vdom helper")

    assert reply["freshness"]["pending_vectors"] == len(pages)
    assert all(source in pages for source in sources(reply))


@pytest.mark.requirement("NEO-003")
def test_searching_without_an_index_is_an_error_and_creates_nothing(tmp_path: Path, hash_app: App) -> None:

    with pytest.raises(IndexMissing):
        search(hash_app, "alpha")

    assert list(tmp_path.iterdir()) == []


def test_the_classic_ranking_can_be_chosen(sample: Path, open_app: Opener) -> None:
    app = open_app(sample, settings=Settings(query=QuerySettings(ranking="classic")), model=LOADED)
    results = search(app, "How do workers retry?", explain=True)["results"]

    assert results[0]["type"] == "guide"
    assert {why["term"] for why in results[0]["why"]} <= {*CLASSIC, "folderBonus"}
    assert sum(why["value"] for why in results[0]["why"]) == pytest.approx(results[0]["score"], abs=0.02)


@pytest.mark.parametrize(
    "query", ['un"closed', "a AND (b", "type:ticket OR *", "\\", "+-!(){}[]^~*?:/", "\x00 nul", "🦊"]
)
@pytest.mark.requirement("UQ-035")
def test_hostile_query_text_is_treated_as_plain_text(app: App, query: str) -> None:
    reply = search(app, query)

    assert reply["query"] == query
