"""What a person does with the page all day: read beside results, see what an agent sees, review what agents wrote."""

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness import http_client
from tests.harness.browser import Reader, barriers, go, reading, unreachable, write_document
from tests.harness.commands import run_lore, synced_project
from tests.harness.evaluation import git
from tests.harness.hostile import SECRETS
from tests.harness.interfaces import bearer, serving
from tests.harness.projects import write_project
from tests.harness.stdio import StdioClient

WIDE = {"width": 1440, "height": 900}
OPTIONS = {"viewport": WIDE}
CREW = '''"""The crew."""


class Sailor:
    """Works on deck."""

    def rest(self, hours: int) -> None:
        print(hours)
'''
PILOT = '''from sound.crew import Sailor


class Pilot(Sailor):
    """Steers the ferry."""

    def steer(self, course: int = 0) -> str:
        return "ferry"
'''
FILES = {
    "docs/ferry.md": "# Ferry\n\nThe ferry crosses the sound at noon.\n\n## Fares\n\nThe ferry is free, see `Pilot`.\n",
    "docs/harbour.md": "# Harbour\n\nThe ferry waits in the harbour.\n",
    "docs/speed.md": "# Speed\n\nThe default speed is twelve knots, because more makes waves in the harbour.\n",
    "docs/keys.md": f"# Keys\n\nThe key is {SECRETS['aws']}.\n",
    "sound/crew.py": CREW,
    "sound/pilot.py": PILOT,
    "sound/bridge.py": "from sound.pilot import Pilot\n\npilot = Pilot()\npilot.steer(90)\n",
    "data/raw.bin": "x",
    "PRPs/executed/PRP-1-gates.md": "# PRP-1: Gates\n\nFour gates.\n\n**File:** `sound/gates.py`\n",
}  # fmt: skip
BY_HAND = {"lore.toml": "[owner]\nauto_sync_files = 0\n"}
DOCUMENTS = ("alpha",)
WHY = "why twelve knots by default"
COUNTING = """() => {
  window.effort = { clicks: 0, keys: 0 };
  addEventListener("pointerdown", () => (window.effort.clicks += 1), true);
  addEventListener("keydown", () => (window.effort.keys += 1), true);
}"""
QUESTION = "When does the ferry cross the sound?"
OF_COLOURS = ("color-contrast", "link-in-text-block")  # the rules of axe whose outcome depends on colours


def search(reader: Reader, query: str) -> Page:
    page = reader.open(f"#/search?q={query}")
    expect(page.locator(".result").first).to_be_visible()
    return page


def test_a_file_is_read_beside_the_results_which_stay(reader: Reader) -> None:
    page = search(reader, "ferry")
    titles = page.locator(".result .title")
    titles.first.click()
    expect(page.locator(".reading h1")).to_be_visible()
    expect(page).to_have_url(re.compile("#/search.*open="))
    expect(titles.first).to_have_attribute("aria-current", "true")
    assert barriers(page) == []

    titles.first.focus()
    page.keyboard.press("ArrowDown")
    expect(titles.nth(1)).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".reading")).to_be_hidden()
    page.go_back()
    expect(page.locator(".reading")).to_be_visible()


def test_the_box_completes_filters_and_remembers_searches(reader: Reader) -> None:
    page = search(reader, "ferry")
    box = page.locator("#q")
    box.fill("ferry lang:py")
    expect(page.locator("#q-completions option")).to_have_js_property("value", "ferry lang:python")
    page.get_by_label("Age").select_option(index=3)
    expect(box).to_have_value(re.compile(r"after:\d{4}-\d\d-\d\d$"))
    box.fill("harbour")
    box.blur()
    box.fill("har")
    expect(page.locator("#q-completions option")).to_have_js_property("value", "harbour")


