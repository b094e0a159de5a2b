"""Show a cited answer and a class tree as MCP Apps, with results of a real server in a host's sandbox."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.apps import called, hosting, result_message
from tests.harness.commands import synced_project
from tests.harness.interfaces import serving

QUESTION = "Why is SQLite the default store?"
HOSTILE = "<img src=x onerror=document.title='taken'>"
HOSTILE_FILES = {
    "docs/guide.md": f"# The zebra {HOSTILE}\n\nThe zebra is striped <script>alert(1)</script>{HOSTILE}.\n",
    f"pkg/{HOSTILE}.py": "class Base: ...\nclass Sub(Base): ...\n",
}


@pytest.fixture(scope="module")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = synced_project(tmp_path_factory.mktemp("hostile") / "depot", HOSTILE_FILES, "--no-daemon")
    with serving(folder) as address:
        yield address


@pytest.mark.parametrize("client", ["any-client", "claude-code"])
def test_an_answer_is_shown_with_its_citations(browser: Browser, url: str, client: str) -> None:
    html, result = called(url, "ask_knowledge_base", {"query": QUESTION}, client)
    with hosting(browser, html, result_message(result)) as (page, view):
        expect(view.locator(".answer")).to_contain_text("The best evidence: [1], [2]")
        first, second = (view.locator("details", has_text=f"[{n}]") for n in (1, 2))
        expect(first.locator("code")).to_have_text(re.compile(r"^docs/adr/0001-.+\.md:14-18$"))
        expect(first.locator("pre")).to_contain_text("The default store is one SQLite file in WAL mode.")
        expect(second.locator("pre")).to_be_hidden()
        view.get_by_role("button", name="Source 2").click()
        expect(second.locator("pre")).to_be_visible()
        expect(second.locator("summary")).to_be_focused()
        expect(view.get_by_text("no answer model")).to_be_visible()
        assert page.evaluate("heard.map(({ method }) => method).filter((name) => !/size|sandbox/.test(name))") == [
            "ui/initialize", "ui/notifications/initialized",
        ]  # fmt: skip


def test_a_class_tree_is_shown_with_members_and_users(browser: Browser, url: str) -> None:
    html, result = called(url, "get_class_hierarchy", {"root": "Worker"})
    with hosting(browser, html, result_message(result)) as (_, view):
        rows = view.locator(".tree li")
        expect(rows).to_have_count(4)
        nested = view.locator(".tree > li > ul > li > ul > li")
        expect(nested).to_have_text(["ferry.pool.ProcessWorker ferry/pool.py:102-133", re.compile("ThreadWorker")])
        view.get_by_text("Members (9)").click()
        expect(view.get_by_text("run_once")).to_be_visible()
        view.get_by_text("Used by (4)").click()
        expect(view.get_by_text("ferry/cli.py:21")).to_be_visible()


@pytest.mark.parametrize(
    ("tool", "arguments", "place"),
    [("ask_knowledge_base", {"query": "zebra"}, "pre"), ("get_class_hierarchy", {"root": "Base"}, ".tree")],
)
def test_markup_in_documents_and_names_is_shown_as_text(
    browser: Browser, hostile_url: str, tool: str, arguments: dict[str, str], place: str
) -> None:
    html, result = called(hostile_url, tool, arguments)
    with hosting(browser, html, result_message(result)) as (_, view):
        expect(view.locator(place).first).to_contain_text(HOSTILE)
        expect(view.locator("img, main script")).to_have_count(0)
        assert view.locator("main").evaluate("() => document.title") == "Lore"


def test_errors_other_replies_and_the_end_of_a_call_are_shown(browser: Browser, url: str) -> None:
    html, failed = called(url, "get_class_hierarchy", {"root": "NoSuchClass"})
    with hosting(browser, html, result_message(failed)) as (_, view):
        expect(view.locator(".warn")).to_contain_text("NoSuchClass")
    with hosting(browser, html, result_message({"content": [{"type": "text", "text": "only text"}]})) as (_, view):
        expect(view.locator("pre")).to_have_text("only text")
    with hosting(browser, html, {"method": "ui/notifications/tool-cancelled", "params": {}}) as (_, view):
        expect(view.locator("main")).to_have_text("The call was cancelled.")
    ended = {"id": 7, "method": "ui/resource-teardown", "params": {"reason": "closed"}}
    with hosting(browser, html, ended) as (page, view):
        expect(view.locator("main")).to_contain_text("Waiting")
        page.wait_for_function("heard.some(({ id, result }) => id === 7 && result)")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_app_wears_the_theme_of_its_host_and_takes_its_own_height(browser: Browser, url: str, theme: str) -> None:
    html, result = called(url, "get_class_hierarchy", {})
    styles = {"variables": {"--color-text-secondary": "light-dark(#444, #bbb)"}}
    with hosting(browser, html, result_message(result), theme=theme, styles=styles) as (page, view):
        expect(view.locator(".tree li").first).to_be_visible()
        colour = view.locator("body").evaluate("(body) => getComputedStyle(body).backgroundColor")
        assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(26, 29, 32)"}[theme]
        quiet = {"light": "rgb(68, 68, 68)", "dark": "rgb(187, 187, 187)"}[theme]
        expect(view.locator(".quiet").first).to_have_css("color", quiet)
        page.wait_for_function("heard.some(({ method, params }) => /size/.test(method) && params.height > 300)")
