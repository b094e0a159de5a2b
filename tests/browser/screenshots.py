"""Take pictures of the page for the documentation: `python -m tests.browser.screenshots`, with the sample project.

They show each view on a desk and on a phone, the search in the dark theme, a running sync, near-copies, and the app of
an answer.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.harness.apps import called, hosting, result_message
from tests.harness.browser import reading, running
from tests.harness.commands import run_lore
from tests.harness.interfaces import bearer, serving
from tests.harness.projects import ROOT, SAMPLE

IMAGES = ROOT / "docs" / "images"
WINDOW: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
VIEWS: dict[str, tuple[str, str]] = {
    "start": ("#/search", ".news section"),
    "search": ("#/search?q=retry policy", ".result"),
    "split": ("#/search?q=retry policy&open=ferry/retry.py&line=41-49", ".reading .is-target"),
    "agent": ("#/search?q=retry policy", ".result"),
    "ask": ("#/ask?q=What happens to running jobs when a worker is stopped?&cite=2", "#cited-2.is-target"),
    "questions": ("#/ask", ".questions"),
    "classes": ("#/classes/ferry.retry.RetryPolicy", ".class-card .members"),
    "document": ("#/source/ferry/retry.py?line=48", "#L48.is-target"),
    "rendered": ("#/source/docs/retries.md", "article.prose h3"),
    "ticket": ("#/source/issues/issue-12.md", ".ticket-head"),
    "passages": ("#/source/ferry/retry.py?view=passages", ".chunk-head"),
    "insights": ("#/insights", ".insights-body .card"),
    "health": ("#/health", ".verdict[data-status]"),
    "documents": ("#/knowledge", ".papers .title"),
    "knowledge": ("#/knowledge/document?file=releasing.md", "article.prose h2"),
    "history": ("#/knowledge/history?project=ferry", ".commits .title"),
    "edit": ("#/knowledge/edit?file=releasing.md", ".preview h2"),
    "change": ("#/knowledge/change?project=ferry&file=releasing.md&commit={commit}", ".diff-line"),
}
ASKED = (
    "Can Ferry send jobs to Kafka?",
    "How are failed jobs retried?",
    "how are failed jobs retried",
    "Which licence fee does a company pay?",
    "Why is SQLite the default store?",
)

GUIDE = """---
title: Releasing Ferry
keywords: [release, changelog]
created: 2026-03-02T09:00:00.000Z
updated: 2026-03-02T09:00:00.000Z
supersedes: [hotfixes]
---

How a release is made, and what went wrong the last times. See [the workers](docs/workers.md) for what to watch.

## Before

Run the whole suite, then look at the queue: **no job may be older than a day**.

| check | command | minutes |
|---|---|--:|
| types | `mypy` | 1 |
| tests | `pytest -q` | 8 |

## The tag

```bash
git tag -s v2.1.0 -m "Ferry 2.1.0"
git push --follow-tags
```

> A tag is never moved. A release that is wrong is followed by another one.

## After