def test_the_reply_that_an_agent_gets_is_shown_with_its_tokens_and_as_a_call(reader: Reader) -> None:
    page = search(reader, "ferry")
    page.get_by_role("button", name="As an agent sees it").click()
    panel = page.locator(".agent-panel:visible")
    expect(panel).to_contain_text(re.compile(r"these \d+ tokens"))
    expect(panel.get_by_label("Reply", exact=True)).to_contain_text("docs/ferry.md")
    expect(panel.get_by_label("tool call", exact=True)).to_contain_text('"name": "query_documents"')
    expect(panel.get_by_label("curl", exact=True)).to_contain_text("/api/documents/query")


def test_a_citation_shows_its_passage_and_a_pinned_question_is_checked_on_the_start_page(reader: Reader) -> None:
    page = reader.open(f"#/ask?q={QUESTION}")
    page.locator(".answer a.cite").first.hover()
    expect(page.locator(".hover-card")).to_contain_text("crosses the sound at noon")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Unpin", exact=True)).to_be_visible()
    go(page, "#/search")
    pins = page.locator(".news section", has_text="Pinned questions")
    expect(pins).to_contain_text("same source")
    expect(page.locator(".news section", has_text="Your last questions")).to_contain_text(QUESTION)
    assert barriers(page) == []


