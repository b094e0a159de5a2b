"""Builds as jobs: waiting, joining, progress and cancellation, with consistent searches meanwhile."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import Busy, ConfirmationRequired, GuardTripped, JobNotFound
from lore_etl.core.progress import Listener
from lore_server.app import App
from lore_server.operations.table import render
from tests.harness.calls import Opener, sync_job
from tests.harness.indexes import assert_equals_fresh
from tests.harness.owners import wait_until
from tests.harness.paused import PausedModel, ended, manage, start_paused_sync
from tests.harness.processes import child, hear, tell
from tests.harness.projects import settle, write_project

JSON = dict[str, Any]


PAGES = {f"docs/{n}.md": f"# Page {n}\n\nAbout subject{n}.\n" for n in range(5)}
NEW = {"docs/new.md": "# New\n\nNew text.\n"}


@pytest.fixture
def model(paused_model: PausedModel) -> PausedModel:
    return paused_model


@pytest.fixture
def app(tmp_path: Path, open_app: Opener, model: PausedModel) -> App:
    return open_app(write_project(tmp_path, PAGES), model=model)


@pytest.fixture
def synced(app: App) -> App:
    """Return the application with an index of its files."""
    manage(app, wait_seconds=600)
    return app


def test_a_short_job_is_complete_when_the_call_returns_and_outlives_the_process(app: App, open_app: Opener) -> None:
    job = manage(app, wait_seconds=600)
    assert (job["state"], job["report"]["created"]) == ("done", 5)
    assert job == app.call("get_job", {"id": job["id"]})

    app.close()
    other = open_app(app.index.root)
    assert other.call("get_job", {"id": "latest"}) == job
    assert other.call("get_job", {"id": job["id"]}) == job


@pytest.mark.promise(4)
def test_while_a_job_runs_requests_get_its_id_join_it_or_have_to_wait_and_it_includes_later_changes(
    app: App, model: PausedModel
) -> None:
    job = start_paused_sync(app, model)
    running = app.call("get_job", {"id": job["id"]})
    assert job["state"] == "running"
    assert (running["stage"], running["total"]) == ("embedding", 5)
    assert app.call("healthcheck", {})["job"]["id"] == job["id"]

    with pytest.raises(Busy, match=job["id"]):
        manage(app, "delete", confirm=True)
    with pytest.raises(Busy, match=f"Job {job['id']} is running"):
        app.call("manage_database", {"action": "stop"})

    write_project(app.index.root, {"docs/late.md": "# Late\n\nWritten while the first pass was running.\n"})
    second = manage(app, wait_seconds=0)
    model.free.set()
    done = ended(app, job["id"])
    assert (second["id"], second["joined"]) == (job["id"], True)
    assert (done["state"], done["report"]["created"]) == ("done", 6)
    assert app.call("query_documents", {"query": "late"})["results"][0]["source"] == "docs/late.md"
    assert app.call("manage_database", {"action": "stop"})["status"] == "stopped"


def test_while_a_sync_runs_searches_name_it_and_find_new_memories_by_their_words_however_many_callers_wait(
    synced: App, model: PausedModel
) -> None:
    write_project(synced.index.root, NEW)
    job = start_paused_sync(synced, model)
    waiting = [threading.Thread(target=ended, args=(synced, job["id"])) for _ in range(20)]
    for thread in waiting:
        thread.start()
    during = synced.call("query_documents", {"query": "subject1"})
    assert during["total"]
    assert during["freshness"]["job"] == job["id"]

    synced.call("add_memory", {"name": "Lamp", "body": "Whale oil burns."})
    reply = synced.call("search_memories", {"query": "whale oil"})
    assert [result["name"] for result in reply["results"]] == ["Lamp"]
    assert reply["degraded"].startswith("Some memories are not indexed yet.")

    model.free.set()
    for thread in waiting:
        thread.join()
    ended(synced, job["id"])
    later = synced.call("search_memories", {"query": "whale oil"})
    assert ([result["name"] for result in later["results"]], "degraded" in later) == (["Lamp"], False)
    assert "job" not in synced.call("query_documents", {"query": "subject1"})["freshness"]


def test_no_job_is_running_for_whoever_has_waited_for_its_end(hash_app: App) -> None:
    write_project(hash_app.index.root, {"a.md": "# Alpha\n"})
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # the threads take turns at every step, as on a busy machine
    try:
        for _ in range(30):
            sync_job(hash_app)
            assert hash_app.jobs.running_id() is None
    finally:
        sys.setswitchinterval(before)


def said(app: App, id_: str) -> str:
    return render("cancel_job", app.call("cancel_job", {"id": id_})).whole()


def test_a_cancelled_job_says_so_ends_at_its_next_step_and_leaves_a_consistent_index(
    synced: App, model: PausedModel
) -> None:
    write_project(synced.index.root, {"docs/0.md": "# Page 0\n\nEdited text.\n", **NEW})
    job = start_paused_sync(synced, model)
    cancelled, shown = synced.call("cancel_job", {"id": "latest"}), synced.call("get_job", {"id": job["id"]})
    model.free.set()
    after = ended(synced, job["id"])
    reply = synced.call("query_documents", {"query": "edited"})
    again = manage(synced, wait_seconds=600)

    assert (cancelled["id"], cancelled["state"], after["state"]) == (job["id"], "running", "cancelled")
    assert after["problem"]["code"] == "CANCELLED"
    assert reply["results"][0]["source"] == "docs/0.md"  # by keywords: its vector does not exist yet
    assert reply["freshness"]["state"] == "partial"
    assert (again["state"], again["id"] != job["id"]) == ("done", True)
    assert_equals_fresh(synced.index)
    for one in (cancelled, shown):
        text = render("get_job", one).whole()
        assert f"Cancellation was requested; get_job (id={job['id']}) shows when the job has ended." in text
    assert said(synced, job["id"]).startswith("The sync is cancelled")
    nothing = f"There was nothing to cancel: the sync had already ended (job {again['id']})."
    assert said(synced, again["id"]).startswith(nothing)


def test_a_job_that_fails_within_the_wait_fails_the_call_and_is_remembered(synced: App) -> None:
    for path in synced.index.root.glob("docs/*.md"):
        path.unlink()

    with pytest.raises(GuardTripped):
        manage(synced, wait_seconds=600)
    job = synced.call("get_job", {"id": "latest"})

    assert (job["state"], job["problem"]["code"]) == ("failed", "SYNC_GUARD")


def test_a_slowly_embedded_query_blocks_neither_a_switch_nor_other_searches(synced: App, model: PausedModel) -> None:
    model.hold("query: slowly")
    slow: list[JSON] = []
    asking = threading.Thread(target=lambda: slow.append(synced.call("query_documents", {"query": "slowly subject1"})))
    asking.start()
    assert model.reached.wait(120)

    with synced.index.gate.switching():
        pass
    found = synced.call("query_documents", {"query": "subject2"})["total"]

    model.free.set()
    asking.join()
    assert found
    assert slow[0]["total"]


def test_callers_do_not_wait_for_a_cancelled_job_that_is_stuck(app: App, model: PausedModel) -> None:
    first = start_paused_sync(app, model)
    app.call("cancel_job", {"id": first["id"]})
    second = manage(app, wait_seconds=0)
    shown = app.call("get_job", {"id": first["id"]})
    gone = app.call("cancel_job", {"id": second["id"]})
    third = manage(app, wait_seconds=0)

    stopping = threading.Thread(target=app.jobs.stop)
    stopping.start()
    stopping.join(0.1)
    assert stopping.is_alive()
    assert len({first["id"], second["id"], third["id"]}) == 3
    assert shown["state"] == "running"
    assert gone["state"] in ("running", "cancelled")
    assert ended(app, second["id"])["state"] == "cancelled"
    model.free.set()
    assert [ended(app, job["id"])["state"] for job in (first, third)] == ["cancelled", "cancelled"]


def test_a_job_waits_for_the_cancelled_job_before_it(app: App, model: PausedModel) -> None:
    first = start_paused_sync(app, model)
    app.call("cancel_job", {"id": first["id"]})
    second = manage(app, wait_seconds=0)
    waiting = app.call("get_job", {"id": second["id"]})
    model.free.set()

    assert waiting["stage"] in ("starting", "waiting")
    assert ended(app, first["id"])["state"] == "cancelled"
    assert ended(app, second["id"])["report"]["created"] == 0
    assert_equals_fresh(app.index)


# imports everything, opens nothing, and forks a process for each job, so that a kill needs no restart
KILLED = """
import json, os, signal, sys, threading
from pathlib import Path
import chromadb, tantivy
import lore_etl.pipeline.load, lore_etl.stores.keywords, lore_etl.stores.chroma.vector_store
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.models import HashModel, counter

