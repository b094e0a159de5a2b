"""Read files: tickets and guides rendered, code in colour, lines to copy and to link to, and very long files."""

import re

from playwright.sync_api import Page, expect

from tests.harness.browser import Reader, barriers

OPTIONS = {"reduced_motion": "reduce"}
LONGEST = 3_000  # more than the page keeps, or colours at once
EVIL = '<img src=x onerror="document.title=1">'
TICKET = f"""---
id: 12
title: Buoys drift
state: CLOSED
labels: [hull, "{EVIL.replace('"', "'")}"]
assignees: [mkovac]
author: tnguyen
createdAt: 2025-09-22T08:14:00Z
closedAt: 2025-11-10T16:02:11Z
url: javascript:alert(1)
---
# Buoys drift

They drift {EVIL} with [the tide](javascript:alert(1)), see [the guide](../docs/guide.md#fares) and `buoys.py`.

### @mkovac - 2025-09-22T11:40:09Z

Anchored.
"""
GUIDE = "# Guide\n\nIt begins.\n\n" + "".join(f"## Part {n}\n\n" + f"Text of part {n}.\n\n" * 12 for n in range(1, 9))
CODE = '"""Buoys."""\n\n\nclass Buoy:\n    """A buoy <b>."""\n\n    def ring(self):\n\n        return "dong"\n'
BELL = "def toll(bell):\n" + "".join(
    f"    bell.swing({n})  # the clapper strikes the rim of the bell\n" for n in range(400)
)
LOG = "# Log\n\nOf the pilots.\n" + "".join(
    f"\n## Day {day}\n\nThe ferry crossed the sound at noon, the sea was calm.\n" for day in range(1, 2_001)
)
FILES = {
    "issues/issue-12.md": TICKET,
    "docs/bells.md": "# Bells\n\n## The `toll()` function\n\nThe clapper of a bell needs:\n\n- a rope\n\n- oil\n",
    "bell.py": BELL,
    "docs/guide.md": f"{GUIDE}## Fares\n\n```python\ndef fare():\n    return 1\n```\n",
    "docs/charter.md": "---\nowner: harbour\nreview: [may, june]\n---\n\n# Charter\n\nIt is signed.\n",
    "docs/log.md": LOG,
    "docs/pier.md": "![A picture](pier.png)\n\n# Pier\n\n## Steps\n\nThey are wet.\n",
    "buoys.py": CODE,
    "long.py": "buoys = [\n" + "    'the buoy of the sound is red and round',\n" * (LONGEST - 2) + "]\n",
}


def copied(page: Page, first: str, last: str) -> str:
    """Select from the beginning of one element to the end of another, copy, and return what is copied."""
    text: str = page.evaluate(
        """([first, last]) => {
            const range = document.createRange();
            range.setStart(document.querySelector(first), 0);
            range.setEnd(document.querySelector(last), document.querySelector(last).childNodes.length);
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            const event = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true });
            document.querySelector(first).dispatchEvent(event);
            return event.clipboardData.getData("text/plain");
        }""",
        [first, last],
    )
    return text


def test_a_ticket_is_shown_with_its_number_state_labels_people_and_dates(reader: Reader) -> None:
    page = reader.open("#/source/issues/issue-12.md")
    head = page.locator(".ticket-head")
    for text in ("#12", "closed", "hull", "by tnguyen", "assigned to mkovac", "opened 2025-09-22", "closed 2025-11-10"):
        expect(head).to_contain_text(text)
    article = page.locator("article.prose")
    expect(article.locator("h3")).to_have_text(re.compile("^mkovac 2025-09-22"))
    expect(article.get_by_role("link", name="the guide")).to_have_attribute(
        "href", "#/source/docs/guide.md?chapter=fares"
    )

    expect(article).to_contain_text(EVIL)
    assert page.locator("main img, main script, main [href^='javascript']").count() == 0
    assert barriers(page) == []
    page.get_by_role("link", name="Source").click()
    expect(page.locator("#L4")).to_contain_text("state: CLOSED")


