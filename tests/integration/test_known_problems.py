"""A sync names a problem once; later replies count it, and the status keeps the list."""

from pathlib import Path
from typing import Any

import pytest

from lore_server.app import App
from lore_server.operations.table import render
from lore_server.owner.process import sync_if_few
from tests.harness.calls import Opener
from tests.harness.interfaces import through_http, through_stdio
from tests.harness.projects import write_project

JSON = dict[str, Any]
BROKEN: dict[str, str | bytes] = {
    "docs/a.md": "# Alpha\n\nText.\n",
    "bad.md": b"caf\xe9",
    "key.py": "TOKEN = 'AKIA" + "IOSFODNN7EXAMPLE'\n",
    "@lore/mine.md": "# Mine\n",
}
LINES = {"failed: bad.md", "skipped: @lore", "warning: key.py"}
SYNC = {"action": "sync", "wait_seconds": 600}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path.resolve(), BROKEN)


@pytest.fixture
def app(root: Path, open_app: Opener) -> App:
    return open_app(root)


def synced(app: App) -> JSON:
    return app.call("manage_knowledge_base", SYNC)


def shown(operation: str, result: JSON) -> set[str]:
    """Return the kind and the file of each problem in the text of a reply."""
    lines = map(str.strip, render(operation, result).whole().splitlines())
    return {": ".join(line.split(": ")[:2]) for line in lines if line.startswith(("failed:", "skipped:", "warning:"))}


def test_a_sync_names_the_new_problems_and_counts_those_that_an_earlier_one_named(app: App, root: Path) -> None:
    first, second = synced(app), synced(app)

    assert shown("manage_knowledge_base", first) == LINES
    assert "known" not in first["report"]
    assert app.call("get_job", {"id": first["id"]})["report"] == first["report"]  # a reply about it does not change
    assert shown("manage_knowledge_base", second) == set()
    assert second["report"]["known"] == 3
    assert "3 known problems: see `lore status` (healthcheck)" in render("manage_knowledge_base", second).notes

    write_project(root, {"worse.md": b"caf\xe9"})
    third = synced(app)["report"]
    assert ([failure["source"] for failure in third["failed"]], third["known"]) == (["worse.md"], 3)

    write_project(root, {"bad.md": "# Good\n", "worse.md": "# Good\n"})
    assert synced(app)["report"]["known"] == 2
    write_project(root, {"bad.md": BROKEN["bad.md"]})
    assert shown("manage_knowledge_base", synced(app)) == {"failed: bad.md"}  # a problem that returns is new


def test_the_status_lists_all_problems_of_the_last_sync(app: App, root: Path) -> None:
    synced(app)
    synced(app)

    assert shown("healthcheck", app.call("healthcheck", {})) == LINES

    write_project(root, {"bad.md": "# Good\n"})
    synced(app)
    assert shown("healthcheck", app.call("healthcheck", {})) == LINES - {"failed: bad.md"}
    app.call("manage_knowledge_base", {"action": "delete", "confirm": True, "wait_seconds": 600})
    assert shown("healthcheck", app.call("healthcheck", {})) == set()
    assert shown("manage_knowledge_base", synced(app)) == LINES - {"failed: bad.md"}


def test_a_problem_found_by_an_automatic_sync_is_named_in_the_next_reply(app: App, root: Path) -> None:
    synced(app)
    write_project(root, {"worse.md": b"caf\xe9"})
    app.freshness.notice()
    sync_if_few(app, 10)

    assert "failed: worse.md" in shown("manage_knowledge_base", synced(app))


def test_another_process_knows_the_problems_that_were_named(root: Path, open_app: Opener) -> None:
    reports = []
    for _ in range(2):
        app = open_app(root)
        reports.append(synced(app)["report"])
        app.close()

    assert [report.get("known", 0) for report in reports] == [0, 3]


def test_agents_and_programs_get_the_same_news_as_the_shell(root: Path) -> None:
    first = through_stdio(root, [("manage_knowledge_base", SYNC)])[0]["report"]
    second, status = through_http(root, [("manage_knowledge_base", SYNC), ("healthcheck", {})])

    assert [failure["source"] for failure in first["failed"]] == ["bad.md"]
    assert (second["report"]["failed"], second["report"]["known"]) == ([], 3)
    assert [failure["source"] for failure in status["problems"]["failed"]] == ["bad.md"]
