"""Search in the page: while typing, with the keyboard, with filters, with explained scores."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect

from tests.harness.browser import Reader, reading

NO_PAUSES = "performance.now = () => 1"
"""Results that are shown for some seconds count as read, which adds to the history: a busy machine types slowly."""


def found_files(page: Page) -> int:
    """Return the number of files that the page says it found."""
    return int(page.locator("#search-said").inner_text().split()[0].replace(",", ""))


def test_results_appear_while_typing_with_marked_words_and_an_updated_address(reader: Reader) -> None:
    reader.page.add_init_script(NO_PAUSES)
    page = reader.open()
    steps = page.evaluate("history.length")

    page.keyboard.type("graceful shutdown", delay=15)

    expect(page).to_have_url(re.compile(r"#/search\?q=graceful\+shutdown$"))
    expect(page.locator(".result").first).to_contain_text("docs/workers.md:57-66")
    for word in ("graceful", "shutdown"):
        expect(page.locator(".results mark", has_text=word).first).to_be_visible()
    assert page.evaluate("history.length") == steps + 1  # Back leads to the empty field
    expect(page.locator("#said")).to_contain_text("files found")


def test_the_start_page_shows_its_first_line(reader: Reader) -> None:
    page = reader.open()
    line = page.locator(".start > p")
    expect(line).to_contain_text("Search the guides")
    assert line.evaluate("""(line) => {
        const { left, top } = line.getBoundingClientRect();
        return document.elementFromPoint(left + 4, top + 8) === line;
    }""")


def test_code_below_an_excerpt_does_not_show_through(reader: Reader) -> None:
    page = reader.open("#/search?q=retry policy delay")
    box = page.locator(".excerpt.code").first
    expect(box).to_be_visible()
    shown = box.evaluate(
        "(box) => box.clientHeight - parseFloat(getComputedStyle(box.querySelector('pre')).paddingTop)"
    )
    line = box.locator("pre").evaluate("(pre) => parseFloat(getComputedStyle(pre).lineHeight)")
    assert shown <= 3 * line + 0.5


def test_the_reply_to_an_outdated_query_is_never_shown(reader: Reader) -> None:
    page = reader.open()
    pending: list[Route] = []

    def hold(route: Route) -> None:
        if "idempotent" in str(route.request.post_data):
            pending.append(route)
        else:
            route.continue_()

    page.route("**/documents/query", hold)

    with page.expect_request(lambda request: "idempotent" in str(request.post_data)):
        page.keyboard.type("idempotent")
    expect(page.locator(".results.old")).to_have_count(1)
    with page.expect_event("requestfailed", lambda request: "idempotent" in str(request.post_data)):
        page.locator("#q").fill("graceful shutdown")
    expect(page.locator(".result").first).to_contain_text("docs/workers.md")

    assert len(pending) == 1


def test_a_result_is_judged_for_the_question_that_it_answers_also_if_another_one_looks_the_same(reader: Reader) -> None:
    page = reader.open("#/search?q=graceful shutdown")
    expect(page.locator(".result").first).to_contain_text("docs/workers.md")
    with page.expect_response("**/documents/query"):
        page.locator("#q").fill("Graceful shutdown")
    reader.settled()

    with page.expect_request("**/api/insights/marks") as marked:
        page.locator(".result .judge").first.dispatch_event("click")  # it is shown on hover

    assert (marked.value.post_data_json or {})["query"] == "Graceful shutdown"


def test_old_results_stay_dimmed_until_new_results_arrive(reader: Reader) -> None:
    page = reader.open("#/search?q=graceful shutdown")
    expect(page.locator(".result").first).to_contain_text("docs/workers.md")
    pending: list[Route] = []
    page.route("**/documents/query", lambda route, _: pending.append(route))

    with page.expect_request("**/documents/query"):
        page.locator("#q").fill("thundering herd")
    expect(page.locator(".results.old[aria-busy=true] .result").first).to_contain_text("docs/workers.md")
    pending[-1].continue_()

    expect(page.locator(".result").first).to_contain_text("thundering", ignore_case=True)
    expect(page.locator(".results")).not_to_have_class(re.compile("old"))


def test_a_type_filters_the_results_and_is_part_of_the_address(reader: Reader) -> None:
    page = reader.open("#/search?q=worker")
    expect(page.locator(".result").first).to_be_visible()
    expect(page.locator(".chip", has_text="ticket")).to_contain_text(re.compile(r"\d+"))

    page.get_by_label(re.compile("^ticket")).check(force=True)
    expect(page).to_have_url(re.compile("type=ticket"))
    expect(page.locator(".result .type").first).to_have_text(re.compile("^ticket(, |$)"))
    page.reload()

    expect(page.locator(".result .type").first).to_have_text(re.compile("^ticket(, |$)"))
    assert {text.partition(",")[0] for text in page.locator(".result .type").all_text_contents()} == {"ticket"}


def test_several_types_can_be_chosen_and_their_chips_count_the_matches(reader: Reader) -> None:
    page = reader.open("#/search?q=worker")
    expect(page.locator(".result").first).to_be_visible()
    page.get_by_label(re.compile("^ticket")).check(force=True)
    page.get_by_label(re.compile("^src")).check(force=True)

    expect(page).to_have_url(re.compile("type=src%2Cticket"))
    expect(page.get_by_label(re.compile("^all"))).not_to_be_checked()
    page.reload()
    expect(page.locator(".result .type").first).to_be_visible()
    assert {text.partition(",")[0] for text in page.locator(".result .type").all_text_contents()} == {"ticket", "src"}
    figures = {name: page.locator(".chip", has_text=name).locator("small").inner_text() for name in ("src", "ticket")}
    assert found_files(page) >= sum(map(int, figures.values())) > 0

    page.get_by_label(re.compile("^all")).check(force=True)
    expect(page).not_to_have_url(re.compile("type="))


def test_a_click_on_a_folder_searches_in_it(reader: Reader) -> None:
    page = reader.open("#/search?q=worker")
    folder = page.locator(".folder", has_text=re.compile("^docs"))
    figure = folder.locator("small").inner_text()

    folder.click()

    expect(page.locator("#q")).to_have_value("worker path:docs/**")
    expect(page.locator(".results:not(.old) .result").first).to_be_visible()
    assert found_files(page) >= int(figure) > 0  # a search in a folder looks further down its list
    paths = page.locator(".result .path").all_text_contents()
    assert paths and all(path.startswith("docs/") for path in paths)
    expect(page.locator(".result mark").first).to_have_text(re.compile("worker", re.IGNORECASE))
    page.locator(".folder").first.click()
    expect(page.locator("#q")).to_have_value(re.compile(r"^worker path:docs/[^ ]+$"))


def test_languages_and_ages_count_the_files_found(reader: Reader) -> None:
    page = reader.open("#/search?q=worker")
    language = page.locator(".folder", has_text=re.compile(r"^\.py"))
    figure = int(language.locator("small").inner_text())
    ages = page.get_by_label("Age").locator("option").all_inner_texts()
    assert [re.sub(r"\d+", "", age) for age in ages[1:]] == [
        f"{name} ()" for name in ("today", "this week", "this month", "this year")
    ]
    language.click()
    expect(page.locator("#q")).to_have_value("worker lang:py")
    expect(page.locator(".results:not(.old) .result").first).to_be_visible()
    assert found_files(page) >= figure > 0


def test_the_search_box_explains_its_syntax_and_wrong_syntax(reader: Reader) -> None:
    reader.expected.append("400")
    page = reader.open("#/search")
    expect(page.locator(".syntax")).to_contain_text("exact phrase")

    page.locator("#q").fill('"graceful shutdown"')
    expect(page.locator(".result").first).to_contain_text("docs/workers.md")
    page.locator("#q").fill('"graceful shutdown" after:soon')
    expect(page.locator(".note.warn")).to_contain_text("`after` cannot be 'soon'".replace("`", ""))
    expect(page.locator(".result").first).to_contain_text("docs/workers.md")
    page.locator("#q").fill('"graceful shutdown" -worker path:docs')
    expect(page.locator(".note.warn")).to_have_count(0)


def test_a_score_is_explained_by_terms_that_add_up_to_it(reader: Reader) -> None:
    page = reader.open("#/search?q=graceful shutdown")
    button = page.locator("button.score").nth(1)

    button.click()

    panel = page.locator(".result").nth(1).locator(".why")
    expect(panel.locator("tfoot .figure")).to_be_visible()
    terms = panel.locator("tbody .figure").all_inner_texts()
    total = float(panel.locator("tfoot .figure").inner_text())
    assert len(terms) >= 3
    assert abs(sum(float(term.replace("−", "-")) for term in terms) - total) < 0.5
    expect(panel.locator(".steps")).to_contain_text(re.compile(r"The search took [\d.]+ ms: parse [\d.]+, embed "))
    expect(button).to_have_attribute("aria-expanded", "true")
    button.click()
    expect(panel).to_be_hidden()


def test_a_result_links_to_its_chunk_and_to_its_line_in_the_editor(reader: Reader, sample: Path) -> None:
    page = reader.open("#/search?q=graceful shutdown")
    result = page.locator(".result").first

    expect(result.locator("a.editor")).to_have_attribute("href", f"vscode://file{sample}/docs/workers.md:57")
    result.locator("a.title").click()

    expect(page).to_have_url(re.compile(r"#/source/docs/workers\.md\?line=57-66&chunk=[0-9a-f]+$"))
    expect(page.locator("h3[data-line='57'].is-target")).to_be_in_viewport()
    expect(page.locator("h3[data-line='57'].is-target")).to_have_text("Graceful shutdown")
    page.go_back()
    expect(page.locator("#q")).to_have_value("graceful shutdown")


def test_more_results_are_loaded_without_repetition(reader: Reader) -> None:
    page = reader.open("#/search?q=job")
    expect(page.locator(".result")).to_have_count(20)

    page.get_by_role("button", name="Load more").click()
    expect(page.locator(".result").nth(20)).to_be_visible()

    paths = page.locator(".result .title").evaluate_all("all => all.map((element) => element.href)")
    assert len(paths) == len(set(paths)) > 20
    expect(page.locator(".result").nth(20).locator(".title")).to_be_focused()


def test_a_question_that_the_index_does_not_answer_is_marked_as_doubtful(reader: Reader) -> None:
    page = reader.open("#/search?q=" + "a chocolate cake with strawberries and a retry")

    expect(page.locator(".note.warn").first).to_be_visible()


def test_a_question_about_nothing_in_the_index_has_no_results(reader: Reader) -> None:
    page = reader.open("#/search?q=" + "recipe for a chocolate cake with strawberries")

    expect(page.locator(".empty").first).to_contain_text("Nothing found.")
    expect(page.locator(".result")).to_have_count(0)


def test_the_keyboard_alone_is_enough_to_search_open_and_return(reader: Reader) -> None:
    page = reader.open("#/health")
    expect(page.locator(".verdict")).to_have_text("healthy")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("retry policy")
    expect(page.locator(".result").first).to_be_visible()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".result .title").nth(1)).to_be_focused()
    page.keyboard.press("s")
    expect(page.locator(".result").nth(1).locator(".why")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("section.source h1")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.locator(".result .title").nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#q")).to_be_focused()


def test_keys_open_the_editor_and_list_the_shortcuts(reader: Reader) -> None:
    page = reader.open("#/search?q=graceful shutdown")
    expect(page.locator(".result").first).to_be_visible()
    page.evaluate(
        """() => document.addEventListener("click", (event) => {
             const link = event.target.closest("a.editor");
             if (link) { event.preventDefault(); window.opened = link.href; }
           })"""
    )

    page.locator("#q").press("ArrowDown")
    expect(page.locator(".result .title").first).to_be_focused()
    page.keyboard.press("e")
    assert page.evaluate("window.opened").endswith("docs/workers.md:57")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page).to_have_url(re.compile("#/health$"))


def shows(page: Page, query: str) -> None:
    """Check that the page shows the results of this query."""
    expect(page.locator("#q")).to_have_value(query)
    expect(page).to_have_url(re.compile(f"q={query.replace(' ', r'[+]')}"))
    expect(page).to_have_title(re.compile(f"^{query} "))
    expect(page.locator(".results:not(.old) .result").first).to_be_visible()


def test_six_results_are_visible_in_a_window_of_900_pixels(browser: Browser, url: str) -> None:
    with reading(browser, url, viewport={"width": 1440, "height": 900}) as reader:
        for query in ("retry policy", "queue", "worker"):
            page = reader.open(f"#/search?q={query}")
            expect(page.locator(".results:not(.old) .result").nth(5)).to_be_visible()
            reader.settled()
            bottoms = page.evaluate(
                "[...document.querySelectorAll('.result .title')].map((row) => row.getBoundingClientRect().bottom)"
            )
            notes = page.locator(".notes:visible").all_inner_texts()
            assert sum(bottom <= 900 for bottom in bottoms) >= 6, (query, bottoms, notes)


def test_a_result_is_a_file_with_its_symbol_first_its_path_once_and_prose_of_at_most_75_characters(
    reader: Reader,
) -> None:
    page = reader.open("#/search?q=retry policy")
    code = page.locator(".result", has_text="ferry/retry.py:").first
    expect(code.locator("h2")).to_contain_text("RetryPolicy")
    expect(code.locator(".path", has_text="ferry/retry.py")).to_have_count(1)
    expect(code.locator(".further-passages a")).to_have_count(2)
    reader.settled()
    paths = page.locator(".result .where .path").all_text_contents()  # rows far below are not laid out
    assert len({path.partition(":")[0] for path in paths}) == len(paths)
    widths = page.locator(".excerpt:not(.code)").evaluate_all(
        """(all) => all.map((excerpt) => {
            const ruler = excerpt.appendChild(document.createElement("div"));
            ruler.style.width = "75ch";
            return excerpt.offsetWidth - ruler.offsetWidth;
        })"""
    )
    assert widths
    assert max(widths) <= 1


def test_back_returns_to_the_last_search_and_not_to_every_keystroke(reader: Reader) -> None:
    reader.page.add_init_script(NO_PAUSES)
    page = reader.open("#/search")
    steps = page.evaluate("history.length")
    for query in ("retry policy", "graceful shutdown", "thundering herd"):
        page.locator("#q").select_text()  # emptied, the field would be a step of its own after a pause
        page.locator("#q").press_sequentially(query)
        page.locator("#q").press("Enter")
        shows(page, query)
    assert page.evaluate("history.length") == steps + 3

    page.go_back()
    shows(page, "graceful shutdown")
    page.go_back()
    shows(page, "retry policy")
    page.go_forward()
    shows(page, "graceful shutdown")


def test_back_returns_to_an_earlier_search_and_its_selected_types(reader: Reader) -> None:
    reader.page.clock.install()
    page = reader.open("#/search")
    page.locator("#q").fill("retry policy")
    shows(page, "retry policy")
    page.clock.fast_forward(10_000)
    page.locator("#q").fill("worker")
    shows(page, "worker")
    page.get_by_label(re.compile("^ticket")).check(force=True)
    expect(page).to_have_url(re.compile("type=ticket"))

    page.go_back()
    shows(page, "worker")
    expect(page.get_by_label(re.compile("^all"))).to_be_checked()
    page.go_back()
    shows(page, "retry policy")


def test_a_link_followed_while_a_search_begins_is_not_undone(reader: Reader) -> None:
    page = reader.open("#/search")
    page.locator("#q").fill("backoff")
    expect(page.locator(".result").first).to_be_visible()

    page.evaluate("""() => {
        const field = document.querySelector("#q");
        field.value = "retry";
        location.hash = "#/index";
        field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    }""")

    expect(page.get_by_role("heading", name="Index", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile("#/index$"))


def test_escape_in_a_file_does_not_leave_the_page(reader: Reader) -> None:
    reader.expected.append("favicon.ico")  # browsers request it for files that are not pages
    reader.page.goto(f"{reader.url}/readyz")
    reader.page.goto("about:blank")
    page = reader.open("#/source/ferry/pool.py")
    expect(page.locator("#L1")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page).to_have_url(re.compile("#/search$"))


MARKS = [
    ("grid", "Grids, gridlock, my-grid; GridView, a_grid", ["Grids", "gridlock", "grid", "Grid", "grid"]),
    ("grids", "one Grid", ["Grid"]),
    ("retries", "retry, retried, retrying; retrievable", ["retry", "retried", "retrying"]),
    ("connection", "connect, connected; conned", ["connect", "connected"]),
    ("caching", "cache, caches; cat", ["cache", "caches"]),
    ("state", "states; the statue and a static station", ["states"]),
    ("Gridv", "GridView", ["GridView"]),
    ("the workers of it", "the worker works for it", ["worker"]),
    ("retryPolicy", "a policy to retry; retryPolicy", ["policy", "retry", "retryPolicy"]),
    ("HTTPServer", "an HTTP server", ["HTTP", "server"]),
    ("Größe", "die Größe, GRÖSSE; Gro\u0308\u00dfe", ["Größe", "Gro\u0308\u00dfe"]),
    ("настройка", "Настройка сервера", ["Настройка"]),
    ("ตะกร้า", "หยิบสินค้าใส่ตะกร้าสินค้า", ["ตะกร้า"]),
    ("检索", "向量检索很快", ["检索"]),
    ("検索エンジン", "全文検索エンジンの設定", ["検索", "エンジン"]),
    ("3.14", "python 3.14 in 2014", ["3", "14"]),
    ("<mark>", "a <mark> of it", ["mark"]),
]  # fmt: skip


def test_word_forms_of_the_query_are_marked_in_every_script(reader: Reader) -> None:
    page = reader.open()
    marked = page.evaluate(
        """async (cases) => {
          const { marked, wordsOf } = await import(asset("shared/parts.js"));
          return cases.map(([query, text]) => {
            const nodes = marked(text, wordsOf(query));
            const shown = nodes.map((node) => node.textContent ?? node).join("");
            return [shown === text, nodes.filter((node) => node.localName === "mark").map((node) => node.textContent)];
          });
        }""",
        [[query, text] for query, text, _ in MARKS],
    )

    assert dict(zip([query for query, _, _ in MARKS], marked, strict=True)) == {
        query: [True, marks] for query, _, marks in MARKS
    }
