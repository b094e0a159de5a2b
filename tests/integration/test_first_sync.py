"""During a first sync, status and replies describe the running sync, and never advise to start another one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import IndexMissing
from lore_etl.core.progress import Listener
from lore_etl.pipeline.load import show_words
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.setup.place import from_health
from tests.harness.calls import Opener
from tests.harness.models import HashModel
from tests.harness.paused import PausedModel, ended, manage, start_paused_sync
from tests.harness.projects import open_index, sync_once, write_project

PAGES = 6
JSON = dict[str, Any]


@pytest.fixture
def model(paused_model: PausedModel) -> PausedModel:
    return paused_model


@pytest.fixture
def app(tmp_path: Path, open_app: Opener, model: PausedModel) -> App:
    return open_app(write_project(tmp_path, pages()), model=model)


def pages() -> dict[str, str]:
    return {f"docs/{n}.md": f"# Page {n}\n\nAbout subject{n}.\n" for n in range(PAGES)}


def searched(app: App) -> str:
    return render("query_documents", app.call("query_documents", {"query": "subject1"})).whole()


@pytest.mark.parametrize("step", ["prepare", "read", "words", "embed"])
def test_the_status_during_a_first_sync_names_no_defect_and_no_further_sync(
    app: App, model: PausedModel, step: str
) -> None:
    if step == "words":  # its chunks are searchable before there is a vector store
        manage(app, "create", wait_seconds=600)
        show_words(app.index, list(app.index.catalogue.records(app.index.catalogue.ids())))
    start_paused_sync(app, model, "prepare" if step == "words" else step)

    status = app.call("healthcheck", {})
    model.free.set()
    ended(app)

    assert (status["status"], status["job"]["state"]) == ("degraded", "running")
    assert "Run `lore" not in render("healthcheck", status).whole()
    assert not any("Run `lore" in from_health(check).remedy for check in status["checks"])
    assert app.call("healthcheck", {})["status"] == "healthy"


@pytest.mark.parametrize("step", ["prepare", "read"])
def test_a_search_before_the_first_words_says_that_the_sync_is_running(app: App, model: PausedModel, step: str) -> None:
    job = start_paused_sync(app, model, step)
    searches: dict[str, JSON] = {
        "query_documents": {"query": "subject1"},
        "get_class_hierarchy": {},
        "ask_knowledge_base": {"query": "1?"},
    }

    for operation, arguments in searches.items():
        with pytest.raises(IndexMissing, match="first sync is running") as caught:
            app.call(operation, arguments)

        assert job["id"] in caught.value.hint
        assert "lore sync" not in caught.value.hint
        assert app.state()["problem"]["message"] == caught.value.message


def test_a_reply_names_the_missing_vectors_and_the_running_sync(app: App, model: PausedModel) -> None:
    start_paused_sync(app, model)

    found = searched(app)

    assert f"partial: the vectors of {PAGES} chunks are missing; a sync is running" in found
    assert "lore sync" not in found


def test_a_reply_without_missing_vectors_never_counts_zero_nor_advises_a_sync_while_one_runs(
    app: App, model: PausedModel
) -> None:
    manage(app, wait_seconds=600)
    app.index.catalogue.set_meta(dirty="1")
    assert "partial: the last sync did not finish (`lore sync`, " in searched(app)

    start_paused_sync(app, model, "prepare")
    assert "partial: a sync is running, synced " in searched(app)

    app.index.catalogue.set_meta(dirty=None)
    write_project(app.index.root, {"docs/0.md": "# Page 0\n\nEdited.\n"})
    app.freshness.notice()
    assert "stale: 1 file changed since the last sync; a sync is running" in searched(app)


def test_the_status_after_an_interrupted_first_sync_advises_to_sync(app: App, model: PausedModel) -> None:
    manage(app, "create", wait_seconds=600)

    status = app.call("healthcheck", {})

    checks = {check["part"]: check for check in status["checks"]}
    assert (status["status"], checks["database"]["status"]) == ("degraded", "degraded")
    assert checks["database"]["detail"] == "There are no vectors yet. Run `lore sync`."


def test_a_client_hears_what_was_found_and_planned_before_anything_is_read(app: App, model: PausedModel) -> None:
    write_project(
        app.index.root, {"CLAUDE.md": "# Rules\n\nSail.\n", "src/a.py": "def a():\n    pass\n", "b.png": b"1"}
    )
    heard: list[str] = []
    stages: list[str] = []
    model.hold("read")

    def hear(text: str) -> None:
        heard.append(text)
        model.free.set()

    listener = Listener(lambda stage, done, total: stages.append(stage), hear)
    app.call("init_project", {"wait_seconds": 600}, listener)

    assert heard[0] == "Found: CLAUDE.md, docs."
    assert heard[1].splitlines() == [
        "found: 7 Markdown, 1 Python",
        "left out: 1 .png (binary), 1 .toml (configuration of Lore)",
        "plan: read 8 files, index their words, then embed their passages",
    ]
    assert stages[-1] == "embedding"


def test_the_plan_of_a_later_sync_counts_the_changed_files_and_those_that_leave_the_index_for_any_reason(
    app: App,
) -> None:
    root = write_project(app.index.root, {"picture.png": b"\x89PNG"})
    heard: list[str] = []

    def plans() -> list[str]:
        heard.clear()
        for _ in range(2):  # the second one has nothing to do
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600}, Listener(text=heard.append))
        return heard

    manage(app, wait_seconds=600)
    steps = "index their words, then embed their passages"
    write_project(root, {"docs/0.md": "# Page 0\n\nEdited.\n"})
    (root / "docs" / "1.md").unlink()
    assert plans() == [f"plan: read 1 of 5 files, remove 1 file from the index, {steps}"]

    write_project(root, {".gitignore": "docs/2.md\n"})  # it is still there
    (root / "docs" / "3.md").unlink()
    (root / "picture.png").unlink()
    assert plans() == [f"plan: read 0 of 3 files, remove 2 files from the index, {steps}"]


def test_the_pace_counts_only_the_texts_that_are_embedded_now(app: App, model: PausedModel) -> None:
    manage(app, wait_seconds=600)
    manage(app, "delete", confirm=True, wait_seconds=600)
    new = {f"docs/new{n}.md": f"# New {n}\n\nOther text{n}.\n" for n in range(3)}
    write_project(app.index.root, {**new, "docs/copy.md": new["docs/new0.md"]})
    start_paused_sync(app, model)

    running = app.call("get_job", {"id": "latest"})

    waiting = len({chunk.content_hash for chunk in app.index.catalogue.chunk_keys(waiting_only=True)})
    assert (running["stage"], running["done"], running["total"]) == ("embedding", 0, waiting)
    assert waiting <= 4
    assert "eta_seconds" not in running


def test_the_pace_counts_only_the_files_that_are_read(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    sync_once(write_project(tmp_path, pages()))
    write_project(tmp_path, {"docs/0.md": "# Page 0\n\nEdited.\n"})
    with closing(open_index(tmp_path)) as index:
        sync(index, lambda *step: seen.append(step))

    assert [step for step in seen if step[0] == "reading"] == [("reading", 0, 1), ("reading", 1, 1)]


def test_guides_and_the_code_that_most_files_use_are_embedded_first(tmp_path: Path) -> None:
    user = "from src.z_core import Core\n\n\nclass User(Core):\n    pass\n"
    files = {
        **{f"src/user{n}.py": user for n in range(3)},
        "src/z_core.py": "class Core:\n    pass\n",
        "src/z_help.py": "def assist():\n    pass\n",
        "src/caller.py": "from src.z_help import assist\n\n\ndef call():\n    assist()\n",
        "z.md": "# A guide\n\nA text.\n",
    }
    model = HashModel()
    sync_once(write_project(tmp_path, files), model=model)

    texts = model.embedder.embedded
    first = [
        next(n for n, text in enumerate(texts) if part in text) for part in ("A guide", "class Core", "def assist")
    ]
    assert first == [0, 1, 2], texts
