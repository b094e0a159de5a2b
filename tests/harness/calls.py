"""Call operations on an application in this process, as an interface would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.operations.table import render
from tests.harness.models import HashModel
from tests.harness.projects import write_project

JSON = dict[str, Any]
Call = Callable[..., JSON]


@contextmanager
def synced_app(root: Path, files: Mapping[str, str], contract: Contract) -> Iterator[App]:
    """Open an application over a project with these files, synced with the stand-in model."""
    app = App(write_project(root.resolve(), files), Settings(), contract, HashModel())
    try:
        assert app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 300})["state"] == "done"
        yield app
    finally:
        app.close()


def calling(app: App) -> Call:
    """Return a function that runs an operation and checks that its result can be rendered."""

    def call(operation: str, **arguments: Any) -> JSON:
        result = app.call(operation, arguments)
        assert render(operation, result).whole()
        return result

    return call


def indexed(app: App, call: Call) -> None:
    """Wait until no job is running."""
    while (running := app.jobs.running_id()) is not None:
        call("get_job", id=running, wait_seconds=60)