def test_the_front_matter_of_a_guide_is_a_table_above_it(reader: Reader) -> None:
    page = reader.open("#/source/docs/charter.md")
    rows = page.get_by_role("table", name="Front matter").get_by_role("row")
    expect(rows).to_have_text(["ownerharbour", "reviewmay, june"])
    expect(page.locator("article.prose")).to_have_text(re.compile("It is signed"))
    assert barriers(page) == []


def test_a_guide_is_rendered_and_its_outline_follows_the_reader(reader: Reader) -> None:
    page = reader.open("#/source/docs/guide.md")
    article = page.locator("article.prose")
    expect(article.locator("h3", has_text="Part 4")).to_be_visible()
    expect(article.locator(".tok-k").first).to_have_text(re.compile("def"))

    article.locator("h3", has_text="Part 5").evaluate("(heading) => scrollTo(0, heading.offsetTop - 60)")
    expect(page.locator(".outline [aria-current=true]")).to_have_text("Part 5")
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator(".outline [aria-current=true]")).to_have_text("Guide")

    page.goto(f"{reader.url}/#/source/docs/guide.md?line=5-7")
    expect(article.locator(".is-target")).to_have_text(["Part 1", "Text of part 1."])
    expect(page.locator(".outline [aria-current=true]")).to_have_text("Part 1")


def test_the_outline_of_code_follows_the_reader(reader: Reader) -> None:
    page = reader.open("#/source/long.py")
    expect(page.locator("#L2 .tok-s")).to_be_visible()
    names = page.locator(".outline .quiet").all_inner_texts()
    page.evaluate("scrollTo(0, 40_000)")
    current = page.locator(".outline [aria-current=true] .quiet")
    expect(current).not_to_have_text(names[0])
    first, last = (int(number) for number in re.findall(r"\d+", str(current.text_content())))
    assert first <= 40_000 / 20 <= last + 60


def test_the_parts_of_a_long_function_are_one_row_of_the_outline(reader: Reader) -> None:
    page = reader.open("#/source/bell.py?line=300")
    row = page.locator(".outline a")
    expect(row).to_have_text(re.compile("toll.*1-401"))
    expect(row).to_have_attribute("aria-current", "true")


def test_headings_are_shown_once_and_without_the_marks_of_code(reader: Reader) -> None:
    page = reader.open("#/search?q=clapper of a bell needs a rope")
    result = page.locator(".result", has_text="docs/bells.md")
    expect(result.locator(".where")).to_contain_text("The toll() function")
    expect(result.locator(".excerpt")).not_to_contain_text("toll")

    page.goto(f"{reader.url}/#/ask?q=what does the clapper of a bell need")
    cited = page.locator(".citations > li", has_text="docs/bells.md")
    expect(cited.locator("h3")).to_contain_text("The toll() function")
    expect(cited.locator("blockquote")).not_to_contain_text("toll")
    assert cited.locator("blockquote li").first.evaluate("(row) => getComputedStyle(row).display") == "list-item"

    page.goto(f"{reader.url}/#/source/docs/pier.md")
    expect(page.locator(".source h1")).to_have_text("Pier")
    expect(page.locator("article.prose :is(h2, h3):not(.unseen)")).to_have_text(["Steps"])


def test_excerpts_of_code_begin_at_the_margin_and_keep_their_structure(reader: Reader) -> None:
    shown = reader.open().evaluate(
        """async (texts) => {
            const { nodesOfParts } = await import(asset("shared/parts.js"));
            const parts = texts.map((text) => ({ text, path: "hull.js" }));
            return (await nodesOfParts(parts)).map(([node]) => node.textContent.trimEnd());
        }""",
        ["…\n    if (a) {\n      b();\n\n    }\n…", "\tif (a) {\n\t\tb();\n\t}", "\tif (a)\n    b();", "a();\n  b();"],
    )
    assert shown == ["…\nif (a) {\n  b();\n\n}\n…", "if (a) {\n\tb();\n}", "\tif (a)\n    b();", "a();\n  b();"]