counter()
contract = load_contract()
printed = threading.Event()

def die(*_):
    printed.wait()
    os.kill(os.getpid(), signal.SIGKILL)

for line in sys.stdin:
    if pid := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        continue
    root, step, *call = json.loads(line)
    model = HashModel()
    setattr(model if step == "prepare" else model.embedder, step, die)
    print(App(Path(root), Settings(), contract, model).call(*call)["id"], flush=True)
    printed.set()
    threading.Event().wait(600)
"""
Kill = Callable[..., str]


@pytest.fixture(scope="module")
def killed() -> Iterator[Kill]:
    """Yield a function that runs a job in a process which is killed at a step of the job, and returns its id."""
    with child(KILLED) as parent:

        def call(app: App, step: str = "embed", operation: str = "manage_knowledge_base", **arguments: Any) -> str:
            given = arguments or {"action": "sync", "wait_seconds": 0}
            tell(parent, json.dumps([str(app.index.root), step, operation, given]) + "\n")
            id_ = hear(parent).strip()
            assert hear(parent) == "-9\n"
            return id_

        yield call


def test_a_job_whose_process_was_killed_is_resumed_for_waiting_callers(app: App, killed: Kill) -> None:
    id_ = killed(app)

    latest = app.call("get_job", {"id": "latest"})
    job = ended(app, id_)

    assert (latest["state"], latest["problem"]["code"]) == ("failed", "UNAVAILABLE")
    assert (job["id"], job["state"], job["report"]["embedded"]) == (id_, "done", 5)
    assert app.call("get_job", {"id": "latest"}) == job
    assert_equals_fresh(app.index)


def test_a_job_of_another_kind_after_the_kill_does_not_continue_it(app: App, killed: Kill) -> None:
    assert killed(app) != manage(app, "create", wait_seconds=600)["id"]


def test_an_interrupted_job_that_is_cancelled_is_not_resumed(app: App, killed: Kill) -> None:
    id_ = killed(app)

    assert app.call("cancel_job", {"id": id_})["state"] == "cancelled"
    assert ended(app, id_)["state"] == "cancelled"


def test_a_job_that_kills_its_process_is_not_resumed_forever(app: App, killed: Kill) -> None:
    id_ = killed(app)
    for _ in range(3):
        assert killed(app, operation="get_job", id=id_) == id_

    job = app.call("get_job", {"id": id_})

    assert (job["state"], job["problem"]["code"]) == ("failed", "UNAVAILABLE")


def test_a_broken_record_of_the_last_job_is_ignored(synced: App, open_app: Opener) -> None:
    synced.jobs.stop()
    for text in ("", "[]", "{}", '{"record": {"id": 1}}', '{"record": []}', "[" * 9_000):
        (synced.index.folder / "job.json").write_text(text, encoding="utf-8")
        with pytest.raises(JobNotFound):
            open_app(synced.index.root).call("get_job", {"id": "latest"})


@pytest.mark.parametrize("id_", ["latest", "no-such-job"])
@pytest.mark.parametrize("operation", ["get_job", "cancel_job"])
def test_an_unknown_job_raises_not_found(app: App, operation: str, id_: str) -> None:
    with pytest.raises(JobNotFound):
        app.call(operation, {"id": id_})


def test_delete_requires_confirmation_before_it_becomes_a_job(app: App) -> None:
    with pytest.raises(ConfirmationRequired):
        manage(app, "delete")
    with pytest.raises(JobNotFound):
        app.call("get_job", {"id": "latest"})


def test_waiting_callers_are_notified_of_the_stage(app: App, model: PausedModel) -> None:
    stages: list[str] = []
    model.hold("embed")
    listener = Listener(lambda stage, *_: stages.append(stage))
    arguments = {"action": "sync", "wait_seconds": 600}
    waiting = threading.Thread(target=app.call, args=("manage_knowledge_base", arguments, listener))
    waiting.start()

    wait_until(lambda: "embedding" in stages)
    model.free.set()
    waiting.join()


def test_a_caller_who_joins_a_job_hears_only_plans(app: App, model: PausedModel) -> None:
    heard: list[str] = []
    stages: list[str] = []
    listener = Listener(lambda stage, *_: stages.append(stage), heard.append)
    job = start_paused_sync(app, model)
    arguments = {"action": "sync", "wait_seconds": 600}
    joined = threading.Thread(target=app.call, args=("manage_knowledge_base", arguments, listener))
    joined.start()
    wait_until(lambda: bool(heard))

    model.hold("prepare")
    model.free.set()  # lets only the step that waits continue
    model.free.clear()
    assert model.reached.wait(120)
    stage = app.call("get_job", {"id": job["id"]})["stage"]
    wait_until(lambda: stages[-1] == stage)
    model.free.set()
    joined.join()

    assert [text for text in heard if "plan: " not in text] == []


def test_closing_ends_a_running_job_and_keeps_its_results(app: App, model: PausedModel, open_app: Opener) -> None:
    job = start_paused_sync(app, model)
    ending = threading.Thread(target=app.close)
    ending.start()
    assert app.jobs._jobs[job["id"]].cancelled.wait(120)
    model.free.set()
    ending.join(120)
    other = open_app(app.index.root)

    assert not ending.is_alive()
    assert other.call("get_job", {"id": "latest"})["state"] == "cancelled"
    assert manage(other, wait_seconds=600)["state"] == "done"


@pytest.mark.promise(5)
def test_a_search_during_a_sync_sees_a_files_change_completely_or_not_at_all(tmp_path: Path, open_app: Opener) -> None:
    """All sections must have the same edition and their number must not vary: otherwise half a change was seen."""
    sections = 300

    def write(number: int) -> None:
        text = "".join(f"## Part {part} of edition{number}\n\nlighthouse\n\n" for part in range(sections))
        (tmp_path / "a.md").write_text(text, encoding="utf-8")
        settle(tmp_path)

    write(0)
    app = open_app(tmp_path)
    manage(app, wait_seconds=600, allow_mass_delete=True)
    stop, seen = threading.Event(), set[tuple[str, int]]()

    def read() -> None:
        while not stop.is_set():
            with app.index.gate.reading():
                ids = [chunk_id for chunk_id, _ in app.index.keywords.search("lighthouse", 2 * sections)]
                chunks = app.index.catalogue.chunks(ids).values()
            editions = {word for chunk in chunks for word in chunk.heading[-1].split() if word.startswith("edition")}
            seen.add((" ".join(sorted(editions)), len(chunks)))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(1, 7):
            write(number)
            manage(app, wait_seconds=600, allow_mass_delete=True)
            wait_until(lambda number=number: f"edition{number}" in {edition for edition, _ in list(seen)})  # type: ignore[misc]
    finally:
        stop.set()
        reader.join()
    counts = {count for _, count in seen}  # short sections share chunks, the same chunks in each edition
    assert len(counts) == 1
    assert counts.pop() > 5
    assert all(edition.count("edition") == 1 for edition, _ in seen)


@pytest.mark.parametrize(("allowed", "by_a_sync"), [(True, False), (True, True), (False, False)])
@pytest.mark.promise(1)
def test_a_killed_job_is_resumed_with_the_permission_that_it_was_given(
    synced: App, killed: Kill, open_app: Opener, allowed: bool, by_a_sync: bool
) -> None:
    synced.close()
    for number in range(4):
        (synced.index.root / f"docs/{number}.md").unlink()
    id_ = killed(synced, "prepare", action="sync", wait_seconds=0, allow_mass_delete=allowed)
    app = open_app(synced.index.root)
    job = manage(app, wait_seconds=600) if by_a_sync else ended(app, id_)

    assert (job["id"], job["state"]) == (id_, "done" if allowed else "failed")
    assert allowed or job["problem"]["code"] == "SYNC_GUARD"
    assert app.index.catalogue.total() == (1 if allowed else 5)
