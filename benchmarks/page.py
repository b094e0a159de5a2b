"""Measure the page of a running server in a real Chromium: `python -m benchmarks.page URL FILE [SEARCHES]`.

FILE is an indexed file with many lines. Times from a reply to its paint include waiting for the processor; the time of
scripts, styles and layout for each search does not depend on other programs. The page is loaded with an empty cache,
and again while each request takes 100 ms longer.
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

from tests.harness.browser import running

WORDS = (
    "grid column store selection drag worker message config class component layout tree model filter sort event "
    "observable theme button field form container toolbar calendar chart route history state"
).split()  # fmt: skip
VIEWS = {
    "#/search": ".start", "#/ask": ".ask .ask-row", "#/knowledge": ".papers",
    "#/index": ".files td", "#/classes": "[role=treeitem]", "#/insights": ".insights-body",
    "#/health": ".verdict[data-status]",
}  # fmt: skip
SEARCH = """async (query) => {
  performance.clearResourceTimings();
  const list = document.querySelector(".results");
  const drawn = new Promise((done) => new MutationObserver((_, observer) => {
    if (!list.querySelector(".result, .empty") || list.classList.contains("old")) return;
    observer.disconnect();
    requestAnimationFrame(() => { const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now()); channel.port2.postMessage(null); });
  }).observe(list, { childList: true, attributes: true }));
  const box = document.querySelector("#q");
  box.value = query;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  const painted = await drawn;
  const entry = (name) => performance.getEntriesByType("resource").findLast((one) => one.name.endsWith(name));
  const found = entry("/documents/query");
  const rendered = entry("/page/markdown");
  return { paint: painted - found.responseEnd, rendering: rendered ? rendered.responseEnd - rendered.startTime : 0,
    reply: found.responseEnd - found.startTime };
}"""
SHOW = """async ([fragment, content]) => {
  const started = performance.now();
  location.hash = fragment;
  while (![...document.querySelectorAll(content)].some((node) => node.checkVisibility())) {
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}"""
LATENCY_MS = 100
FIRST = """for (const [name, selector] of [["boxPaintedAt", "#q"], ["resultPaintedAt", ".result"]]) {
  new MutationObserver((_, observer) => {
    if (!document.querySelector(selector)) return;
    observer.disconnect();
    requestAnimationFrame(() => { const channel = new MessageChannel();
      channel.port1.onmessage = () => (window[name] = performance.now()); channel.port2.postMessage(null); });
  }).observe(document, { childList: true, subtree: true });
}"""
PAINTED = """async (name) => {
  while (!(name in window)) await new Promise(requestAnimationFrame);
  return window[name];
}"""
TRANSFERRED = """() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .map(({ transferSize }) => transferSize)"""
COPIES = """async () => {
  const started = performance.now();
  const said = document.querySelector(".copies-card [role=status]");
  document.querySelector(".copies-card button").click();
  while (!said.textContent.includes("nearly repeat")) await new Promise(requestAnimationFrame);
  return [performance.now() - started, said.textContent];
}"""


def main() -> None:
    """Print the figures."""
    url, file = sys.argv[1:3]
    searches = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with running() as browser:
        _measure_loading(browser, url)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable")
        page.goto(f"{url}/#/search")
        page.locator(".start").wait_for()
        _measure_searches(page, cdp, searches)
        for fragment, content in VIEWS.items():
            print(f"{fragment}: {page.evaluate(SHOW, [fragment, content]):.0f} ms")
        for line in (1, 29_000, 15_000):
            took = page.evaluate(SHOW, [f"#/source/{file}?line={line}", f"#L{line}"])
            print(f"{file}:{line}: {took:.0f} ms, {page.evaluate('document.querySelectorAll(`*`).length')} nodes")
        page.evaluate(SHOW, ["#/index", ".copies-card button"])
        print("near-copies: {:.0f} ms, {}".format(*page.evaluate(COPIES)))


def _measure_loading(browser: Browser, url: str) -> None:
    """Print the weight of the first view and of a first search, and the times until box and result are painted."""
    for address, part in (("#/search", "box"), ("#/search?q=worker", "result")):
        page = browser.new_page(viewport={"width": 1440, "height": 900})  # its cache is empty
        page.add_init_script(FIRST)
        cdp = page.context.new_cdp_session(page)
        page.goto(f"{url}/{address}")
        print(f"{address}, loaded first: {_painted(page, part)}")
        slow = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1}
        cdp.send("Network.enable")
        cdp.send("Network.emulateNetworkConditions", slow)
        page.reload()
        print(f"{address}, loaded again with a latency of {LATENCY_MS} ms: {_painted(page, part)}")
        page.close()


def _painted(page: Page, part: str) -> str:
    took = page.evaluate(PAINTED, f"{part}PaintedAt")
    sizes = page.evaluate(TRANSFERRED)
    return f"the {part} is painted after {took:.0f} ms; {len(sizes)} requests, {sum(sizes) / 1000:.1f} kB"


def _measure_searches(page: Page, cdp: CDPSession, searches: int) -> None:
    before = _metrics(cdp)
    found = [page.evaluate(SEARCH, _query(number)) for number in range(searches)]
    spent = {name: 1000 * (value - before[name]) / searches for name, value in _metrics(cdp).items()}
    for name in ("reply", "paint", "rendering"):
        values = sorted(one[name] for one in found)
        print(f"{name}: p50 {median(values):.0f} ms, p95 {values[int(0.95 * len(values))]:.0f} ms")
    print(", ".join(f"{name} {value:.1f} ms" for name, value in spent.items()), "for each search")
    cdp.send("HeapProfiler.collectGarbage")
    print(f"heap after {searches} searches: {cdp.send('Runtime.getHeapUsage')['usedSize'] / 1e6:.1f} MB")


def _query(number: int) -> str:
    """Return a different query of two words for each number."""
    return f"{WORDS[number % len(WORDS)]} {WORDS[(number // len(WORDS) + 3 * number + 1) % len(WORDS)]}"


def _metrics(cdp: CDPSession) -> dict[str, Any]:
    """Return the seconds that the page has spent so far."""
    found = {one["name"]: one["value"] for one in cdp.send("Performance.getMetrics")["metrics"]}
    return {name: found[name] for name in ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")}


if __name__ == "__main__":
    main()
