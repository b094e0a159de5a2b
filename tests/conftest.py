"""Fixtures that more than one test module uses."""

from __future__ import annotations

import gc
import logging
import os
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from lore_etl.config.project import STATE
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.contract import Contract, load_contract
from lore_server.knowledge.store import KnowledgeStore
from lore_server.owner.find import KEYS
from lore_server.owner.line import VARIABLE
from tests.harness import commands
from tests.harness.calls import Call, Opener, calling, sync_job
from tests.harness.disk import in_memory
from tests.harness.memory_server import MemoryServer, running
from tests.harness.models import LOADED, HashModel, own_cache
from tests.harness.owners import stop_owners
from tests.harness.paused import PausedModel
from tests.harness.projects import SAMPLE, copy_project, write_project
from tests.harness.trying import LONG
from tests.harness.workers import built_once

settings.register_profile(LONG, deadline=None)  # a slow run on a busy machine is not a failure
settings.register_profile("default run", deadline=None, derandomize=True)  # only the long run looks for new examples
settings.load_profile("default run")
MEMORY = in_memory()
if MEMORY and "TMPDIR" not in os.environ:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from the objects of the collection, which last until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True, scope="module")
def garbage_of_a_module() -> Iterator[None]:
    """Keep the garbage collector away from the objects that outlive a module, too: each sync starts a collection."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Restore levels and handlers: a test that configures logging would silence another's."""
    loggers = [logging.getLogger(), *map(logging.getLogger, ("lore_etl", "lore_server"))]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from a real model: only the test that runs the stand-in API sets a key."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(autouse=True, scope="session")
def own_runtime() -> Iterator[None]:
    """Separate the tests' owners, knowledge, state, configuration and vectors from the user's, below a path short
    enough for sockets.
    """
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        os.environ[VARIABLE] = folder
        os.environ["LORE_HOME"] = f"{folder}/home"
        os.environ[STATE] = f"{folder}/state"
        os.environ["XDG_CONFIG_HOME"] = f"{folder}/config"
        os.environ["LORE_CACHE"] = str(own_cache(Path(folder, "cache")))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise every process would compile all of Lore
        yield


@pytest.fixture(autouse=True, scope="session")
def no_parent_of_commands_is_left() -> Iterator[None]:
    """Stop the parent process of the commands at the end of the tests."""
    yield
    commands.PREPARED.close()


@pytest.fixture
def prepared_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run probes of the vector store from a process that has already imported Chroma."""
    monkeypatch.setattr(sys, "executable", commands.PREPARED.python())


@pytest.fixture(autouse=True)
def no_owner_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stop the owners of a test's project before its folder is deleted."""
    own = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if own is not None:
        stop_owners(own)


@pytest.fixture(autouse=True, scope="module")
def no_owner_is_left_by_a_module() -> Iterator[None]:
    """Stop the owners of projects that the tests of a module share."""
    yield
    stop_owners()


@pytest.fixture(scope="session")
def contract() -> Contract:
    """Return the contract of this checkout."""
    return load_contract()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample project, indexed with the real model. Tests must not change it.

    One worker embeds it; the other workers copy the result.
    """
    shared = built_once(tmp_path_factory, "sample", lambda folder: _indexed(SAMPLE, folder / "ferry"))
    return _indexed(shared / "ferry", tmp_path_factory.mktemp("sample") / "ferry")


@pytest.fixture(scope="session")
def stamps_of_sample(sample: Path) -> dict[str, int]:
    """Return the times of the last change of the sample project's files, before any test."""
    return _stamps(sample)


@pytest.fixture(autouse=True)
def sample_is_unchanged(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that changes the sample project, whose index later tests expect to be fresh."""
    if "sample" not in request.fixturenames:
        yield
        return
    before = request.getfixturevalue("stamps_of_sample")
    yield
    assert _stamps(request.getfixturevalue("sample")) == before


def _stamps(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if ".lore" not in path.parts and path.is_file())
    return {str(path): path.stat().st_mtime_ns for path in files}


def _indexed(source: Path, folder: Path) -> Path:
    copy_project(source, folder)
    with closing(Index(folder, Settings())) as index:
        assert sync(index).failed == []
    return folder


@pytest.fixture
def app(sample: Path, contract: Contract) -> Iterator[App]:
    """Open the application over the sample project, with the real model."""
    app = App(sample, Settings(), contract, LOADED)
    yield app
    app.close()


@pytest.fixture
def open_app(contract: Contract) -> Iterator[Opener]:
    """Return a function that opens an application over a folder until the end of the test."""
    with ExitStack() as stack:

        def opened(
            root: Path, settings: Settings | None = None, model: ConfiguredModel | None = None, **more: Any
        ) -> App:
            app = App(root.resolve(), settings or Settings(), contract, model or HashModel(), **more)
            return stack.enter_context(closing(app))

        yield opened


@pytest.fixture
def synced_app_of(tmp_path: Path, open_app: Opener) -> Opener:
    """Return a function that opens an application over a new project with these files, and syncs it."""

    def opened(files: Mapping[str, str | bytes], **more: Any) -> App:
        app = open_app(write_project(tmp_path / "project", files), home=tmp_path / "home", **more)
        assert sync_job(app)["state"] == "done"
        return app

    return opened


@pytest.fixture
def paused_model(open_app: Opener) -> Iterator[PausedModel]:
    """Return a model whose pause ends before the application is closed."""
    model = PausedModel()
    yield model
    model.free.set()


@pytest.fixture
def hash_app(tmp_path: Path, open_app: Opener) -> App:
    """Open an application over an empty project, with the stand-in model."""
    return open_app(tmp_path)


@pytest.fixture
def call(app: App) -> Call:
    """Return a function that runs an operation of the module's application."""
    return calling(app)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the path of a knowledge folder that a test may create."""
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> KnowledgeStore:
    """Return the store of a knowledge folder that does not exist yet."""
    return KnowledgeStore(home)


@pytest.fixture
def model() -> HashModel:
    """Return the stand-in model, which records the texts that it embeds."""
    return HashModel()


@pytest.fixture(scope="module")
def one_server() -> Iterator[MemoryServer]:
    """Return a server of memories in another process, for the tests of a module."""
    with running() as server:
        yield server


@pytest.fixture
def server(one_server: MemoryServer) -> MemoryServer:
    """Return the same server without memories."""
    one_server.reset()
    return one_server
