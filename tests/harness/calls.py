"""Call operations on an application in this process, as an interface would."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.operations.table import render
from tests.harness.models import HashModel
from tests.harness.projects import write_project

JSON = dict[str, Any]
Call = Callable[..., JSON]
Opener = Callable[..., App]


def sync_job(app: App, **more: Any) -> JSON:
    """Sync the project as an agent does, and return the job after its end."""
    return app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600, **more})


def edit(app: App, files: Mapping[str, str | bytes]) -> None:
    """Write files of the project, and sync it."""
    write_project(app.index.root, files)
    assert sync_job(app)["state"] == "done"


@contextmanager
def synced_app(
    root: Path,
    files: Mapping[str, str | bytes],
    contract: Contract,
    settings: Settings | None = None,
    *,
    real: bool = False,
) -> Iterator[App]:
    """Open an application over a project with these files, synced with the stand-in model or the real one."""
    project, model = write_project(root.resolve(), files), None if real else HashModel()
    with closing(App(project, settings or Settings(), contract, model)) as app:
        assert sync_job(app)["state"] == "done"
        yield app


def app_fixture(files: Mapping[str, str | bytes], settings: Settings | None = None, *, real: bool = False) -> Any:
    """Return a fixture: a synced application over a project with these files, which the tests of a module share."""

    @pytest.fixture(scope="module")
    def app(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[App]:
        with synced_app(tmp_path_factory.mktemp("shared"), files, contract, settings, real=real) as app:
            yield app

    return app


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
