"""A page that is open all day: it recovers by itself, follows what others do, and says what it waits for."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from lore_etl.core.model import SyncReport
from tests.harness.browser import PHONE, Reader, barriers, go, reading, write_document
from tests.harness.interfaces import serving
from tests.harness.projects import write_project

FILES = {
    "docs/ferry.md": "# Ferry\n\nThe ferry crosses the sound at noon.\n\n## Fares\n\nThe ferry is free.\n",
    "sound/moor/moor.py": "print('moor, moor, moor')\n",
    "sound/quay.py": "def moor(line):\n    return line\n",
    "sound/pilot.py": "class Pilot:\n    def steer(self):\n        return 'ferry'\n",
}
DOCUMENTS = ("alpha",)
SMALL = """() => [...document.querySelectorAll("a, button, summary, select, input, textarea")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: false }))
    .filter((element) => !element.closest(".unseen, .prose p, .answer p, .said, .quiet, .note"))
    .filter((element) => element.type !== "checkbox")
    .filter((element) => element.getBoundingClientRect().height < 23.5 && element.getBoundingClientRect().width > 1)
    .map((element) => `${element.className}: ${element.textContent.slice(0, 40)}`)"""


VIEWS = {
    "#/ask?q=When does it cross?": ".citations li", "#/index": ".files td", "#/classes": "[role=treeitem]",
    "#/insights": ".insights-body .card", "#/health": ".verdict[data-status]", "#/knowledge": ".papers .title",
    "#/source/sound/pilot.py": ".line", "#/knowledge/history?project=depot": ".commits .title",
}  # fmt: skip
OTHERS = {
    "#/ask?q=When does it cross?": "#/ask?q=Is it free?",
    "#/source/sound/pilot.py": "#/source/docs/ferry.md?view=source",
}
"""Other addresses of the same view, which it has not loaded yet."""


def tell(page: Page, job: dict[str, object], now: int) -> None:
    """Tell the page of a job at a time, as its stream of the state does, which tells of no other job from now on."""
    page.evaluate(
        """([job, now]) => {
            performance.now = () => now;
            const isOther = ({ detail }) => detail?.id !== job.id;
            const skip = (event) => isOther(event) && event.stopImmediatePropagation();
            document.addEventListener("lore:latest-job", skip, true);
            document.dispatchEvent(new CustomEvent("lore:latest-job", { detail: job }));
        }""",
        [{"id": "told", "action": "sync", "state": "running", "seconds": 1, **job}, now],
    )


def test_a_search_recovers_by_itself_when_the_server_answers_again(reader: Reader) -> None:
    reader.expected += ["ERR_INTERNET_DISCONNECTED"]
    page = reader.open("#/search?q=ferry")
    expect(page.locator(".result").first).to_be_visible()
    page.context.set_offline(True)
    page.locator("#q").fill("pilot")
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    expect(page.locator("#search-said")).to_have_text("")

    page.context.set_offline(False)

    expect(page.locator(".result .title").first).to_have_text("Pilot")


@pytest.mark.parametrize("is_known", [True, False], ids=["a view seen before", "a view never seen"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_says_what_it_waits_for_and_continues_by_itself(reader: Reader, view: str, is_known: bool) -> None:
    reader.expected += ["ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    page = reader.open(view if is_known else "#/search")
    expect(page.locator(".top .pill")).to_have_attribute("data-state", "fresh")
    reader.settled()
    page.context.set_offline(True)
    go(page, "#/search?q=pilot")
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    expect(page.locator(".pill")).to_contain_text("no response")
    go(page, OTHERS.get(view, view))
    if not is_known:
        expect(page.get_by_role("alert").locator("visible=true").first).to_contain_text("The server does not respond")

    page.context.set_offline(False)

    expect(page.locator(".pill")).to_have_attribute("data-state", "fresh")
    expect(page.locator(VIEWS[view]).locator("visible=true").first).to_be_visible()
    expect(page.get_by_role("alert").locator("visible=true")).to_have_count(0)


def test_a_first_visit_says_that_nothing_is_indexed_and_then_how_far_the_first_sync_is(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        serving(write_project(tmp_path / "empty", {"a.md": "# A\n\nA text.\n"})) as url,
        reading(browser, url) as reader,
    ):
        reader.expected.append("409")
        page = reader.open()
        said = page.locator(".search .empty")
        expect(said).to_contain_text("Nothing is indexed yet")
        tell(page, {"stage": "embedding", "done": 34, "total": 540}, 1)
        expect(said).to_contain_text("The sync is running")
        expect(said).to_contain_text("Embedding: 34 of 540")


def test_the_remaining_time_follows_the_last_seconds(reader: Reader) -> None:
    page = reader.open("#/index")
    expect(page.locator(".files td").first).to_be_visible()
    page.evaluate(
        """() => {
            performance.now = () => 500;
            const progress = { stage: "embedding", done: 1, total: 2 };
            const detail = { id: "earlier", action: "sync", state: "running", seconds: 1, ...progress };
            document.dispatchEvent(new CustomEvent("lore:latest-job", { detail }));
        }"""
    )
    tell(page, {"stage": "embedding", "done": 100, "total": 400, "rate": 1, "eta_seconds": 300}, 1_000)
    tell(page, {"stage": "embedding", "done": 250, "total": 400, "rate": 1, "eta_seconds": 150}, 16_000)
    expect(page.locator(".stage", has_text="embedding")).to_contain_text("250 of 400 · 10/s · 15 s left")


def test_the_chunks_that_a_run_created_are_not_counted_as_unchanged_by_its_next_pass() -> None:
    first = SyncReport(created=238, unchanged=938)
    assert first.then(SyncReport(unchanged=1176)).unchanged == 938
    assert first.then(SyncReport(created=1, unchanged=1176)).created == 239


def test_only_what_is_meant_is_counted(reader: Reader) -> None:
    figures = reader.open().evaluate(
        """async () => {
            const { figureOf } = await import(asset("search/search.js"));
            const [far, near] = [{ total: 236, doubt: "No passage is close." }, { total: 2 }];
            return [far, near].map((reply) => figureOf({ results: [1], ...reply }));
        }"""
    )
    assert figures == ["Only near in meaning", "2 files found"]


def test_a_wrong_filter_dims_the_results_and_is_explained_shortly(reader: Reader) -> None:
    reader.expected.append("400")
    page = reader.open("#/search?q=ferry")
    expect(page.locator(".result").first).to_be_visible()
    page.locator("#q").fill("ferry lang:klingon")
    note = page.locator(".search .note", has_text="lang cannot be")
    expect(note).to_contain_text("Did you mean kotlin?")
    assert len(note.inner_text()) < 200
    expect(page.locator(".results.old")).to_have_count(1)
    page.locator("#q").fill("ferry lang:python")
    expect(page.locator(".results.old")).to_have_count(0)


def test_back_after_the_first_search_stays_and_ask_takes_the_query_over(reader: Reader) -> None:
    page = reader.open()
    page.locator("#q").fill("ferry fares")
    expect(page.locator(".result").first).to_be_visible()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator("#question")).to_have_value("ferry fares")
    page.go_back()
    page.go_back()
    expect(page.locator("#q")).to_have_value("")
    expect(page.locator(".search .start")).to_be_visible()


def test_a_document_that_an_agent_writes_appears_in_the_open_view(reader: Reader, url: str, folder: Path) -> None:
    page = reader.open("#/knowledge")
    expect(page.locator(".papers .title", has_text="Alpha")).to_be_visible()

    write_document(url, folder, "tides")

    expect(page.locator(".papers .title", has_text="Tides")).to_be_visible()


def test_a_sync_that_does_not_change_a_result_keeps_what_is_selected_in_it(reader: Reader, folder: Path) -> None:
    page = reader.open("#/search?q=steer")
    expect(page.locator(".result").first).to_be_visible()
    reader.settled()
    page.locator(".result .where").first.select_text()
    with page.expect_response("**/api/documents/query"):
        write_project(folder, {"docs/weather.md": "# Weather\n\nRain from the west.\n"})
    reader.settled()
    assert "pilot.py" in page.evaluate("getSelection().toString()")


def test_the_theme_returns_to_that_of_the_system(reader: Reader) -> None:
    page = reader.open()
    for name in ("Use the dark theme", "Use the light theme", "Use the system's theme"):
        page.get_by_role("button", name=name).click()
    assert page.evaluate("[document.documentElement.dataset.theme ?? '', localStorage.length]") == ["", 0]
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()


def test_with_forced_colours_a_filter_looks_like_a_button_and_only_marked_lines_have_a_bar(reader: Reader) -> None:
    reader.page.emulate_media(forced_colors="active")
    page = reader.open("#/search?q=ferry")
    expect(page.locator(".folder").first).to_have_css("border-top-style", "solid")
    go(page, "#/source/sound/pilot.py?line=2")
    expect(page.locator("#L2.is-target")).to_be_visible()
    reader.settled()
    bars = page.evaluate("['#L1', '#L2'].map((id) => getComputedStyle(document.querySelector(id)).borderLeftColor)")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert bars[0] == ground != bars[1]
    go(page, "#/search?q=pilot")
    expect(page.locator(".excerpt.code").first).to_have_css("border-bottom-color", ground)


def test_every_target_on_a_phone_is_at_least_24_pixels_high(browser: Browser, url: str) -> None:
    with reading(browser, url, viewport=PHONE, has_touch=True) as reader:
        views = {
            "#/search?q=ferry": ".result", "#/ask?q=When does it cross?": ".citations li", "#/index": ".files td",
            "#/classes/Pilot": ".class-card .members", "#/health": ".verdict[data-status]",
            "#/source/sound/pilot.py?view=passages": ".chunk-head", "#/source/docs/ferry.md": "article h3",
            "#/knowledge": ".papers .title",
        }  # fmt: skip
        for fragment, content in views.items():
            page = reader.open(fragment)
            expect(page.locator(content).first).to_be_visible()
            reader.settled()
            assert page.evaluate(SMALL) == [], fragment

        page.keyboard.press("Control+k")
        page.keyboard.type("pilot")
        option = page.get_by_role("option").first
        expect(option).to_contain_text("sound/pilot.py")
        lefts = option.locator("span").evaluate_all("(parts) => parts.map((part) => part.getBoundingClientRect().left)")
        assert lefts[0] == lefts[1]  # the place is below the name, where both have room


def test_a_score_is_explained_by_keyboard_alone(reader: Reader) -> None:
    page = reader.open("#/search?q=ferry")
    page.locator("#q").press("Enter")
    expect(page.locator(".result .title").first).to_be_focused()
    page.keyboard.press("s")
    expect(page.locator(".why").first).to_contain_text(re.compile("score"))


def test_one_overlay_leads_to_views_symbols_and_searches(reader: Reader) -> None:
    page = reader.open("#/health")
    expect(page.locator(".sound summary")).to_have_text(re.compile(r"^All \d parts work\.$|^The other \d work"))
    page.keyboard.press("Control+k")
    page.keyboard.type("pilot")
    options = page.get_by_role("option")
    expect(options.first).to_have_text(re.compile("^Pilot"))
    assert barriers(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("pilot")
    expect(options.first).to_have_text(re.compile("^Pilot"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/source/sound/pilot\.py\?line="))
    expect(page.locator(".line.is-target").first).to_be_visible()

    page.keyboard.press("Control+k")
    page.keyboard.type("Moor")
    expect(options.first).to_have_text(re.compile("^moorsound/quay.py"))
    expect(options.nth(1)).to_have_text(re.compile("^moor.pysound/moor/moor.py"))
    page.locator("#jump").fill("")
    page.keyboard.type("kno")
    expect(options.first).to_have_text("Knowledgeview")
    expect(page.locator("#jump")).to_have_attribute("aria-activedescendant", "jump-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/knowledge$"))
