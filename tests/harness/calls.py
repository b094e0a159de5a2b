"""Call operations on an application in this process, as an interface would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lore_server.app import App
from lore_server.operations.table import render

JSON = dict[str, Any]
Call = Callable[..., JSON]


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