def test_four_clicks_and_a_key_review_two_documents_of_today_and_revert_one(
    reader: Reader, url: str, folder: Path
) -> None:
    page = reader.open("#/search")
    page.evaluate(COUNTING)
    news = page.locator(".news section", has_text="Written by agents")
    expect(news).to_be_visible()
    write_document(url, folder, "tides", introduction="The tide is high at noon.")
    write_document(url, folder, "winds", introduction="The wind is calm.")
    expect(news).to_contain_text("winds.md")

    news.get_by_role("link", name=re.compile("winds")).click()
    expect(page.locator(".changes")).to_contain_text("The wind is calm.")
    page.keyboard.press("Escape")
    page.locator(".commits").get_by_role("link", name=re.compile("tides")).first.click()
    expect(page.locator(".changes")).to_contain_text("The tide is high at noon.")
    page.get_by_role("button", name="Revert…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True).click()

    expect(page.locator(".notes:visible")).to_contain_text("Reverted")
    assert page.evaluate("effort") == {"clicks": 4, "keys": 1}
    go(page, "#/knowledge")
    expect(page.locator(".papers .title", has_text="Winds")).to_be_visible()
    expect(page.locator(".papers .title", has_text="Tides")).to_have_count(0)


def test_a_question_that_found_nothing_is_on_the_start_page(reader: Reader, url: str) -> None:
    question = "Which licence does the lighthouse of Atlantis need?"
    http_client.post(f"{url}/api/knowledge/ask", json={"query": question}).raise_for_status()
    page = reader.open("#/search")
    unanswered = page.locator(".news section", has_text="Questions without an answer")
    expect(unanswered.get_by_role("link", name=question)).to_be_visible()


@pytest.fixture(scope="module")
def canal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an indexed project with a decision of today."""
    day = datetime.date.today().isoformat()
    files = {
        "docs/adr/0001-gates.md": f"---\ndate: {day}\n---\n\n# Use four gates\n\nThe number was updated.\n",
        "docs/adr/0002-locks.md": "---\ndate: 2024-02-01\n---\n\n# Use one lock\n\nThe number was updated.\n",
        "src/barge.ts": "export interface Mover {}\n\nexport class Barge implements Mover {\n  move() {}\n}\n",
    }  # fmt: skip
    return synced_project(tmp_path_factory.mktemp("today") / "canal", files, "--no-daemon")


@pytest.fixture(scope="module")
def today(canal: Path) -> Iterator[str]:
    with serving(canal) as url:
        yield url


def test_what_is_dated_since_yesterday_is_on_the_start_page(browser: Browser, today: str) -> None:
    with reading(browser, today) as reader:
        dated = reader.open("#/search").locator(".news section", has_text="Dated since yesterday")

        expect(dated.get_by_role("link")).to_have_text(["Use four gates"])


def test_a_class_leads_to_the_interface_that_it_implements(browser: Browser, today: str) -> None:
    with reading(browser, today) as reader:
        page = reader.open("#/classes/Barge")
        page.locator(".class-card h3", has_text="Implements").locator("+ ul a").click()

        expect(page.locator(".class-card h2")).to_have_text("Mover")
        expect(page.locator(".class-card")).to_contain_text("Barge")


def test_health_counts_the_agents_that_are_connected(browser: Browser, canal: Path, today: str) -> None:
    with reading(browser, today) as reader, StdioClient(canal) as agent:
        agent.call("query_documents", query="gates")
        connected = reader.open("#/health").locator("dl div", has_text="Connected").locator("dd")

        expect(connected).to_have_text("1")


def test_a_memory_is_in_the_timeline_with_a_way_to_revert_it(reader: Reader, url: str, folder: Path) -> None:
    memory = {"name": "tide-table", "body": "The tide table of the sound is wrong in May."}
    http_client.post(f"{url}/api/memories", json=memory, headers=bearer(folder)).raise_for_status()
    page = reader.open("#/search")
    page.locator(".news section", has_text="Written by agents").get_by_role("link", name="tide-table").click()
    expect(page.locator(".diff-line.added", has_text="wrong in May")).to_be_visible()

    page.get_by_role("button", name="Revert…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True).click()

    expect(page.locator(".notes:visible")).to_contain_text("Reverted")
    found = http_client.post(f"{url}/api/memories/search", json={"query": "tide table of the sound"}).json()
    assert memory["name"] not in [result["name"] for result in found["results"]]


def test_the_storage_of_knowledge_shows_its_state_and_is_synchronized(browser: Browser, tmp_path: Path) -> None:
    project, home, remote = (
        write_project(tmp_path / "depot", {"a.md": "# A\n"}),
        tmp_path / "home",
        tmp_path / "far.git",
    )
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    with serving(project, LORE_HOME=str(home)) as url, reading(browser, url) as reader:
        reader.expected += ["409"]  # there is no index
        write_document(url, project, "alpha")
        git(home, "remote", "add", "origin", str(remote))
        page = reader.open("#/knowledge")
        storage = page.locator(".storage")
        expect(storage).to_contain_text("main")
        storage.get_by_role("button", name="Sync").click()
        expect(page.locator("#said")).to_contain_text("synchronized")
        assert git(remote, "log", "--format=%s", "main") == git(home, "log", "--format=%s")


def test_the_index_shows_the_last_builds_and_what_was_left_out(reader: Reader, folder: Path) -> None:
    page = reader.open("#/index")
    builds = page.locator(".builds tbody tr")
    expect(builds.first).to_contain_text("ago")
    before = builds.count()
    left_out = page.locator("section.card", has=page.locator(".left-out"))
    expect(left_out).to_contain_text(".bin")
    expect(left_out).not_to_contain_text("warning")
    page.get_by_role("button", name="sound/").click()
    expect(page.locator(".files tbody")).to_contain_text("pilot.py")
    write_project(folder, {"docs/new.md": "# New\n\nA new guide.\n"})
    expect(builds).to_have_count(before + 1)
    assert barriers(page) == []


def test_passages_that_nearly_repeat_each_other_are_found_on_request_and_joined_by_their_files(
    browser: Browser, tmp_path: Path
) -> None:
    chapters = [" ".join(f"Step {n + part} moors the boat at berth {n}." for n in range(12)) for part in (0, 50)]
    guide = f"# Mooring\n\n## By day\n\n{chapters[0]}\n\n## By night\n\n{chapters[1]}\n"
    files = {**BY_HAND, "new/mooring.md": guide, "old/mooring.md": guide.replace("berth 3.", "pier 3.")}
    project = synced_project(tmp_path / "depot", files, "--no-daemon")
    with serving(project) as url, reading(browser, url) as reader:
        page = reader.open("#/index")
        card = page.locator(".copies-card")
        expect(card.locator(".near-copies li")).to_have_count(0)
        card.get_by_role("button", name="Find near-copies").click()
        expect(card.get_by_role("status")).to_have_text("4 of 4 passages nearly repeat another one.")
        row = card.locator(".near-copies > li")
        expect(row).to_have_count(1)
        expect(row.locator("summary")).to_contain_text("4 passages")
        row.locator("summary").click()
        assert barriers(page) == []

        (project / "old/mooring.md").unlink()
        run_lore("sync", "--allow-mass-delete", cwd=project)
        expect(card.get_by_role("status")).to_have_text("The index has changed since these were found.")
        card.get_by_role("button", name="Find near-copies").click()
        expect(card.get_by_role("status")).to_have_text("0 of 2 passages nearly repeat another one.")
        expect(row).to_have_count(0)


def test_what_a_sync_would_read_is_listed_before_it_is_started(browser: Browser, tmp_path: Path) -> None:
    files = {**BY_HAND, "docs/old.md": "# Old\n\nGoes.\n", "docs/kept.md": "# Kept\n\nStays.\n"}
    project = synced_project(tmp_path / "depot", files, "--no-daemon")
    with serving(project) as url, reading(browser, url) as reader:
        page = reader.open("#/index")
        expect(page.locator(".files td").first).to_be_visible()
        plan = page.locator(".plan")
        expect(plan).to_be_hidden()
        (project / "docs/old.md").unlink()
        write_project(project, {"docs/kept.md": "# Kept\n\nChanged.\n", "docs/new.md": "# New\n\nComes.\n"})
        expect(plan.get_by_role("heading")).to_have_text("A sync would read 3 new, changed or deleted files")
        expect(plan.locator("li")).to_have_text(["docs/kept.md", "docs/new.md", "docs/old.md"])
        assert barriers(page) == []
        page.get_by_role("button", name="Sync", exact=True).click()
        expect(page.locator(".job .state")).to_have_text("done")
        expect(plan).to_be_hidden()


def test_a_passage_shows_its_indexed_text_and_leads_to_similar_passages(reader: Reader) -> None:
    page = reader.open("#/source/docs/ferry.md?view=passages")
    head = page.locator(".chunk-head").first
    head.get_by_role("button", name="Text").click()
    expect(head.locator(".chunk-text")).to_contain_text("crosses the sound at noon")
    head.get_by_role("link", name="Similar").click()
    expect(page.locator("#q")).to_have_value(re.compile("^like:[0-9a-f]+$"))
    expect(page.locator(".result .path").first).to_be_visible()
    expect(page.locator(".result .path", has_text="docs/ferry.md")).to_have_count(0)


def test_a_citation_names_the_file_its_lines_and_its_address(reader: Reader) -> None:
    page = reader.open("#/source/sound/pilot.py?line=4-5")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="citation").click()
    expect(page.locator("#said")).to_have_text("Copied the citation.")
    assert page.evaluate("window.copied") == f"[sound/pilot.py (sound/pilot.py:4-5)]({page.url})"


def test_documents_that_name_missing_files_are_listed_in_health(reader: Reader) -> None:
    page = reader.open("#/health")
    expect(page.locator(".problems", has_text="1 warning")).to_be_visible()
    drift = page.locator(".problems", has_text="1 statement of documents to correct")
    expect(drift).to_contain_text("sound/gates.py, which does not exist")
    expect(drift.get_by_role("link")).to_have_text("PRPs/executed/PRP-1-gates.md")
    assert barriers(page) == []


def test_a_class_shows_its_text_signatures_inherited_members_and_users(reader: Reader) -> None:
    page = reader.open("#/classes/Pilot")
    card = page.locator(".class-card")
    expect(card.locator(".diagram")).to_contain_text("Sailor")
    expect(card.locator(".class-head")).to_contain_text("Steers the ferry.")
    expect(card).to_contain_text("steer(self, course: int = 0) -> str")
    expect(card.locator(".inherited summary")).to_contain_text("1 member from Sailor")
    expect(card.get_by_role("link", name="sound/bridge.py")).to_be_visible()


def test_a_name_in_code_shows_and_opens_its_definition(reader: Reader) -> None:
    page = reader.open("#/source/sound/bridge.py")
    name = page.locator("#L3 code").get_by_text("Pilot")
    expect(page.locator("#L3 code")).to_contain_text("Pilot()")
    box = (name if name.count() else page.locator("#L3 code")).bounding_box()
    assert box is not None
    x = page.evaluate(
        """() => { const walker = document.createTreeWalker(document.querySelector("#L3 code"), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) { const at = walker.currentNode.data.indexOf("Pilot");
            if (at >= 0) { const range = document.createRange(); range.setStart(walker.currentNode, at);
              range.setEnd(walker.currentNode, at + 5); const { left, width } = range.getBoundingClientRect();
              return left + width / 2; } } }"""
    )
    page.mouse.move(x, box["y"] + box["height"] / 2)
    page.mouse.move(x + 1, box["y"] + box["height"] / 2)
    expect(page.locator(".hover-card")).to_contain_text("class Pilot(Sailor)")
    page.keyboard.down("Control")
    page.mouse.click(x, box["y"] + box["height"] / 2)
    page.keyboard.up("Control")
    expect(page).to_have_url(re.compile(r"#/source/sound/pilot\.py\?line=1-8"))


def test_one_stream_tells_health_so_no_view_asks_for_it(reader: Reader) -> None:
    asked: list[str] = []
    reader.page.on("request", lambda request: asked.append(request.url))
    page = reader.open("#/health")
    expect(page.locator(".verdict[data-status]")).to_be_visible()
    go(page, "#/index")
    expect(page.locator(".files td").first).to_be_visible()
    assert [url for url in asked if "healthcheck" in url] == []


def test_no_view_has_a_barrier_in_any_colours(reader: Reader) -> None:
    for fragment, content in {
        "#/search": ".news section",
        "#/search?q=ferry&open=sound/pilot.py": ".reading .line",
        "#/classes/Pilot": ".class-card .members",
        "#/index": ".builds tbody tr",
        "#/source/sound/pilot.py?view=passages": ".chunk-head",
        f"#/ask?q={QUESTION}": ".citations li",
        "#/health": ".verdict[data-status]",
        "#/insights": ".insights-body .card",
        "#/knowledge": ".papers .title",
        "#/knowledge/document?file=alpha.md": ".knowledge-document h1",
        "#/knowledge/edit?file=alpha.md": "#paper-text",
        "#/knowledge/history?project=depot": ".commits .title",
    }.items():
        page = reader.open(fragment)
        expect(page.locator(content).first).to_be_visible()
        reader.settled()
        assert barriers(page) == [], fragment
        assert unreachable(page) == [], fragment
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        assert barriers(page, *OF_COLOURS) == [], f"{fragment}, dark"
        page.emulate_media(color_scheme="light", forced_colors="active")
        assert barriers(page, *OF_COLOURS) == [], f"{fragment}, forced colours"
        page.emulate_media(forced_colors="none")


def test_two_clicks_find_why_a_default_was_chosen_and_copy_a_link_to_the_lines_for_a_colleague(
    reader: Reader, browser: Browser, url: str
) -> None:
    reader.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = reader.open()
    page.evaluate(COUNTING)
    page.keyboard.type(WHY)  # the box has the focus
    expect(page.locator(".result .title").first).to_have_text(re.compile("Speed"))
    page.locator(".result .title").first.click()
    expect(page.locator(".reading .is-target:not(.unseen)")).to_contain_text("waves")
    page.locator(".reading").get_by_role("button", name="link").click()
    expect(page.locator("#said")).to_have_text("Copied the link.")
    assert page.evaluate("effort") == {"clicks": 2, "keys": len(WHY)}

    with reading(browser, url, viewport=WIDE) as colleague:
        colleague.page.goto(page.evaluate("navigator.clipboard.readText()"))
        expect(colleague.page.locator(".reading .is-target:not(.unseen)")).to_contain_text("waves")
