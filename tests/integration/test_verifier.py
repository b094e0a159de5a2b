"""The result of a verification is told by every interface, and an owner verifies the index while nobody asks."""

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.model import row_id
from lore_server.app import App
from lore_server.http.application import build_http
from lore_server.http.page import Pulse
from lore_server.http.site import site_of
from lore_server.operations.table import render
from lore_server.services.verification import RESULT, Pace
from tests.harness.calls import Opener, sync_job
from tests.harness.evaluation import commit, git
from tests.harness.owners import wait_until
from tests.harness.projects import chunks_of, settle, write_project

pytestmark = pytest.mark.usefixtures("prepared_python")
JSON = dict[str, Any]
AT_ONCE = Pace(quiet_seconds=0, look_seconds=0.02, share=1.0, portion=2, again_seconds=0)


@pytest.fixture
def app(tmp_path: Path, open_app: Opener) -> App:
    pages = {f"docs/{n}.md": f"# Page {n}\n\nsubject{n} costs {100 * n} euro\n" for n in range(1, 7)}
    root = write_project(tmp_path.resolve(), pages)
    app = open_app(root, pace=AT_ONCE)
    sync_job(app)
    return app


def verified(app: App) -> JSON:
    return app.call("manage_database", {"action": "verify"})


def damage(app: App) -> None:
    """Put the vector of another text into a row."""
    chunk = chunks_of(app.index)[0]
    vectors = app.index.embedder.embed(["something else"])
    app.index.vectors.heal([(row_id(chunk), chunk.type.value, chunk.source)], np.asarray(vectors))
    app.index.vectors.seal()


def part(app: App) -> tuple[str, str]:
    checks = app.call("healthcheck", {})["checks"]
    return next((check["status"], check["detail"]) for check in checks if check["part"] == "verification")


def ready(app: App) -> tuple[int, JSON]:
    """Return the response of `/readyz`."""
    site = site_of(app.index.root, Settings(), port=0)
    web = build_http(app.contract, app.call, site, Pulse(lambda: nullcontext(app), anyio.Event()))

    async def get() -> tuple[int, JSON]:
        transport = httpx2.ASGITransport(app=web)
        async with httpx2.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{site.port}") as client:
            response = await client.get("/readyz")
            return response.status_code, response.json()

    return anyio.run(get)


def test_a_verification_says_what_was_compared_and_status_remembers_what_lore_wrote(app: App) -> None:
    unverified = part(app)
    assert unverified == ("ok", "Not verified yet; `lore verify` compares the whole content.")
    for text in ("", "[]", '{"at": 1}', '{"at":"x","by":"y","whole":1,"stores":[{}]}'):
        (app.index.folder / RESULT).write_text(text)
        assert part(app) == unverified

    reply = verified(app)

    assert reply["status"] == "verified"
    assert "keywords            6 compared, 0 damaged" in render("manage_database", reply).body
    status, detail = part(app)
    assert (status, "no damage" in detail, "6 vectors" in detail) == ("ok", True, True)
    assert reply["verification"]["at"] in detail
    code, body = ready(app)
    assert (code, body["ready"]) == (200, True)
    assert detail in [check["detail"] for check in body["checks"]]


def test_a_server_that_is_ready_names_the_commit_of_its_index_beside_that_of_the_files(app: App) -> None:
    git(app.index.root, "init", "-q", "-b", "main")
    commit(app.index.root, "first")
    sync_job(app)
    first = git(app.index.root, "rev-parse", "HEAD").strip()
    _, before = ready(app)
    write_project(app.index.root, {"docs/1.md": "# Page 1\n\nanother subject\n"})
    commit(app.index.root, "second")
    settle(app.index.root)
    app.freshness.notice()
    second = git(app.index.root, "rev-parse", "HEAD").strip()
    _, after = ready(app)

    assert (before["state"], before["branch"], before["commit"]) == ("fresh", "main", first)
    assert "synced_commit" not in before
    assert (after["state"], after["commit"], after["synced_commit"]) == ("stale", second, first)


@pytest.mark.promise(30)
def test_found_damage_is_told_everywhere_until_a_sync_has_repaired_it(app: App) -> None:
    damage(app)

    reply = verified(app)

    assert (reply["status"], "vectors" in reply["detail"]) == ("damaged", True)
    status, detail = part(app)
    assert (status, "vectors-1" in detail, "lore sync" in detail) == ("failed", True, True)
    code, body = ready(app)
    assert (code, body["ready"]) == (503, False)
    assert "verification" in [check["part"] for check in body["checks"] if check["status"] == "failed"]

    sync_job(app)

    assert part(app)[0] == "ok"
    assert "rebuilt since" in part(app)[1]
    assert ready(app)[0] == 200
    assert verified(app)["status"] == "verified"


def test_an_owner_finds_damage_while_nobody_asks(app: App) -> None:
    app.warm()
    app.verify_when_quiet()
    wait_until(lambda: (last := app.verifier.last()) is not None and last["by"] == "background" and last["whole"])
    damage(app)

    wait_until(lambda: part(app)[0] == "failed")

    sync_job(app)
    assert app.call("query_documents", {"query": "subject3 euro"})["results"]


def test_a_request_to_verify_does_not_wait_for_the_slow_pass(tmp_path: Path, open_app: Opener) -> None:
    root = write_project(tmp_path.resolve(), {f"docs/{n}.md": f"# Page {n}\n\nsubject{n}\n" for n in range(6)})
    slow = Pace(quiet_seconds=0, look_seconds=0.5, share=1e-4, portion=1)
    app = open_app(root, pace=slow)
    sync_job(app)
    app.warm()
    app.verify_when_quiet()
    wait_until(app.verifier._turn.locked)

    assert verified(app)["status"] == "verified"


def test_a_pass_does_not_open_a_database_that_was_stopped(app: App) -> None:
    app.warm()
    app.verify_when_quiet()
    wait_until(lambda: app.verifier.last() is not None)

    app.call("manage_database", {"action": "stop"})
    (app.index.folder / RESULT).unlink()

    thread = next(thread for thread in threading.enumerate() if thread.name == "verifying")
    app.verifier.stop()
    thread.join()
    assert not app.index.has_open_vectors()
    assert not (app.index.folder / RESULT).exists()
