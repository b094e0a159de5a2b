"""Find, read, write, compare and revert knowledge in the page; hostile documents are shown as text."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect

from tests.harness import http_client
from tests.harness.browser import PHONE, Reader, barriers, reading, wider_than_the_window
from tests.harness.commands import LONG_SECONDS, SECONDS
from tests.harness.evaluation import commit, git
from tests.harness.interfaces import bearer, serving
from tests.harness.projects import write_project

JSON = dict[str, Any]
Post = Callable[..., JSON]
ShowPage = Callable[[Reader, str], Page]
GUIDE = """---
title: Releasing
keywords: [release, ci]
updated: 2026-01-02T12:00:00.000Z
---

How a release is made; see [the pool](pool.md), [after](#after) and [the site](https://example.org/).

## Before

Run `make test`.

```bash
git tag v1
```

## After

| what | who |
|---|---|
| watch | ann |
"""
HOSTILE = """---
title: "<img src=x onerror='window.ran = 1'>"
keywords: ["<b onclick='window.ran = 1'>k</b>"]
---

<script>window.ran = 1</script> <img src="https://evil.example/a.png" onerror="window.ran = 1">

[one](javascript:window.ran=1) [two](data:text/html,x) [three](//evil.example)
<a href="javascript:window.ran=1">four</a>

![far](https://evil.example/b.png) ![data](data:image/svg+xml;base64,PHN2Zz4=) ![near](/assets/icon.svg)

## <svg onload="window.ran = 1"> {{constructor.constructor("window.ran = 1")()}}

```"><script>window.ran = 1</script>
</code></pre><script>window.ran = 1</script>
```
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    by_hand = "[owner]\nauto_sync_files = 0\n"
    return write_project(tmp_path_factory.mktemp("knowledge") / "depot", {"notes.md": "# N\n", "lore.toml": by_hand})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def url(folder: Path, home: Path) -> Iterator[str]:
    with serving(folder, LORE_HOME=str(home)) as url:
        yield url


@pytest.fixture(scope="module")
def post(folder: Path, url: str) -> Iterator[Post]:
    """Yield a function that writes through the HTTP API, as an agent does, without the page."""
    # the server closes an idle connection after some seconds, perhaps just when the next request is sent
    headers = {**bearer(folder), "Connection": "close"}
    with httpx2.Client(base_url=f"{url}/api/projects", headers=headers, timeout=SECONDS) as client:

        def post(path: str, **body: Any) -> JSON:
            response = client.post(path, json={"author": "ann", "session": "s-1", **body})
            assert response.status_code == 200, response.text
            result: JSON = response.json()
            return result

        yield post


@pytest.fixture(scope="module")
def library(post: Post) -> None:
    """Fill the project `depot`. Tests must not change it."""
    post("/main", content="# Depot\n\nBe kind.\n")
    post("/files", filename="pool", title="The pool", chapters=[{"title": "Draining it", "content": "Jobs end first."}])
    post("/files", filename="releasing", title="x")
    post("/file", filename="releasing", content=GUIDE)
    post("/file", filename="releasing", content=GUIDE.replace("| ann |", "| bob |"))
    post("/files", filename="pool 2", title="The pool now", supersedes=["pool"], valid_until="2026-01-01")
    post("/main", project_id="git@host:team/other.git", content="# Other\n")


@pytest.fixture
def reader(browser: Browser, url: str, library: None) -> Iterator[Reader]:
    with reading(browser, url) as reader:
        reader.expected += ["409"]  # there is no index
        yield reader


def begun(post: Post, project: str, text: str = GUIDE) -> JSON:
    """Create a document in the test's own project and return the reply to the last write."""
    post("/files", project_id=project, filename="guide", title="x")
    return post("/file", project_id=project, filename="guide", content=text)


def at(view: str, project: str, **params: str) -> str:
    more = "".join(f"&{name}={quote(value, safe='')}" for name, value in params.items())
    return f"#/knowledge{view and '/'}{view}?project={quote(project, safe='')}{more}"


def agree(page: Page, button: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=button).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def content(url: str, project: str, filename: str = "guide.md") -> str:
    found = http_client.get(f"{url}/api/projects/file", params={"project_id": project, "filename": filename})
    return str(found.json()["document"]["full_content"])


# --- finding and reading ---------------------------------------------------------------------------------------------


def test_the_knowledge_view_lists_this_project_first_with_the_details_of_its_documents(reader: Reader) -> None:
    page = reader.open("#/health")
    page.keyboard.press("g")
    page.keyboard.press("k")

    expect(page.get_by_role("heading", name="Knowledge of depot")).to_be_visible()
    projects = page.locator(".projects a").all_inner_texts()
    assert projects[0].split() == ["depot", "this", "project"]
    assert "git@host:team/other.git" in projects
    known = ["Main document", "The pool now", "The pool", "Releasing"]  # other tests write further ones
    assert [title for title in page.locator(".papers .title").all_inner_texts() if title in known] == known
    row = page.locator(".papers .result", has_text="releasing.md")
    expect(row).to_contain_text("releaseciupdated")
    expect(row).to_contain_text("2 chapters")
    page.locator(".projects a", has_text="other.git").click()
    expect(page.get_by_role("heading", name="Knowledge of git@host:team/other.git")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Knowledge of depot")).to_be_visible()


def test_a_search_marks_the_words_and_a_match_links_to_its_chapter(reader: Reader) -> None:
    page = reader.open("#/knowledge")
    page.locator("#knowledge-q").fill("jobs")

    expect(page.locator(".papers .title")).to_have_text(["The pool"])
    expect(page.locator(".matches mark")).to_have_text("Jobs")
    expect(page).to_have_url(re.compile(r"#/knowledge\?q=jobs$"))
    page.locator(".matches a").click()

    expect(page).to_have_url(re.compile("chapter=draining-it"))
    expect(page.get_by_role("heading", name="Draining it")).to_be_focused()
    page.go_back()
    expect(page.locator("#knowledge-q")).to_have_value("jobs")


def test_back_returns_to_the_last_search_in_the_knowledge_view(reader: Reader) -> None:
    page = reader.open("#/knowledge")
    field, titles = page.locator("#knowledge-q"), page.locator(".papers .title")
    field.fill("jobs")
    field.press("Enter")
    expect(titles).to_have_text(["The pool"])
    field.press_sequentially(" nowhere")
    expect(titles).to_have_count(0)

    page.go_back()
    expect(field).to_have_value("jobs")
    expect(titles).to_have_text(["The pool"])


def test_a_late_reply_does_not_navigate_away_from_another_view(reader: Reader) -> None:
    page = reader.open("#/health")
    pending: list[Route] = []
    page.route("**/api/projects/files*", lambda route, _: pending.append(route))
    with page.expect_request("**/api/projects/files*"):
        page.get_by_role("link", name="Knowledge").click()
    page.get_by_role("link", name="Health").click()
    expect(page.locator(".verdict[data-status]")).to_be_visible()
    pending[0].continue_()
    page.unroute_all()
    page.evaluate("fetch('/api/projects/files').then((reply) => reply.json())")

    assert page.url.endswith("#/health")
    page.get_by_role("link", name="Knowledge").click()
    expect(page.locator(".papers .title").first).to_be_visible()


def test_a_document_is_rendered_below_its_metadata_with_working_links(reader: Reader) -> None:
    page = reader.open(at("document", "depot", file="releasing.md"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Releasing")
    expect(page.locator(".file-head:visible .type")).to_have_text(["release", "ci"])
    article = page.locator("article.prose")
    expect(article.locator("pre code")).to_have_text("git tag v1\n")
    expect(article.locator("td")).to_have_text(["watch", "bob"])
    expect(article).not_to_contain_text("keywords:")
    expect(article.get_by_role("link", name="the site")).to_have_attribute("rel", "noopener noreferrer")
    article.get_by_role("link", name="after").click()
    expect(page.get_by_role("heading", name="After")).to_be_focused()
    expect(page.locator(".outline:visible [aria-current=true]")).to_have_text("After")
    article.get_by_role("link", name="the pool").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The pool")
    page.go_back()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Releasing")


def test_outdated_documents_are_marked_with_their_replacement(reader: Reader) -> None:
    page = reader.open("#/knowledge")
    expect(page.locator(".result", has_text="pool.md").locator(".mark")).to_have_text("superseded")
    expect(page.locator(".result", has_text="pool-2.md").locator(".mark")).to_have_text(
        "expired: valid until 2026-01-01"
    )

    page.get_by_role("link", name="The pool", exact=True).click()
    expect(page.locator(".note.warn")).to_have_text("Superseded by The pool now.")
    page.locator(".note.warn a").click()

    expect(page.locator(".note:visible")).to_have_text(["Expired: valid until 2026-01-01.", "Supersedes The pool."])


@pytest.mark.promise(22)
def test_a_hostile_document_is_shown_as_text_without_requests_or_scripts(reader: Reader, post: Post) -> None:
    begun(post, "hostile", HOSTILE)
    page = reader.open(at("document", "hostile", file="guide.md"))

    article = page.locator("article.prose")
    expect(article).to_contain_text("<script>window.ran = 1</script>")
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    assert page.locator("main :is(script, img, svg, iframe, object, style)").count() == 0
    assert article.locator("a").evaluate_all("all => all.map((element) => element.getAttribute('href'))") == [
        "https://evil.example/b.png"
    ]
    expect(article).to_contain_text("[one](javascript:window.ran=1)")
    page.goto(f"{reader.url}/{at('edit', 'hostile', file='guide.md')}")
    expect(page.locator(".preview")).to_contain_text("<script>window.ran = 1</script>")
    assert page.evaluate("window.ran") is None


def test_a_missing_document_is_reported_with_code_and_hint(reader: Reader) -> None:
    reader.expected += ["404"]
    page = reader.open(at("document", "depot", file="nope.md"))
    expect(page.get_by_role("alert")).to_contain_text("DOCUMENT_NOT_FOUND")

    page.goto(f"{reader.url}/#/knowledge/change?commit=abcdef")
    expect(page.get_by_role("alert")).to_contain_text("COMMIT_NOT_FOUND")


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_text_is_edited_beside_its_preview_and_saved_with_its_line_endings(
    reader: Reader, post: Post, url: str
) -> None:
    begun(post, "edited", GUIDE.replace("\n", "\r\n"))
    page = reader.open(at("edit", "edited", file="guide.md"))
    expect(page.locator(".preview").get_by_role("heading", name="Before")).to_be_visible()
    text = page.get_by_label("Document text")

    text.fill(text.input_value() + "\n## Later **still**\n")
    expect(page.locator(".preview").get_by_role("heading", name="Later still")).to_be_visible()
    text.press("Control+s")

    expect(page.locator("article.prose").get_by_role("heading", name="Later still")).to_be_visible()
    saved = content(url, "edited")
    assert saved.endswith("| ann |\r\n\r\n## Later **still**\r\n")
    assert saved.count("\n") == saved.count("\r\n")
    assert "updated: 2026-01-02" not in saved


def test_unsaved_text_is_kept_across_views_and_discarded_only_after_confirmation(
    reader: Reader, post: Post, url: str
) -> None:
    begun(post, "kept")
    page = reader.open(at("edit", "kept", file="guide.md"))
    text = page.get_by_label("Document text")
    expect(page.locator(".preview h2").first).to_be_visible()
    text.press_sequentially("typed ")
    page.get_by_role("link", name="Health").click()
    expect(page.locator(".verdict[data-status]")).to_be_visible()
    page.goto(f"{reader.url}/{at('document', 'kept', file='guide.md')}")
    expect(page.locator(".note.warn:visible")).to_contain_text("unsaved text")
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", accept)
    page.reload()
    page.get_by_role("link", name="Continue editing").click()

    expect(text).to_have_value(re.compile("typed "))
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Discard…").click()
    agree(page, "Discard")
    expect(page.locator("article.prose h2").first).to_be_visible()
    expect(page.locator(".note.warn:visible")).to_have_count(0)
    assert content(url, "kept") == GUIDE


def test_a_conflict_shows_the_other_change_and_keeps_the_typed_text(reader: Reader, post: Post, url: str) -> None:
    begun(post, "conflict")
    page = reader.open(at("edit", "conflict", file="guide.md"))
    text = page.get_by_label("Document text")
    expect(page.locator(".preview h2").first).to_be_visible()
    text.press_sequentially("mine ")
    post("/file", project_id="conflict", filename="guide", content=GUIDE.replace("Run `make test`.", "Run nothing."))

    page.get_by_role("button", name="Save").click()

    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("someone else changed guide.md in the meantime")
    expect(alert).to_contain_text("ann")
    expect(alert.locator(".diff-line.removed", has_text="Run `make test`.")).to_be_visible()
    expect(alert.locator(".diff-line.added", has_text="Run nothing.").locator(".sign-of")).to_have_text("+")
    assert barriers(page) == []
    assert "mine " in text.input_value()
    assert "mine " not in content(url, "conflict")
    alert.get_by_role("button", name="Overwrite with mine").click()
    expect(page.locator("article.prose")).to_contain_text("make test")
    assert "mine " in content(url, "conflict")


def test_the_first_documents_of_a_project_can_be_created_in_the_page(reader: Reader, url: str) -> None:
    page = reader.open(at("", "new"))
    expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
    expect(page.locator(".empty")).to_contain_text("lore install")
    page.get_by_role("button", name="Write the first document").click()
    dialog = page.get_by_role("dialog", name="New document")
    dialog.get_by_label("Title").fill("API guide")
    dialog.get_by_label("Keywords").fill("api, , rest")
    dialog.get_by_label("Purpose").fill("## no chapter")
    dialog.get_by_role("button", name="Create and edit").click()
    expect(dialog.get_by_role("alert")).to_contain_text("INVALID_CONTENT")
    dialog.get_by_label("Purpose").fill("Of the API.")
    reader.expected += ["400"]
    dialog.get_by_role("button", name="Create and edit").click()

    expect(page.get_by_label("Document text")).to_have_value(re.compile("keywords: \\[api, rest\\]"))
    page.goto(f"{reader.url}/{at('', 'new')}")
    reader.settled()
    page.get_by_role("link", name="Write the main document").click()
    page.get_by_label("Document text").fill("# New\n")
    page.keyboard.press("Control+s")
    expect(page.locator("article.prose h2")).to_have_text("New")
    assert content(url, "new", "api-guide").count("Of the API.") == 1


def test_a_title_may_contain_characters_that_file_names_may_not(reader: Reader) -> None:
    page = reader.open(at("", "titles"))
    for title in ("CI/CD: read/write\\locks", "a/../../b", "...", "\uff0fetc\uff0fpasswd", "\u2100 50\u00bd"):
        page.get_by_role("button", name="New document").click()
        dialog = page.get_by_role("dialog", name="New document")
        dialog.get_by_label("Title").fill(title)
        dialog.get_by_role("button", name="Create and edit").click()
        expect(dialog).to_have_count(0)
        expect(page.locator(".preview > .where")).to_have_text(title)
        page.goto(f"{reader.url}/{at('', 'titles')}")
        expect(page.get_by_role("link", name=title, exact=True)).to_be_visible()


def test_a_document_cannot_be_created_before_its_project_is_known(reader: Reader) -> None:
    page = reader.open("#/health")
    pending: list[Route] = []
    page.route("**/api/projects", lambda route, _: pending.append(route))
    with page.expect_request("**/api/projects"):
        page.get_by_role("link", name="Knowledge").click()
    page.keyboard.press("n")
    page.get_by_role("button", name="New document").click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)
    pending[0].continue_()
    page.unroute_all()
    page.get_by_role("button", name="New document").click()
    dialog = page.get_by_role("dialog", name="New document")
    dialog.get_by_label("Title").fill("Early")
    dialog.get_by_role("button", name="Create and edit").click()
    expect(page.locator(".preview > .where")).to_have_text("Early")


def test_a_document_and_a_project_are_deleted_after_confirmation(reader: Reader, post: Post) -> None:
    begun(post, "deleted")
    page = reader.open(at("document", "deleted", file="guide.md"))
    page.get_by_role("button", name="Delete…").click()
    agree(page, "Cancel")
    expect(page.get_by_role("heading", level=1)).to_have_text("Releasing")
    page.get_by_role("button", name="Delete…").click()
    agree(page, "Delete document")
    expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()

    page.locator(".menu:visible summary").click()
    page.get_by_role("button", name="Delete project…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete project")).to_be_disabled()
    dialog.get_by_label("to confirm").fill("deleted")
    agree(page, "Delete project")
    expect(page.locator(".projects a", has_text="deleted")).to_have_count(0)


def test_a_document_is_not_looked_up_once_more_while_it_is_deleted(reader: Reader, post: Post) -> None:
    begun(post, "gone")
    page = reader.open(at("document", "gone", file="guide.md"))
    page.evaluate(
        "void (window.told = new Promise((tell) => document.addEventListener('lore:written', () => tell(true))))"
    )
    asked: list[str] = []

    def reply_after_the_event(route: Route) -> None:
        page.on("request", lambda request: asked.append(request.url))
        reply = route.fetch()
        assert page.evaluate("window.told")
        route.fulfill(response=reply)

    page.route("**/api/projects/file/delete", reply_after_the_event)
    page.get_by_role("button", name="Delete…").click()
    agree(page, "Delete document")

    expect(page.get_by_role("heading", name="No documents yet")).to_be_visible()
    assert [url for url in asked if "file?" in url] == []


# --- history ---------------------------------------------------------------------------------------------------------


def test_the_history_shows_author_time_and_change_and_a_change_can_be_reverted(
    reader: Reader, post: Post, url: str
) -> None:
    begun(post, "history")
    post("/file", project_id="history", filename="guide", content=GUIDE.replace("watch", "wait"), author="bob")
    page = reader.open(at("document", "history", file="guide.md"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Releasing")
    page.keyboard.press("h")
    rows = page.locator(".commits .result")
    expect(rows.locator(".title")).to_have_text(["Updated guide.md", "Updated guide.md", "Created guide.md"])
    expect(rows.first).to_contain_text("bob in session s-1")
    expect(rows.first.locator("time")).to_have_attribute("datetime", re.compile(r"^\d{4}-"))
    rows.first.locator(".title").click()

    expect(page.locator(".diff-line.removed", has_text="watch").locator(".sign-of")).to_have_text("−")
    expect(page.locator(".diff-line.added", has_text="wait")).to_be_visible()
    page.get_by_role("button", name="Revert…").click()
    agree(page, "Revert")
    page.get_by_role("link", name="Show the revert").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Revert")
    expect(page.locator(".diff-line.added", has_text="watch")).to_be_visible()
    assert "watch" in content(url, "history")


def test_the_message_of_a_commit_keeps_its_lines(reader: Reader, post: Post, home: Path) -> None:
    begun(post, "lines")
    repository = next(home.rglob(".git")).parent
    commit(repository, "Say why\n\n- the first reason\n- the second reason\n\nSee the guide.")
    page = reader.open(at("change", "lines", commit=git(repository, "rev-parse", "HEAD").strip()))

    expect(page.get_by_role("heading", level=1)).to_have_text("Say why")
    message = page.locator(".changes .message")
    expect(message).to_be_visible()
    expect(message).to_have_js_property("innerText", "- the first reason\n- the second reason\n\nSee the guide.")


def test_a_change_with_later_edits_is_not_reverted_and_the_hint_names_the_remedy(reader: Reader, post: Post) -> None:
    commit = begun(post, "built")["commit"]
    post("/file", project_id="built", filename="guide", content="# Something else\n")
    page = reader.open(at("change", "built", file="guide.md", commit=commit))
    page.get_by_role("button", name="Revert…").click()
    agree(page, "Revert")

    expect(page.get_by_role("alert")).to_contain_text("CONFLICT")
    expect(page.get_by_role("alert")).to_contain_text("Revert those first")


def test_an_earlier_revision_is_shown_and_restored(reader: Reader, post: Post, url: str) -> None:
    first = begun(post, "restored")["commit"]
    post("/file", project_id="restored", filename="guide", content="# Something else\n")
    page = reader.open(at("history", "restored", file="guide.md"))
    page.get_by_role("link", name="view this version").nth(1).click()

    expect(page).to_have_url(re.compile(f"commit={first}"))
    expect(page.locator(".note.info:visible")).to_contain_text("Version of commit")
    expect(page.locator("article.prose td").first).to_have_text("watch")
    page.get_by_role("button", name="Restore…").click()
    agree(page, "Restore")

    expect(page).not_to_have_url(re.compile("commit="))
    expect(page.locator("article.prose td").first).to_have_text("watch")
    assert "git tag v1" in content(url, "restored")


# --- for everyone ----------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_is_enough_to_find_edit_save_and_return(reader: Reader, post: Post, url: str) -> None:
    begun(post, "keys")
    page = reader.open(at("", "keys"))
    expect(page.get_by_role("link", name="Releasing")).to_be_visible()
    page.locator("#knowledge-q").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Releasing")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article.prose h2").first).to_be_visible()
    page.keyboard.press("e")
    expect(page.locator(".preview h2").first).to_be_visible()
    expect(page.get_by_label("Document text")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nby keys\n")
    page.keyboard.press("Control+s")
    expect(page.locator("article.prose")).to_contain_text("by keys")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Knowledge of keys")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("dialog", name="New document")).to_be_visible()
    assert barriers(page) == []
    assert content(url, "keys").endswith("by keys\n")


VIEWS = {
    "list": (at("", "depot"), ".papers .title"),
    "found": (at("", "depot", q="pool"), ".matches"),
    "document": (at("document", "depot", file="releasing.md"), "article.prose h2"),
    "edit": (at("edit", "depot", file="releasing.md"), ".preview h2"),
    "history": (at("history", "depot"), ".commits .title"),
    "change": (at("change", "depot", file="releasing.md"), ".diff-line"),
}


@pytest.fixture(scope="module")
def shown(url: str, library: None) -> ShowPage:
    """Return a function that opens a view and waits for its content."""
    asked = {"project_id": "depot", "filename": "releasing.md"}
    commit = http_client.get(f"{url}/api/projects/history", params=asked).json()["commits"][0]["id"]

    def shown(reader: Reader, name: str) -> Page:
        fragment, content = VIEWS[name]
        page = reader.open(f"{fragment}&commit={commit}" if name == "change" else fragment)
        expect(page.locator(content).first).to_be_visible()
        return page

    return shown


def test_no_view_shifts_and_the_dark_theme_is_readable(reader: Reader, shown: ShowPage) -> None:
    reader.page.emulate_media(color_scheme="dark")
    for name in ("list", "edit", "change"):
        page = shown(reader, name)
        assert barriers(page, "color-contrast") == [], name
        assert reader.shifts() == [], name


def test_a_phone_shows_each_view_without_a_barrier_or_scrolling_sideways(
    browser: Browser, url: str, shown: ShowPage
) -> None:
    with reading(browser, url, viewport=PHONE, has_touch=True) as reader:
        reader.expected += ["409"]
        for name in VIEWS:
            page = shown(reader, name)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
            assert barriers(page) == [], name
            assert reader.shifts() == [], name


def test_no_view_of_knowledge_scrolls_sideways_from_320_to_1920_pixels_or_at_twice_the_size(
    browser: Browser, url: str, shown: ShowPage
) -> None:
    with reading(browser, url, viewport={"width": 640, "height": 800}, device_scale_factor=2) as reader:
        reader.expected += ["409"]
        for name in VIEWS:
            assert wider_than_the_window(shown(reader, name)) == [], name


def test_a_search_result_links_to_its_knowledge_document(reader: Reader, folder: Path) -> None:
    httpx2.post(
        f"{reader.url}/api/db/data/manage",
        json={"action": "sync", "wait_seconds": 600},
        headers=bearer(folder),
        timeout=LONG_SECONDS,
    )
    page = reader.open("#/search?q=pool&type=knowledge")
    result = page.locator(".result", has_text="@lore/knowledge/pool.md")
    expect(result.locator(".mark")).to_have_text(["written by an agent", "superseded"])
    result.get_by_role("link", name="Open in Knowledge").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("The pool")
    assert "@lore" not in page.url
