"""Fixtures of the browser tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import PATIENCE, Reader, reading, running
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
def url(sample: Path) -> Iterator[str]:
    """Yield the address of a server of the sample project."""
    with serving(sample) as address:
        yield address


@pytest.fixture
def reader(browser: Browser, url: str) -> Iterator[Reader]:
    """Yield a reader of the sample project."""
    with reading(browser, url) as reader:
        yield reader
