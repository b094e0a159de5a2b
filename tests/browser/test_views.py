"""Test the class tree, a file with its chunks, the health view, deep links and errors."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from lore_etl.core.errors import LoreError
from tests.harness.browser import Reader, barriers, reading
from tests.harness.commands import run_lore
from tests.harness.evaluation import commit
from tests.harness.interfaces import serving
from tests.harness.projects import write_project

LOOK = """() => Object.fromEntries(
    [...document.querySelectorAll(".view:not([hidden]) [class], .view:not([hidden]) h2")].map((node) => {
        const { color, display, fontSize, fontWeight, lineHeight, padding, textAlign } = getComputedStyle(node);
        const path = `${node.parentElement.className} > ${node.localName}.${node.className}`;
        return [path, [color, display, fontSize, fontWeight, lineHeight, padding, textAlign].join(" ")];
    }),
)"""
VIEWS = {
    "#/knowledge": ".papers .title", "#/index": ".files td", "#/classes/Worker": ".class-card .members",
    "#/health": ".verdict[data-status]", "#/insights": ".insights-body .card", "#/ask?q=retries": ".citations li",
    "#/source/ferry/retry.py": ".line .tok-k", "#/search?q=retries": ".result",
}  # fmt: skip


def test_a_view_looks_the_same_whichever_views_were_open_before(browser: Browser, url: str) -> None:
    def look(reader: Reader, fragment: str) -> dict[str, str]:
        page = reader.page
        page.evaluate("(fragment) => (location.hash = fragment)", fragment)
        expect(page.locator(VIEWS[fragment]).locator("visible=true").first).to_be_visible()
        reader.settled()
        found: dict[str, str] = page.evaluate(LOOK)
        return found

    first = {}
    for fragment in VIEWS:
        with reading(browser, url) as reader:
            reader.open("#/search")
            first[fragment] = look(reader, fragment)
    with reading(browser, url) as reader:
        reader.open("#/search")
        for fragment in VIEWS:
            look(reader, fragment)
        for fragment, before in first.items():
            after = look(reader, fragment)
            assert {
                path: (style, after[path]) for path, style in before.items() if after.get(path, style) != style
            } == {}


def test_the_class_tree_opens_by_keyboard_and_shows_ancestors_members_and_subclasses(reader: Reader) -> None:
    page = reader.open("#/classes")
    tree = page.get_by_role("tree")
    expect(page.get_by_role("treeitem").first).to_be_visible()

    tree.focus()
    # letters are combined only if they are typed quickly, which a busy machine does not guarantee
    tree.evaluate(
        "(element) => [...'wor'].forEach((key) => element.dispatchEvent(new KeyboardEvent('keydown', { key })))"
    )
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"#/classes/ferry\.pool\.PoolWorker$"))
    card = page.locator(".class-card")
    expect(card.locator("h2")).to_have_text("PoolWorker")
    assert card.locator(".chain li").all_inner_texts() == ["Worker", "PoolWorker"]
    expect(card).to_contain_text("_collect")
    expect(card.locator(".members").get_by_role("link", name="ThreadWorker")).to_be_visible()
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("PoolWorker")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem", selected=True)).to_have_attribute("aria-expanded", "false")


def test_the_class_tree_is_no_higher_than_its_rows(reader: Reader) -> None:
    page = reader.open("#/classes")
    expect(page.locator(".row").first).to_be_visible()
    page.get_by_label("Filter classes").fill("RetryPolicy")
    page.wait_for_function("document.querySelector('.tree').clientHeight < 400")
    assert page.locator(".tree").evaluate("(tree) => tree.clientHeight - tree.firstChild.clientHeight") <= 60


def test_the_filtered_class_tree_keeps_the_ancestors(reader: Reader) -> None:
    page = reader.open("#/classes")
    page.locator("#class-filter").fill("threadworker")

    expect(page.locator(".said:visible")).to_have_text(re.compile(r"^1 of \d+ classes$"))
    names = page.locator(".row .name").all_inner_texts()
    assert names == ["Worker", "PoolWorker", "ThreadWorker"]


def test_every_triangle_of_the_filtered_tree_opens_and_closes_a_branch(reader: Reader) -> None:
    page = reader.open("#/classes")
    page.locator("#class-filter").fill("worker")
    rows = page.get_by_role("treeitem")
    expect(rows.first).to_be_visible()
    names = rows.all_inner_texts()
    triangles = page.locator(".row .twist:not(.none)")
    assert triangles.count() == page.locator(".row[aria-expanded]").count() > 1

    for number in range(triangles.count()):
        name = page.locator(".row:has(.twist:not(.none))").nth(number).locator(".name").inner_text()
        row = page.locator(".row", has=page.locator(".name", has_text=re.compile(f"^{name}$")))
        expect(row).to_have_attribute("aria-expanded", "true")
        row.locator(".twist").click()
        expect(row).to_have_attribute("aria-expanded", "false")
        assert rows.count() < len(names)
        row.locator(".twist").click()
        expect(rows).to_have_text([name.replace("\n", "") for name in names])


def test_enter_in_the_class_filter_opens_the_typed_class(reader: Reader) -> None:
    page = reader.open("#/classes")
    expect(page.get_by_role("treeitem").first).to_be_visible()
    for typed, name in (("threadw", "ThreadWorker"), ("poolworker", "PoolWorker"), ("worker", "Worker")):
        page.locator("#class-filter").fill(typed)
        expect(page.locator(".row.is-active .name")).to_have_text(name)
        page.locator("#class-filter").press("Enter")
        expect(page.locator(".class-card h2")).to_have_text(name)
        expect(page.get_by_role("treeitem", selected=True).locator(".name")).to_have_text(name)

    page.locator("#class-filter").fill("worker")
    page.locator("#class-filter").press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = page.locator(".row.is-active .name").inner_text()
    page.keyboard.press("Enter")
    expect(page.locator(".class-card h2")).to_have_text(second)


def test_a_member_links_to_its_line(reader: Reader) -> None:
    page = reader.open("#/classes/Worker")

    page.locator(".members").get_by_role("link", name=re.compile(r"\bsettle\(")).click()

    expect(page).to_have_url(re.compile(r"#/source/ferry/worker\.py\?line=99-115&chunk="))
    expect(page.locator("#L99")).to_contain_text("def settle")


def test_a_tree_of_thousands_of_classes_renders_only_a_few_rows(browser: Browser, tmp_path: Path) -> None:
    text = "class Base:\n    pass\n\n\n" + "\n\n".join(f"class Kind{n:04}(Base): pass" for n in range(1500))
    project = write_project(tmp_path / "many", {"kinds.py": text})
    run_lore(
        "--no-daemon",
        "call",
        "manage_knowledge_base",
        "--json-args",
        '{"action": "create", "wait_seconds": 600}',
        cwd=project,
    )
    with serving(project) as url, reading(browser, url) as reader:
        reader.expected += ["409"]  # there is no index
        page = reader.open("#/classes/kinds.Kind1234")

        expect(page.locator(".said:visible")).to_have_text("1,501 classes")
        expect(page.get_by_role("treeitem", selected=True)).to_contain_text("Kind1234")
        expect(page.get_by_role("treeitem", selected=True)).to_be_in_viewport()
        assert page.get_by_role("treeitem").count() < 100
        page.get_by_role("tree").press("End")
        expect(page.locator(".row.is-active")).to_contain_text("Kind1499")
        expect(page.locator(".row.is-active")).to_be_in_viewport()


def test_a_file_is_shown_with_its_chunks_marked(reader: Reader) -> None:
    page = reader.open("#/source/ferry/pool.py?line=62&view=passages")

    heads = page.locator(".chunk-head")
    expect(heads.first).to_be_visible()
    assert heads.count() == page.locator(".outline li").count() > 5
    expect(page.locator(".chunk-head", has_text="PoolWorker › _fill")).to_contain_text("method")
    expect(page.locator("#L62.is-target")).to_be_in_viewport()
    expect(page.locator(".outline a[aria-current=true]")).to_contain_text("_fill")
    expect(page.locator(".file-head a.editor")).to_have_attribute("href", re.compile(r"ferry/pool\.py:62$"))

    page.locator(".outline a", has_text="_shut").first.click()

    expect(page).to_have_url(re.compile("chunk="))
    expect(page.locator(".chunk-head.is-target")).to_contain_text("_shut")


def test_the_history_of_a_file_or_of_the_lines_of_a_member_is_shown_with_its_tickets(
    browser: Browser, tmp_path: Path
) -> None:
    project = write_project(
        tmp_path / "harbour", {"retry.py": RETRY, "issues/issue-12.md": "# The delay overflows\n\nAfter 60 attempts.\n"}
    )
    commit(project, "Add retries")
    write_project(project, {"retry.py": RETRY.replace("2**", "min(60, 2)**")})
    commit(project, "Cap the delay\n\nFixes #12")
    with serving(project) as url, reading(browser, url) as reader:
        run_lore("sync", cwd=project)
        page = reader.open("#/source/retry.py")
        page.get_by_role("button", name="History").click()
        panel = page.locator(".file-history")
        expect(panel.locator("h2")).to_have_text("History of this file")
        expect(panel.locator("strong")).to_have_text(["Cap the delay", "Add retries"])
        expect(panel.get_by_role("link")).to_have_text("closes #12: issue-12: The delay overflows")
        assert barriers(page) == []

        page.goto(f"{url}/#/source/retry.py?line=5-6")
        expect(panel.locator("h2")).to_have_text("History of lines 5-6")
        expect(panel.locator("strong")).to_have_text(["Add retries"])

        panel_of_file = page.get_by_role("button", name="History")
        panel_of_file.click()
        expect(panel).to_be_hidden()
        page.goto(f"{url}/#/classes/retry.Retry")
        page.locator(".class-card .members a", has_text="delay").click()
        page.get_by_role("button", name="History").click()
        expect(panel.locator("strong")).to_have_text(["Cap the delay", "Add retries"])
        panel.get_by_role("link").first.click()
        expect(page).to_have_url(re.compile(r"issues/issue-12\.md$"))
        expect(panel).to_be_hidden()
        page.get_by_role("button", name="History").click()
        expect(panel.locator("strong")).to_contain_text(["Cap the delay"])


RETRY = """\
class Retry:
    def delay(self, attempt: int) -> int:
        return 2**attempt

    def limit(self) -> int:
        return 5