def test_imports_are_not_named_like_the_definition_after_them(reader: Reader) -> None:
    names = reader.open().evaluate(
        """async (rows) => {
            const { namesOf } = await import(asset("read/document.js"));
            return rows.map((row) => namesOf(...row));
        }""",
        [["imports", "hull", [1, 3]], ["module", "", [4, 4]], ["function", "hull > keelson", [5, 9]]],
    )
    assert names == [["imports", "1-3"], ["module", "4"], ["keelson", "function · 5-9"]]


def test_selected_lines_are_copied_as_they_are(reader: Reader) -> None:
    page = reader.open("#/source/buoys.py?view=passages")
    expect(page.locator(".chunk-head").first).to_be_visible()

    assert copied(page, "#L4 code", "#L9 code") == "\n".join(CODE.split("\n")[3:9])
    assert copied(page, ".lines", ".lines") == CODE.removesuffix("\n")


def test_lines_are_chosen_by_shift_and_by_drag_and_their_place_is_copied(reader: Reader) -> None:
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = reader.open("#/source/buoys.py")
    page.locator("#L4 .number").click()
    expect(page.locator("#L4")).to_have_class(re.compile("is-target"))
    page.locator("#L9 .number").click(modifiers=["Shift"])
    expect(page).to_have_url(re.compile(r"line=4-9$"))
    expect(page.locator(".line.is-target")).to_have_count(6)
    assert len(page.context.pages) == 2  # the profile's and this one: no window was opened

    for name, text in (("path:lines", "buoys.py:4-9"), ("code", "\n".join(CODE.split("\n")[3:9])), ("link", page.url)):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#said")).to_have_text(f"Copied the {name}.")
        assert page.evaluate("navigator.clipboard.readText()") == text

    page.locator("#L6 .number").hover()
    page.mouse.down()
    page.locator("#L8 .number").hover()
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"line=6-8$"))


def test_any_line_of_a_long_file_is_shown_at_once_with_few_elements(reader: Reader) -> None:
    page = reader.open("#/source/long.py?line=2900")
    expect(page.locator("#L2900.is-target")).to_be_in_viewport()
    expect(page.locator("#L2900 .tok-s")).to_have_text("'the buoy of the sound is red and round'")
    assert page.locator("main *").count() < 6_000
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    expect(page.locator(f"#L{LONGEST}")).to_be_in_viewport()
    page.goto(f"{reader.url}/#/source/long.py?line=20-22")
    expect(page.locator("#L20.is-target")).to_be_in_viewport()
    expect(page.locator(".line.is-target")).to_have_count(3)


def test_a_line_that_is_beyond_the_rendered_part_of_a_long_guide_is_shown_in_its_source(reader: Reader) -> None:
    rendered: list[str] = []
    reader.page.on("request", lambda request: rendered.append(request.post_data or ""))
    page = reader.open("#/source/docs/log.md?line=7600")
    expect(page.locator("#L7600.is-target")).to_be_in_viewport()
    expect(page.get_by_role("link", name="Source")).to_have_attribute("aria-current", "true")
    assert [len(body) for body in rendered if LOG[:20] in body] == [], "it was rendered before the line was shown"
    page.locator("#L7610 .number").click()
    expect(page.locator("#L7610.is-target")).to_be_in_viewport()

    page.goto(f"{reader.url}/#/source/docs/log.md?line=49-51")
    expect(page.locator("article.prose .is-target")).to_have_text(["Day 12", re.compile("noon")])
    page.goto(f"{reader.url}/#/source/docs/log.md?line=7600&view=rendered")
    expect(page.locator("article.prose > pre.is-target")).to_contain_text("## Day 2000")


def test_the_lines_of_a_guide_are_chosen_in_its_source(reader: Reader) -> None:
    page = reader.open("#/source/docs/guide.md?view=source")
    page.locator("#L5 .number").click()
    expect(page.locator("#L5.is-target")).to_be_visible()
    page.get_by_role("link", name="Passages").click()
    expect(page.locator(".chunk-head").first).to_be_visible()
    page.locator("#L7 .number").click()
    expect(page.locator("#L7.is-target")).to_be_visible()
    page.get_by_role("link", name="Rendered").click()
    expect(page.locator("article.prose > .is-target")).to_have_text("Text of part 1.")
