"""Test accessibility (axe-core), layout shifts, phones, both themes, and that no other host is contacted."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.browser import FONTS, PHONE, Reader, barriers, reading, wider_than_the_window
from tests.harness.trying import often

VIEWS = {
    "search": ("#/search?q=graceful shutdown", ".result"),
    "ask": ("#/ask?q=Why is SQLite the default store?", ".citations li"),
    "index": ("#/index", ".files td"),
    "classes": ("#/classes/ferry.pool.PoolWorker", ".class-card .members"),
    "document": ("#/source/ferry/pool.py?line=62", "#L62.is-target"),
    "insights": ("#/insights", ".insights-body .card"),
    "health": ("#/health", ".verdict[data-status]"),
}


def loaded(reader: Reader, name: str) -> Page:
    fragment, content = VIEWS[name]
    page = reader.open(fragment)
    expect(page.locator(content).first).to_be_visible()
    reader.settled()
    return page


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_loads_without_layout_shifts_and_is_accessible_in_both_themes(reader: Reader, name: str) -> None:
    page = loaded(reader, name)
    assert reader.shifts() == []
    assert barriers(page) == []

    page.emulate_media(color_scheme="dark")

    assert barriers(page, "color-contrast") == []


OFTEN = {"search", "document"}
"""The views with the most elements; the long run checks each of the others too."""

WORST = {("phone", "wide")}
"""The font that changes the number of lines most; the long run loads every font on both screens."""


@pytest.mark.parametrize(
    ("size", "font"),
    [
        pytest.param(size, font, marks=[] if (size, font) in WORST else [pytest.mark.long])
        for size in ("desk", "phone")
        for font in FONTS
    ],
)
def test_no_view_shifts_while_loading_with_any_font(browser: Browser, url: str, size: str, font: str) -> None:
    options = {"viewport": PHONE, "has_touch": True} if size == "phone" else {}
    with reading(browser, url, **options) as reader:
        reader.wear(font)
        for name in VIEWS:
            reader.page.goto("about:blank")
            loaded(reader, name)
            assert reader.shifts() == [], name


def test_axe_finds_no_barrier_in_dialogs_and_menus(reader: Reader) -> None:
    page = loaded(reader, "search")
    page.locator("button.score").first.click()
    expect(page.locator(".why tfoot").first).to_be_visible()
    assert barriers(page) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert barriers(page) == []
    page.keyboard.press("Escape")
    page.goto(f"{reader.url}/#/index")
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Delete…").click()
    assert barriers(page) == []


@pytest.mark.parametrize("name", often(VIEWS, OFTEN))
def test_a_phone_shows_each_view_without_scrolling_sideways(browser: Browser, url: str, name: str) -> None:
    with reading(browser, url, viewport=PHONE, has_touch=True) as reader:
        page = loaded(reader, name)

        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.locator(".nav a").evaluate_all("all => all.every((element) => element.offsetHeight >= 24)")
        assert barriers(page) == []
        assert reader.shifts() == []


def test_no_view_scrolls_sideways_from_320_to_1920_pixels_or_at_twice_the_size(browser: Browser, url: str) -> None:
    with reading(browser, url, viewport={"width": 640, "height": 800}, device_scale_factor=2) as reader:
        for name in VIEWS:
            assert wider_than_the_window(loaded(reader, name)) == [], name


@pytest.mark.parametrize("name", ["search", "ask", "document", "index"])
def test_what_is_read_is_printed_without_what_is_pressed(reader: Reader, name: str) -> None:
    page = loaded(reader, name)
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.locator(VIEWS[name][1]).first).to_be_visible()
    for control in (".top", ".ask-row", ".outline", ".on-demand", ".modes", ".button"):
        expect(page.locator(f"{control}:visible")).to_have_count(0)
    expect(page.locator("body")).to_have_css("background-color", "rgb(250, 250, 248)")


FORCED = {
    "search": {
        ".nav a[aria-current]": "element.removeAttribute('aria-current')",
        ".chip:has(:checked)": "element.querySelector('input').checked = false",
        ".result h2:has(mark)": "element.querySelectorAll('mark').forEach((m) => m.replaceWith(...m.childNodes))",
        ".result >> nth=1": "document.activeElement.blur()",
    },
    "ask": {".citations li.is-target": "element.classList.remove('is-target')"},
    "index": {
        ".type-bars": "element.querySelector('.bar').style.setProperty('--share', '.1')",
        ".button.primary": "element.classList.remove('primary')",
    },
    "classes": {".row[aria-selected=true]": "element.setAttribute('aria-selected', 'false')"},
    "document": {
        ".line.is-target": "element.classList.remove('is-target')",
        ".outline a[aria-current=true]": "element.setAttribute('aria-current', 'false')",
    },
    "health": {".verdict": "element.dataset.status = 'unhealthy'"},
}
"""Selectors of the elements with a state in each view, and scripts that remove the state."""


@pytest.mark.parametrize("name", often(FORCED, OFTEN))
def test_every_state_is_visible_with_forced_colours(reader: Reader, name: str) -> None:
    reader.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    page = loaded(reader, name)
    if name == "search":
        page.locator(".result .title").nth(1).focus()
    if name == "ask":
        page.locator(".answer a.cite").first.click()
        expect(page.locator(".citations li.is-target")).to_be_focused()
        page.evaluate("document.activeElement.blur()")
    for selector, script in FORCED[name].items():
        element = page.locator(selector).first
        element.scroll_into_view_if_needed()
        box = element.bounding_box()
        assert box is not None
        # include outlines; an element without its state may no longer match the selector
        clip = {"x": box["x"] - 16, "y": box["y"] - 4, "width": box["width"] + 20, "height": box["height"] + 8}
        before = page.screenshot(clip=clip)  # type: ignore[arg-type]
        element.evaluate(f"(element) => {{ {script} }}")
        assert page.screenshot(clip=clip) != before, selector  # type: ignore[arg-type]


def test_states_of_the_index_look_different_with_forced_colours(reader: Reader) -> None:
    reader.page.emulate_media(forced_colors="active", reduced_motion="reduce")
    page = loaded(reader, "health")
    # the page must not show the real state between a change and its picture
    page.evaluate("document.addEventListener('lore:state', (event) => event.stopImmediatePropagation(), true)")
    seen = {}
    for state in ("unknown", "fresh", "stale", "failed", "running"):
        page.locator(".pill").evaluate("(element, state) => (element.dataset.state = state)", state)
        seen[page.locator(".pill .dot").screenshot()] = state
    assert len(seen) == 5
    for kind in ("info", "warn", "bad"):
        page.locator(".sound").evaluate("(element, kind) => (element.className = `sound note ${kind}`)", kind)
        seen[page.screenshot()] = kind
    assert len(seen) == 8


def test_the_selected_theme_is_remembered(reader: Reader) -> None:
    page = reader.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)

    page.get_by_role("button", name="Use the dark theme").click()
    dark = page.evaluate(ground)
    page.reload()

    assert dark != light
    assert page.evaluate(ground) == dark
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()


def test_the_focus_is_visible_and_a_link_skips_to_the_content(reader: Reader) -> None:
    page = reader.open("#/health")
    expect(page.locator(".verdict[data-status]")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")

    focused = page.get_by_role("button", name="Check again")
    expect(focused).to_be_focused()
    assert focused.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"


def test_the_content_security_policy_blocks_foreign_content(reader: Reader) -> None:
    reader.expected += ["Content Security Policy", "foreign request"]
    page = reader.open()

    ran = page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          const asked = await fetch("https://example.org/").then(() => true, () => false);
          return [window.ran === true, asked];
        }"""
    )

    assert ran == [False, False]


def test_the_modules_of_the_page_never_turn_text_into_markup() -> None:
    web = Path(__file__).parents[2] / "server" / "lore_server" / "web"
    modules = sorted(web.rglob("*.js"))

    assert len(modules) > 20
    for module in modules:
        text = module.read_text(encoding="utf-8")
        assert not any(
            word in text for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
        )
        assert len(text.splitlines()) <= 500, module.name  # few modules, because each of the first view is a request
    assert " style=" not in (web / "index.html").read_text(encoding="utf-8")
