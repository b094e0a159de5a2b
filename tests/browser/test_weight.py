"""The page is light: few requests, compressed, and nothing is transferred again when it is loaded again."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.harness.browser import reading

TRANSFERRED = """() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])"""
MOST_REQUESTS = 12
MOST_BYTES = 100_000


def test_the_first_view_is_light_and_loading_it_again_transfers_no_file_again(browser: Browser, url: str) -> None:
    with reading(browser, url, locale="en-GB") as reader:  # a profile of its own, whose cache is empty
        page = reader.open("#/search?q=retry policy")
        expect(page.locator(".result").first).to_be_visible()
        reader.settled()
        first = dict(page.evaluate(TRANSFERRED))
        assert {Path(name).suffix for name in first} >= {".js", ".css"}
        assert len(first) <= MOST_REQUESTS, first
        assert sum(first.values()) <= MOST_BYTES, first

        page.reload()
        expect(page.locator(".result").first).to_be_visible()
        reader.settled()
        again = dict(page.evaluate(TRANSFERRED))
        assert {size for name, size in again.items() if name.startswith("/assets/")} == {0}, again
