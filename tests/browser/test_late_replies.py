"""A reply that was computed before the index changed, and arrives later, never replaces the newer state."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.browser import LateReply, Reader, reading
from tests.harness.commands import run_lore, synced_project
from tests.harness.interfaces import serving
from tests.harness.owners import wait_until
from tests.harness.projects import write_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {"lore.toml": "[owner]\nauto_sync_files = 0\n", "ship.py": "class Ship:\n    name = 'Sea'\n"}
    return synced_project(tmp_path / "depot", files, "--no-daemon")


@pytest.fixture
def reader(browser: Browser, project: Path) -> Iterator[Reader]:
    with serving(project) as url, reading(browser, url) as reader:
        yield reader


def add_a_class(page: Page, project: Path) -> None:
    """Change the index, and wait until the page knows it."""
    page.evaluate("document.addEventListener('lore:job', ({ detail }) => (window.hasEnded ||= detail.ended))")
    write_project(project, {"boat.py": "class Boat:\n    name = 'Lake'\n"})
    run_lore("sync", cwd=project)
    wait_until(lambda: bool(page.evaluate("window.hasEnded === true")))


def test_the_report_of_a_build_is_kept_if_the_reply_to_its_start_is_late(reader: Reader) -> None:
    page = reader.open("#/index")
    late = LateReply(page, "/api/db/data/manage$")
    page.get_by_role("button", name="Sync", exact=True).click()
    late.wait()
    expect(page.locator(".figures")).to_contain_text("unchanged1")  # announced by the stream

    late.release()

    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.get_by_role("button", name="Sync", exact=True)).to_be_enabled()


def test_the_counts_are_of_the_latest_sync_if_a_health_report_is_late(reader: Reader, project: Path) -> None:
    late = LateReply(reader.page, "/api/healthcheck")
    page = reader.open("#/health")
    page.get_by_role("button", name="Check again").click()
    late.wait()
    add_a_class(page, project)

    late.release()

    expect(page.locator(".health .facts")).to_contain_text("2 files")


def test_a_class_opens_although_the_index_changes_while_it_loads(reader: Reader, project: Path) -> None:
    page = reader.open("#/classes")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    late = LateReply(page, r"/api/knowledge/hierarchy\?.*root=")
    page.get_by_role("treeitem").click()
    late.wait()
    add_a_class(page, project)

    late.release()

    expect(page.locator(".class-card h2")).to_have_text("Ship")
    page.get_by_role("link", name="Health").click()
    page.get_by_role("link", name="Classes").click()
    expect(page.get_by_role("treeitem")).to_have_count(2)


def test_only_a_chosen_class_is_scrolled_to_on_a_phone_not_one_that_a_sync_loads_again(
    browser: Browser, project: Path
) -> None:
    low = {"width": 360, "height": 240}
    with serving(project) as url, reading(browser, url, viewport=low, reduced_motion="reduce") as reader:
        tree = LateReply(reader.page, r"/api/knowledge/hierarchy\?max_tokens")
        page = reader.open("#/classes/ship.Ship")
        card = page.locator(".class-card")
        expect(card.locator("h2")).to_have_text("Ship")
        tree.wait()
        tree.release()
        expect(page.get_by_role("treeitem")).to_have_count(1)
        assert page.evaluate("scrollY") > 0
        page.evaluate("scrollTo(0, 0)")

        write_project(
            project, {"ship.py": "class Ship:\n    name = 'Sea'\n\n    def sail(self) -> None:\n        pass\n"}
        )
        run_lore("sync", cwd=project)

        expect(card.locator(".members")).to_contain_text("sail")
        reader.settled()
        assert page.evaluate("scrollY") == 0


def test_the_class_tree_is_the_one_that_was_requested_last(reader: Reader, project: Path) -> None:
    page = reader.open("#/health")
    late = LateReply(page, r"/api/knowledge/hierarchy\?max_tokens")
    page.get_by_role("link", name="Classes").click()
    late.wait()
    add_a_class(page, project)
    page.evaluate("location.hash = '#/classes/boat.Boat'")
    expect(page.locator(".class-card h2")).to_have_text("Boat")

    late.release()

    expect(page.get_by_role("treeitem")).to_have_count(2)
    expect(page.locator(".class-card h2")).to_have_text("Boat")
