"""The page is light: few requests, compressed, and nothing is transferred again when it is loaded again."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.harness.browser import Reader

TRANSFERRED = """() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .map(({ name, transferSize }) => [new URL(name).pathname, transferSize])"""
MOST_REQUESTS = 12
MOST_BYTES = 100_000


def test_the_first_view_is_light_and_loading_it_again_transfers_no_file_again(reader: Reader) -> None:
    session = reader.page.context.new_cdp_session(reader.page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    page = reader.open("#/search?q=retry policy")
    expect(page.locator(".result").first).to_be_visible()
    reader.settled()
    first = dict(page.evaluate(TRANSFERRED))

    assert len(first) <= MOST_REQUESTS, first
    assert sum(first.values()) <= MOST_BYTES, first

    page.reload()
    expect(page.locator(".result").first).to_be_visible()
    reader.settled()
    again = {name: size for name, size in page.evaluate(TRANSFERRED) if name.startswith("/assets/")}
    assert again.keys() == {name for name in first if name.startswith("/assets/")}
    assert set(again.values()) == {0}
