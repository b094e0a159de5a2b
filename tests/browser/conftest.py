"""Fixtures of the browser tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import PATIENCE, Reader, reading, running, write_document
from tests.harness.commands import synced_project
from tests.harness.interfaces import serving

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the browser tests, because `make test-slow` runs only tests with this mark."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.later)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start one Chromium for these tests, and end it before others, which have their own event loops, begin."""
    with running() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the project `FILES` of the module, and index it."""
    return synced_project(tmp_path_factory.mktemp("project") / "depot", request.module.FILES, "--no-daemon")


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server of the sample project, or of the module's project `FILES` with its `DOCUMENTS`."""
    if not hasattr(request.module, "FILES"):
        with serving(request.getfixturevalue("sample")) as address:
            yield address
        return
    folder = request.getfixturevalue("folder")
    with serving(folder, LORE_HOME=str(tmp_path_factory.mktemp("home"))) as address:
        for name in getattr(request.module, "DOCUMENTS", ()):
            write_document(address, folder, name)
        yield address


@pytest.fixture
def reader(request: pytest.FixtureRequest, browser: Browser, url: str) -> Iterator[Reader]:
    """Yield a reader of the server, whose browser has the module's `OPTIONS`."""
    with reading(browser, url, **getattr(request.module, "OPTIONS", {})) as reader:
        yield reader
