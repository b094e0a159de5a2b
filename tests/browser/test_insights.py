"""Follow up on an answer, save it, judge its sources, and see what was asked."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.browser import Reader, reading
from tests.harness.commands import synced_project
from tests.harness.interfaces import serving

QUESTION = "How does the watcher of Ferry notice files?"
PAGES = {
    "docs/watching.md": "# The watcher\n\nThe watcher of Ferry notices changed files. `watch = false` turns it off.\n",
    "docs/tides.md": "# Tides\n\nHigh water comes twice a day, and the moon is what moves the sea.\n",
}


@pytest.fixture
def asking(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    project = synced_project(tmp_path / "depot", PAGES, "--no-daemon")
    with serving(project, LORE_HOME=str(tmp_path / "home")) as url, reading(browser, url) as reader:
        yield reader


def test_an_answer_is_followed_up_saved_and_judged_and_appears_in_the_insights(asking: Reader) -> None:
    page = asking.open(f"#/ask?q={QUESTION}")
    right = page.locator(".citations").get_by_role("button", name="docs/watching.md answers the question", exact=True)
    right.click()
    expect(right).to_have_attribute("aria-pressed", "true")

    page.get_by_role("button", name="Save…").click()
    page.get_by_label("Title of the document").fill("Watching files")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="watching-files.md")).to_be_visible()

    page.get_by_label("Follow-up question").fill("and how do I turn it off?")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("after=[0-9a-f]{12}"))
    expect(page.locator(".before a")).to_have_text(QUESTION)
    expect(page.locator(".references li").first).to_contain_text(re.compile("[Ww]atch"))

    page.locator(".before a").click()
    expect(page.locator("#question")).to_have_value(QUESTION)
    expect(right).to_have_attribute("aria-pressed", "true")

    page.reload()
    expect(right).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Insights").click()
    expect(page.locator(".insights .said")).to_contain_text("1 marked right")
    expect(page.get_by_role("link", name=QUESTION)).to_be_visible()

    page.get_by_role("button", name="Delete the log…").click()
    page.get_by_role("button", name="Delete the log", exact=True).click()
    expect(page.locator(".insights .said")).to_contain_text("0 questions")


def test_a_follow_up_to_an_expired_answer_suggests_what_to_do(asking: Reader) -> None:
    asking.expected.append("404")
    page = asking.open("#/ask?q=and then?&after=0123456789ab")

    expect(page.locator(".failure")).to_contain_text("Ask a complete question instead")