Watch the queue for an hour.
"""
CHANGED = GUIDE.replace("for an hour.", "for an hour, and the retries for a day.").replace("| 8 |", "| 9 |")
BY = {"author": "claude-code", "session": "8c1f"}
WRITTEN = [
    ("/main", {"content": "# Ferry\n\nWhat every agent should know.\n", **BY}),
    ("/files", {"filename": "hotfixes", "title": "Hotfixes by hand", **BY}),
    ("/files", {"filename": "releasing", "title": "Releasing Ferry", **BY}),
    ("/file", {"filename": "releasing", "content": GUIDE, **BY}),
    ("/file", {"filename": "releasing", "content": CHANGED, "author": "codex", "session": "42"}),
]


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running() as browser:
        project = Path(folder) / "ferry"
        shutil.copytree(SAMPLE, project)
        _commit(project)
        with serving(project, LORE_HOME=f"{folder}/home", LORE_CACHE=f"{folder}/cache") as url:
            _picture_of_a_sync(browser, url)
            commit = _written(url, project)
            _ask(url)
            for name, (fragment, content) in VIEWS.items():
                _pictures(browser, url, name, fragment.format(commit=commit), content)
            _view(browser, url, "dark", *VIEWS["search"], viewport=WINDOW, color_scheme="dark")
            _picture_of_the_app(browser, url)
            _pictures_of_near_copies(browser, url, project)
        run_lore("stop", cwd=project)


def _pictures(browser: Browser, url: str, name: str, fragment: str, content: str) -> None:
    """Take pictures of a view on a desk and on a phone."""
    _view(browser, url, name, fragment, content, viewport=WINDOW)
    _view(browser, url, f"{name}-phone", fragment, content, viewport=PHONE, has_touch=True)


def _view(browser: Browser, url: str, name: str, fragment: str, content: str, **options: Any) -> None:
    with reading(browser, url, reduced_motion="reduce", **options) as reader:
        page = reader.open(fragment)
        expect(page.locator(content).first).to_be_visible()
        reader.settled()
        expect(page.locator(".pill")).to_have_attribute("data-state", "fresh")
        if name == "search":
            page.locator("button.score").first.click()
            expect(page.locator(".why tfoot")).to_be_visible()
        if name.startswith("agent"):
            page.get_by_role("button", name="As an agent sees it").click()
            expect(page.locator(".agent-panel")).to_contain_text("tokens")
        _picture(page, name)


def _picture_of_a_sync(browser: Browser, url: str) -> None:
    with reading(browser, url, viewport=WINDOW) as reader:
        reader.expected += ["409"]
        page = reader.open("#/index")
        page.get_by_role("button", name="Sync", exact=True).click()
        embedding = page.locator(".stage[data-state=running]", has_text="embedding")
        expect(embedding).to_contain_text("left", timeout=120_000)
        _picture(page, "sync")
        expect(page.locator(".job .state")).to_have_text("done", timeout=120_000)
        expect(page.locator(".files td").first).to_be_visible()
        _picture(page, "index")
        page.set_viewport_size(PHONE)
        _picture(page, "index-phone")


def _pictures_of_near_copies(browser: Browser, url: str, project: Path) -> None:
    (project / "docs/archive").mkdir()
    for name in ("retries.md", "workers.md"):
        text = (project / "docs" / name).read_text()
        (project / "docs/archive" / name).write_text(text.replace("job", "task", 3))
    sync = {"action": "sync", "wait_seconds": 60}
    httpx2.post(f"{url}/api/db/data/manage", json=sync, headers=bearer(project), timeout=90).raise_for_status()
    for name, size in (("copies", WINDOW), ("copies-phone", PHONE)):
        with reading(browser, url, reduced_motion="reduce", viewport=size) as reader:
            page = reader.open("#/index")
            page.get_by_role("button", name="Find near-copies").click()
            page.locator(".near-copies summary").first.click()
            reader.settled()
            page.locator(".copies-card").evaluate("(card) => card.scrollIntoView()")
            _picture(page, name)


def _picture_of_the_app(browser: Browser, url: str) -> None:
    html, result = called(url, "ask_knowledge_base", {"query": "Why is SQLite the default store?"})
    with hosting(browser, html, result_message(result)) as (page, view):
        expect(view.locator("details").first).to_be_visible()
        page.wait_for_function("document.querySelector('iframe').clientHeight > 200")
        page.locator("iframe").screenshot(path=IMAGES / "app-answer.png")


def _picture(page: Page, name: str) -> None:
    expect(page.locator(".pill .dot")).to_be_visible()
    expect(page.locator("#pill-text")).not_to_have_text("…")
    page.mouse.move(0, 0)
    page.screenshot(path=IMAGES / f"page-{name}.png", animations="disabled", caret="hide")


def _written(url: str, project: Path) -> str:
    """Write a few documents and return the id of the last change."""
    done: dict[str, Any] = {}
    with httpx2.Client(base_url=f"{url}/api/projects", headers=bearer(project), timeout=60) as client:
        for path, body in WRITTEN:
            response = client.post(path, json=body).raise_for_status()
            done = response.json()
    return str(done["commit"])


def _ask(url: str) -> None:
    """Ask what the insights show."""
    for question in ASKED:
        httpx2.post(f"{url}/api/knowledge/ask", json={"query": question}, timeout=60).raise_for_status()


def _commit(project: Path) -> None:
    """Create a branch and a commit, which the page shows."""
    name = ["-c", "user.name=Ferry", "-c", "user.email=ferry@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*name, "commit", "-q", "-m", "Ferry"]):
        subprocess.run(["git", *arguments], cwd=project, check=True)


if __name__ == "__main__":
    main()
