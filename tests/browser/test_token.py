"""Test that the page of a server open to other machines contains no token and asks for it."""

from pathlib import Path

from playwright.sync_api import Browser, Route, expect

from tests.harness.browser import barriers, reading
from tests.harness.interfaces import serving
from tests.harness.projects import write_project
from tests.harness.trust import approve

OPEN = '[server]\nhost = "0.0.0.0"\n'
TOKEN = "a-token-that-is-long-enough-for-a-server-that-others-reach"


def test_the_page_asks_once_for_a_token_and_keeps_it_for_the_session(browser: Browser, tmp_path: Path) -> None:
    project = approve(write_project(tmp_path / "depot", {"notes.md": "# Notes\n\nLeft.\n", "lore.toml": OPEN}))
    with serving(project, LORE_TOKEN=TOKEN) as url, reading(browser, url.replace("0.0.0.0", "127.0.0.1")) as reader:
        reader.expected += ["401", "409"]
        page = reader.open("#/index")
        dialog = page.get_by_role("dialog", name="This server requires its token")
        expect(dialog).to_be_visible()
        assert barriers(page) == []
        dialog.get_by_label("Token").fill("a wrong one")
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("That token was rejected")
        dialog.get_by_label("Token").fill(TOKEN)
        dialog.get_by_role("button", name="Use token").click()

        page.get_by_role("button", name="Sync", exact=True).click()
        expect(page.locator(".job .state")).to_have_text("done")
        page.reload()

        expect(page.locator(".facts")).to_contain_text("Chunks1")
        expect(dialog).to_have_count(0)


def test_a_request_from_before_the_token_was_entered_does_not_ask_for_it_again(
    browser: Browser, tmp_path: Path
) -> None:
    project = approve(write_project(tmp_path / "depot", {"notes.md": "# Notes\n\nLeft.\n", "lore.toml": OPEN}))
    with serving(project, LORE_TOKEN=TOKEN) as url, reading(browser, url.replace("0.0.0.0", "127.0.0.1")) as reader:
        reader.expected += ["401", "409"]
        pending: list[Route] = []
        reader.page.route("**/api/insights*", lambda route, _: pending.append(route), times=1)
        with reader.page.expect_request("**/api/insights*"):
            page = reader.open("#/insights")
        dialog = page.get_by_role("dialog", name="This server requires its token")
        dialog.get_by_label("Token").fill(TOKEN)
        dialog.get_by_role("button", name="Use token").click()
        expect(dialog).to_have_count(0)

        pending[0].continue_()

        expect(page.locator(".insights .said")).to_contain_text("questions")
        expect(dialog).to_have_count(0)
