"""Health is checked by use, per part; it creates nothing, and only good results are cached."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import GuardTripped, IndexMissing
from lore_etl.models.embedder import RecentQueries
from lore_etl.pipeline.sync import sync_knowledge
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.services.health import size_of
from tests.harness.calls import Opener, edit, sync_job
from tests.harness.models import HashModel
from tests.harness.projects import settle, sync_once, write_project
from tests.harness.refusals import refused


def health(app: App) -> dict[str, Any]:
    return app.call("healthcheck", {})


def parts(record: dict[str, Any]) -> dict[str, str]:
    return {check["part"]: check["status"] for check in record["checks"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(
        tmp_path.resolve(), {"a.md": "# Alpha\n\nText.\n", "b.py": "def beta() -> int:\n    return 1\n"}
    )


@pytest.fixture
def app(project: Path, open_app: Opener, model: HashModel) -> App:
    """Return an application over the project, which is synced."""
    app = open_app(project, model=model)
    sync_job(app)
    return app


@pytest.mark.requirement("NEO-001", "NEO-002")
def test_a_synced_index_is_healthy_with_its_counts_until_a_file_changes_or_a_store_is_lost(app: App) -> None:
    record = health(app)
    assert record["status"] == "healthy"
    assert set(parts(record).values()) == {"ok"}
    assert record["counts"] == {"guide": 1, "src": 1}
    assert 0 <= record["index_age_seconds"] < 3600
    assert render("healthcheck", record).notes == (f"fresh, synced {record['freshness']['synced_at']}",)

    (app.index.root / "a.md").unlink()
    settle(app.index.root)
    app.freshness.notice()
    notes = render("healthcheck", health(app)).notes
    assert [note.partition(" (")[0] for note in notes] == ["stale: 1 file changed since the last sync"]

    shutil.rmtree(app.index.folder / "keywords")
    lost = health(app)
    assert (lost["status"], parts(lost)["keywords"]) == ("unhealthy", "failed")


def test_a_model_whose_queries_are_remembered_is_probed_again(
    project: Path, open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lore_server.services.health.PROBE_SECONDS", 0)
    model = HashModel()
    monkeypatch.setattr(model, "open", lambda: RecentQueries(model.embedder))
    sync_once(project, Settings(), model)
    app = open_app(project, model=model)

    before = parts(health(app))["embedding"]
    model.embedder.refuses.append("embedding model work")

    assert (before, parts(health(app))["embedding"]) == ("ok", "failed")


@pytest.mark.requirement("NEO-004")
def test_without_an_index_or_files_in_it_the_status_is_degraded_and_lists_say_why_they_are_empty(
    tmp_path: Path, hash_app: App
) -> None:
    record = health(hash_app)
    assert record["status"] == "degraded"
    assert (parts(record)["database"], parts(record)["contract"]) == ("degraded", "ok")
    assert list(tmp_path.iterdir()) == []

    sync_job(hash_app)
    record = health(hash_app)
    assert (record["status"], parts(record)["collection"]) == ("degraded", "degraded")
    for operation in ("list_sources", "list_documents", "get_class_hierarchy", "get_source"):
        arguments = {"path": "README.md"} if operation == "get_source" else {}
        with pytest.raises(IndexMissing, match="A sync found no files to index"):
            hash_app.call(operation, arguments)

    edit(hash_app, {"a.png": b"\x89PNG"})
    with refused(IndexMissing, hint="`lore status` counts"):
        hash_app.call("query_documents", {"query": "alpha"})
    assert "left out: 1 .png (binary)" in render("healthcheck", health(hash_app)).body


def test_a_refused_sync_is_visible_until_its_reason_is_gone(project: Path, open_app: Opener) -> None:
    write_project(project, {f"docs/{n}.md": f"# Page {n}\n\nText {n}.\n" for n in range(9)})
    app = open_app(project)
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    shutil.move(project / "docs", project / ".docs")
    for _ in range(2):
        with pytest.raises(GuardTripped):
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    sync_knowledge(app.index)  # the documents of agents are indexed nevertheless
    refused = health(app)
    shutil.move(project / ".docs", project / "docs")
    app.freshness.notice()

    assert (refused["status"], parts(refused)["collection"]) == ("degraded", "degraded")
    assert "The last sync failed: This sync would delete 9 of 11 chunks" in render("healthcheck", refused).body
    assert health(app)["status"] == "healthy"


@pytest.mark.parametrize(("lost", "part"), [("vectors-1", "database"), ("keywords", "keywords")])
@pytest.mark.promise(30)
def test_a_lost_store_is_reported_and_other_parts_are_checked_independently(
    project: Path, open_app: Opener, lost: str, part: str
) -> None:
    sync_once(project)
    shutil.rmtree(project / ".lore" / lost)

    record = health(open_app(project))

    assert record["status"] == "unhealthy"
    assert {name for name, status in parts(record).items() if status == "failed"} == {part}


def test_listing_works_while_the_model_is_unavailable(project: Path, open_app: Opener) -> None:
    sync_once(project)
    app = open_app(project, model=HashModel(refuses=[""]))
    assert app.call("list_documents", {})["total"] == 2
    assert app.call("manage_database", {"action": "start"})["status"] == "started"


def test_the_database_can_be_stopped_and_started(app: App) -> None:
    states = [
        app.call("manage_database", {"action": action})["status"] for action in ("stop", "stop", "start", "start")
    ]

    assert states == ["stopped", "not_running", "started", "already_running"]
    assert app.call("query_documents", {"query": "alpha"})["results"]


def test_only_a_successful_model_probe_is_cached_until_a_refresh_or_a_build(app: App, model: HashModel) -> None:
    first = health(app)
    model.embedder.refuses.append("embedding model work")
    app.index.catalogue.set_meta(synced_at="2020-01-01T00:00:00Z")
    second = health(app)
    third = app.call("healthcheck", {"refresh": True})
    assert [check["status"] for check in (first, second, third)] == ["healthy", "healthy", "unhealthy"]
    assert sum(first["counts"].values()) == 2
    assert parts(third)["embedding"] == "failed"
    assert second["index_age_seconds"] > first["index_age_seconds"] + 1_000_000

    model.embedder.refuses.clear()
    assert parts(health(app))["embedding"] == "ok"
    app.call("manage_knowledge_base", {"action": "delete", "confirm": True, "wait_seconds": 600})
    deleted = health(app)
    model.embedder.refuses.append("embedding model work")
    app.call("manage_knowledge_base", {"action": "create", "wait_seconds": 600})
    assert deleted["status"] != "healthy"
    assert (deleted["counts"], deleted["files"]) == ({}, 0)
    assert parts(health(app))["embedding"] == "failed"


def test_the_status_names_the_files_found_and_counts_each_file_that_is_left_out(hash_app: App) -> None:
    files = {"main.go": "package main\n\nfunc run() {}\n", "app.yaml": "port: 80\n", "yarn.lock": "a\n"}
    write_project(hash_app.index.root, {**files, "logo.png": b"\x89\0"})
    hash_app.call("add_memory", {"name": "Ropes", "body": "Ropes need tar."})
    job = sync_job(hash_app)
    status = health(hash_app)
    assert status["inventory"] == job["report"]["inventory"]
    assert status["inventory"] == {
        "found": [
            {"type": "memory", "language": "Markdown", "files": 1},
            {"type": "src", "language": "YAML", "files": 1},
            {"type": "src", "language": "Go", "files": 1},
        ],
        "left_out": [
            {"extension": ".lock", "reason": "lock file", "files": 1, "example": "yarn.lock"},
            {"extension": ".png", "reason": "binary", "files": 1, "example": "logo.png"},
        ],
    }

    left_out = {f"{copy}.x{number}": "" for number in range(30) for copy in range(1 + number % 2)}
    edit(hash_app, {"a.md": "# Alpha\n", **left_out})
    line = render("healthcheck", health(hash_app)).body.splitlines()[-1]
    assert "found: 1 Markdown" not in line
    assert sum(map(int, re.findall(r"(?:: |, |and )(\d+) ", line))) == len(left_out) + 2


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ({"provider": "openai"}, ["answer.model is not set"]),
        ({"provider": "openai", "model": "m"}, ["OPENAI_API_KEY is not set"]),
        ({"provider": "none"}, ["answer.provider is none"]),
        (
            {"provider": "openai", "model": "qwen3:8b", "base_url": "http://127.0.0.1:11434/v1"},
            ["openai", "qwen3:8b", "127.0.0.1"],
        ),
    ],
)
@pytest.mark.requirement("NEO-001")
def test_the_check_of_answers_names_the_missing_setting_or_provider_model_and_host(
    project: Path, open_app: Opener, answer: dict[str, Any], detail: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    app = open_app(project, Settings.model_validate({"answer": answer}))

    checks = {check["part"]: check["detail"] for check in health(app)["checks"]}

    assert [part for part in detail if part not in checks["answers"]] == []


def test_the_size_is_counted_while_the_folder_is_deleted(tmp_path: Path) -> None:
    def rebuild_and_delete() -> None:
        for _ in range(100):
            for name in "abcde":
                (tmp_path / name / "deep" / "deeper").mkdir(parents=True)
            for name in "abcde":
                shutil.rmtree(tmp_path / name)

    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(rebuild_and_delete)
        while not deleting.done():
            assert size_of(tmp_path) == 0
        deleting.result()
