"""Open the page of a real `lore serve` in a real Chromium. Every complaint of the browser fails the test."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)  # fmt: skip

from tests.harness import http_client
from tests.harness.interfaces import bearer
from tests.harness.owners import wait_until

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    "--renderer-process-limit=1",  # pages of several contexts share a process, and nothing else
]  # fmt: skip
PATIENCE = 180_000  # milliseconds: a busy machine is not a failure, and a working page does not wait that long
DESK = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}
FONTS = {
    "narrow": "letter-spacing: -.04em !important",
    "wide": "letter-spacing: .07em !important",
    "monospace": "font-family: monospace !important",
    "serif": "font-family: serif !important; line-height: 1.7 !important",
}
"""CSS for every element that makes text narrower or wider, like fonts that this machine may lack."""
SHIFTS = """
window.shifted = 0;
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.shifted += entry.value;
    const moves = entry.sources.map(({ node, previousRect, currentRect }) =>
      `${(node?.outerHTML ?? node?.textContent ?? "").slice(0, 80)} from y ${previousRect.y} to ${currentRect.y}`);
    window.shifts.push(`${entry.value.toFixed(4)}: ${moves.join(" | ")}`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
ASKING = """
window.asset = (name) => new URL(name, document.querySelector("script[type=module]").src).href;
window.asking = 0;
const ask = window.fetch;
window.fetch = async (...given) => {
  if (String(given[0]).startsWith("/page/state")) return ask(...given);
  window.asking += 1;
  try {
    return await ask(...given);
  } finally {
    setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => (window.asking -= 1))));
  }
};
"""
"""Finds a module of the page; counts requests whose replies are not drawn yet, without the state, which never ends."""

SETTLED = """async () => {
  await new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))));
  const view = document.querySelector(".view:not([hidden])")?.dataset.view;
  const isShown = (location.hash || "#/search").startsWith(`#/${view}`);
  return isShown && !window.asking && !document.querySelector(".view:not([hidden]) [aria-busy=true]");
}"""


def chromium() -> str:
    """Return the path of the system's Chromium. Without Chromium the test is skipped, unless `CI` is set.

    The headless shell has the same engine, and takes a quarter less processor time.
    """
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    reason = "no Chromium: install Debian's package chromium-headless-shell"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def running() -> Iterator[Browser]:
    """Run a headless Chromium."""
    path = chromium()
    # the sandbox needs a user that is not root
    arguments = [*ARGUMENTS, "--no-sandbox"] if os.getuid() == 0 else ARGUMENTS
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Reader:
    """A reader of the page, with the complaints of the browser."""

    page: Page
    url: str
    expected: list[str] = field(default_factory=list)
    """Patterns of the complaints that the test provokes."""
    troubles: list[str] = field(default_factory=list)

    def open(self, fragment: str = "") -> Page:
        """Load the page at a fragment."""
        self.page.goto(f"{self.url}/{fragment}")
        return self.page

    def wear(self, font: str) -> None:
        """Show pages loaded from now on in another font, one of `FONTS`."""
        rules = json.dumps(f"* {{ {FONTS[font]} }}")
        sheet = f"const sheet = new CSSStyleSheet(); sheet.replaceSync({rules}); document.adoptedStyleSheets = [sheet];"
        self.page.add_init_script(sheet)

    def settled(self) -> None:
        """Wait until the view of the address is shown, every request has finished, and its result is drawn.

        Whoever reads the page once, without `expect`, waits for this first: until then, parts of it are replaced.
        """
        expect(self.page.locator("#pill-text")).not_to_have_text("…")
        # evaluate, unlike wait_for_function, never runs into the page's Content-Security-Policy
        wait_until(lambda: bool(self.page.evaluate(SETTLED)))

    def shifts(self, limit: float = 0.02) -> list[str]:
        """Return the layout shifts since the page was loaded if their sum exceeds the limit."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        moved: list[str] = self.page.evaluate("(limit) => (window.shifted < limit ? [] : window.shifts)", limit)
        return moved

    def check(self) -> None:
        """Fail if anything unexpected happened."""
        unexpected = [
            trouble for trouble in self.troubles if not any(re.search(like, trouble) for like in self.expected)
        ]
        assert unexpected == []

    def on_console(self, message: ConsoleMessage) -> None:
        """Record errors and warnings; a request blocked by the policy is logged as an error."""
        if message.type in ("error", "warning"):
            self.troubles.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def on_request(self, request: Request) -> None:
        """Record every request to a host other than the page's own server."""
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.troubles.append(f"foreign request: {request.url}")


class LateReply:
    """The first reply to a request of a page, computed at once and sent on `release`."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page, self._pattern = page, re.compile(pattern)
        self._held: list[tuple[Route, APIResponse]] = []
        page.route(self._pattern, self._hold, times=1)

    def _hold(self, route: Route) -> None:
        self._held.append((route, route.fetch()))

    def wait(self) -> None:
        """Wait until the server has computed the reply."""
        wait_until(lambda: bool(self._page.evaluate("true") and self._held))

    def release(self, **changed: Any) -> None:
        """Send the reply, maybe with another status or body, and return when the page has read it."""
        [(route, reply)] = self._held
        ended: list[Request] = []

        def note(request: Request) -> None:
            ended.append(request)

        self._page.on("requestfinished", note)
        self._page.on("requestfailed", note)  # the page may ask for it no longer, from any moment on
        if not (self._page.evaluate("true") and route.request.failure):
            route.fulfill(response=reply, **changed)
            wait_until(lambda: bool(self._page.evaluate("true") and (route.request.failure or route.request in ended)))
        self._page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(done)))")


@cache
def _profile(browser: Browser, options: str) -> BrowserContext:
    """Return the profile with these options, whose open page keeps the renderer alive between two tests.

    A new renderer would compile all modules of the page again, which takes as long as the rest of the loading.
    """
    context = browser.new_context(**json.loads(options))
    context.set_default_timeout(PATIENCE)
    context.new_page()
    return context


@contextmanager
def reading(browser: Browser, url: str, **options: Any) -> Iterator[Reader]:
    """Open the page in a new tab without stored data; fail at the end if anything unexpected happened."""
    context = _profile(browser, json.dumps({"viewport": DESK, **options}))
    if context.pages[0].url == "about:blank":
        context.pages[0].goto(f"{url}/readyz")  # a renderer serves a single host
    page = context.new_page()
    page.add_init_script(SHIFTS)
    page.add_init_script(ASKING)
    reader = Reader(page, url)
    page.on("console", reader.on_console)
    page.on("pageerror", lambda error: reader.troubles.append(f"uncaught: {error}"))
    page.on("request", reader.on_request)
    try:
        yield reader
        reader.check()
    finally:
        stored = {"origin": url, "storageTypes": "local_storage"}
        context.new_cdp_session(page).send("Storage.clearDataForOrigin", stored)
        page.close()


def barriers(page: Page, *rules: str) -> list[str]:
    """Return the violations that axe-core finds, by all its rules or by these."""
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found: dict[str, Any] = Axe().run(page, options=options).response
    return [
        f"{violation['id']}: {json.dumps([node['html'][:120] for node in violation['nodes']])}"
        for violation in found["violations"]
    ]


def unreachable(page: Page) -> list[str]:
    """Return the elements that may scroll, whatever they hold today, and that no key can reach."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
        .filter((node) => /auto|scroll/.test(getComputedStyle(node).overflow) && node.checkVisibility()
          && node.textContent && ![node, ...node.querySelectorAll("*")].some((one) => one.tabIndex >= 0))
        .map((node) => node.cloneNode(false).outerHTML)"""
    )
    return found


def wider_than_the_window(page: Page) -> list[int]:
    """Return the widths of windows, from 320 to 1,920 pixels, in which the view scrolls sideways."""
    found = []
    for width in (640, 320, 1_920):
        page.set_viewport_size({"width": width, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    page.set_viewport_size({"width": 640, "height": 800})
    return found


def go(page: Page, fragment: str) -> None:
    """Move to another view without loading the page again."""
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)


def write_document(url: str, folder: Path, name: str, **more: str) -> None:
    """Create a document as an agent does, without the page."""
    body = {"project_id": "depot", "filename": name, "title": name.title(), **more}
    reply = http_client.post(f"{url}/api/projects/files", json=body, headers=bearer(folder))
    assert reply.status_code in (200, 409), reply.text