"""
BODY = "".join(f"        self.total_{n} = self.compute_the_total_of_everything(number={n}) + {n}\n" for n in range(8))
LONG = "class Outer:\n" + "".join(f"    def step_{n:02}(self):\n{BODY}\n" for n in range(60))
"""A class with many methods from line 2 on, each of ten lines of which the last is empty."""


def test_the_outline_shows_the_innermost_chunk_of_the_target_line(browser: Browser, tmp_path: Path) -> None:
    project = write_project(tmp_path / "long", {"long.py": LONG})
    with serving(project) as url, reading(browser, url) as reader:
        run_lore("sync", cwd=project)
        page = reader.open("#/source/long.py")
        expect(page.locator(".outline li").nth(59)).to_be_attached()
        current = page.locator(".outline a[aria-current=true]")
        for number in (56, 1, 30, 58):
            line, name = 2 + 10 * number + 9, f"step_{number:02}"  # the empty line after the method
            page.goto(f"{url}/#/source/long.py?line={line}")
            expect(page.locator(f"#L{line}.is-target")).to_be_in_viewport()
            expect(current).to_have_count(1)
            expect(current).to_contain_text(name)
            expect(current).to_be_in_viewport()  # the outline scrolls too


def test_deep_links_survive_reload_back_and_forward(reader: Reader) -> None:
    page = reader.open("#/classes/ferry.worker.Worker")
    expect(page.locator(".class-card h2")).to_have_text("Worker")
    page.reload()
    expect(page.locator(".class-card h2")).to_have_text("Worker")
    page.get_by_role("link", name="Health").click()
    expect(page).to_have_title(re.compile("^Health · "))
    page.go_back()
    expect(page.locator(".class-card h2")).to_have_text("Worker")
    page.go_forward()
    expect(page.locator(".nav [aria-current=page]")).to_have_text("Health")


def test_health_names_each_part_with_its_state(reader: Reader) -> None:
    page = reader.open("#/health")

    expect(page.locator(".verdict")).to_have_text("healthy")
    assert page.locator(".checks li").count() >= 7
    expect(page.locator(".checks li", has_text="Embedding model")).to_contain_text("all-MiniLM-L6-v2")
    page.get_by_role("button", name="Check again").click()
    expect(page.locator("#said")).to_contain_text("healthy")


def test_a_missing_target_is_reported_with_advice(reader: Reader) -> None:
    reader.expected += ["404"]
    page = reader.open("#/source/docs/nowhere.md")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("DOCUMENT_NOT_FOUND")
    expect(alert).to_contain_text("Search for it")

    page.goto(f"{reader.url}/#/source/docs/worker.md")
    expect(alert).to_contain_text("Did you mean docs/workers.md")
    alert.get_by_role("link", name="docs/workers.md").click()
    expect(page.locator("article.prose h3").first).to_be_visible()
    page.goto(f"{reader.url}/#/classes/Wroker")
    alert.get_by_role("link", name="ferry.worker.Worker").click()
    expect(page.locator(".class-card h2")).to_have_text("Worker")


def test_every_error_has_advice_for_a_reader_of_the_page(reader: Reader) -> None:
    kinds = [LoreError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    page = reader.open()
    advice = page.evaluate(
        """async (errors) => {
          const { adviceOf } = await import(asset("shared/parts.js"));
          return errors.map((error) => [error.code, adviceOf(error)]);
        }""",
        [{"code": kind.code, "hint": kind.default_hint} for kind in kinds] + [{"code": "NO_ANSWER"}],
    )

    unknown = page.evaluate("import(asset('shared/parts.js')).then(({ adviceOf }) => adviceOf({ code: '?' }))")
    for code, text in advice:
        assert text != unknown, code
        assert not re.search(r"`|--|=true|\blore \w|lore\.toml|\bcall\b|_", text), (code, text)


def test_a_server_that_does_not_answer_is_reported_and_can_be_retried(reader: Reader) -> None:
    reader.expected += ["ERR_INTERNET_DISCONNECTED"]
    page = reader.open("#/search?q=graceful shutdown")
    expect(page.locator(".result").first).to_be_visible()
    page.context.set_offline(True)

    page.locator("#q").fill("retry policy")
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()

    expect(page.locator(".result").first).to_be_visible()
