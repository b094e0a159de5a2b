"""Use the index in the page: build it with progress, cancel, reload, delete, and see the report of a build."""

import contextlib
import datetime
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.harness import model_server
from tests.harness.browser import Reader, barriers, reading
from tests.harness.commands import PREPARED, run_lore
from tests.harness.interfaces import serving
from tests.harness.model_server import ModelServer, embeddings_waiting
from tests.harness.ports import free_port
from tests.harness.projects import write_project

FIRST_BATCH, SECOND_BATCH = 32, 64  # chunks
PAGES = 200  # more than two batches
EMBEDDED = rf"(?:{PAGES}|{PAGES - 12})"  # earlier tests may have embedded the pages of every project
EXPECTED = ["409"]  # there is no index


def guides(first: int, last: int, more: str = "") -> dict[str, str]:
    """Return pages; those with a word in `more` that no other test uses are not in the cache of embeddings."""
    return {f"docs/page-{n:03}.md": f"# Page {n}\n\nWhat is said of {n}. {more}\n" for n in range(first, last)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    by_hand = {"lore.toml": "[owner]\nauto_sync_files = 0\n"}
    return write_project(tmp_path / "depot", {**guides(0, 12), **by_hand})


@pytest.fixture
def reader(browser: Browser, project: Path) -> Iterator[Reader]:
    with serving(project) as url, reading(browser, url) as reader:
        reader.expected += EXPECTED
        yield reader


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Embed with a model that sends vectors for two batches, and for the others when the test releases them."""
    config = tmp_path / "config" / "lore" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[embedding]\nprovider = "gemini"\n')
    with model_server.serving(embeddings_waiting(SECOND_BATCH)) as fake:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("GEMINI_API_KEY", "played")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.url)
        yield fake


@pytest.fixture
def waiting(model: ModelServer, reader: Reader) -> tuple[Reader, ModelServer]:
    """Return a reader of a server whose model waits after the second batch."""
    return reader, model


def synced(reader: Reader) -> Page:
    """Return the page after a first sync."""
    page = reader.open("#/index")
    page.get_by_role("button", name="Sync", exact=True).click()
    expect(page.locator(".job .state")).to_have_text("done")
    return page


def choose(page: Page, action: str) -> None:
    page.locator(".menu summary").click()
    page.get_by_role("button", name=f"{action}…").click()


def test_without_an_index_every_view_reports_it_and_offers_a_sync(reader: Reader) -> None:
    page = reader.open("#/search?q=anything")
    expect(page.get_by_role("heading", name="Nothing is indexed yet")).to_be_visible()
    expect(page.locator(".pill")).to_have_text("no index")
    assert barriers(page) == []
    for address, view in (("ask?q=why", "ask"), ("classes", "classes")):
        page.goto(f"{reader.url}/#/{address}")
        shown = page.locator(f"section[data-view={view}]")  # the section before it is visible until this one is built
        expect(shown.get_by_role("heading", name="Nothing is indexed yet")).to_be_visible()

    shown.get_by_role("button", name="Sync the project").click()

    expect(page).to_have_url(re.compile("#/index$"))
    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.locator(".facts")).to_contain_text("Chunks12")
    expect(page.locator(".pill")).to_contain_text("fresh")
    page.get_by_role("link", name="Search").click()
    page.locator("#q").fill("page 7")
    expect(page.locator(".result").first).to_be_visible()


def test_a_sync_shows_its_progress_survives_a_reload_and_shows_its_report(
    waiting: tuple[Reader, ModelServer], project: Path
) -> None:
    reader, model = waiting
    write_project(project, guides(12, PAGES, "start"))
    page = reader.open("#/index")

    page.get_by_role("button", name="Sync", exact=True).click()

    embedding = page.locator(".stage", has_text="embedding")
    progress = re.compile(rf"{FIRST_BATCH} of {EMBEDDED} · [\d.]+/s · .+ left")
    expect(embedding).to_contain_text(progress)
    expect(embedding).to_have_attribute("data-state", "running")
    expect(page.locator(".stage", has_text="reading")).to_contain_text("done")
    expect(page.locator(".pill")).to_have_attribute("data-state", "running")
    page.reload()
    expect(page.get_by_role("heading", name="Sync is running")).to_be_visible()
    expect(embedding).to_contain_text(progress)
    assert embedding.locator("progress").evaluate("bar => bar.value") > 0
    model.released.set()

    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.locator(".figures")).to_contain_text(f"created{PAGES}")
    expect(page.locator("#said")).to_contain_text("sync done")
    expect(page.locator(".files .said")).to_have_text(f"{PAGES} files")
    expect(page.get_by_role("button", name="Sync", exact=True)).to_be_enabled()
    page.locator("#file-filter").fill("page-15")
    expect(page.locator(".files .said")).to_have_text(f"10 of {PAGES} files")


def test_a_cancelled_sync_ends_at_its_next_step_and_the_next_sync_resumes(
    waiting: tuple[Reader, ModelServer], project: Path
) -> None:
    reader, model = waiting
    write_project(project, guides(12, PAGES, "middle"))
    page = reader.open("#/index")
    page.get_by_role("button", name="Sync", exact=True).click()
    expect(page.locator(".stage", has_text="embedding")).to_have_attribute("data-state", "running")

    with page.expect_response(re.compile("/cancel$")):  # else the build may be done before it is told to stop
        page.get_by_role("button", name="Cancel").click()

    expect(page.locator(".elapsed")).to_have_text("stopping at the next step…")
    model.released.set()
    expect(page.locator(".job .state")).to_have_text("cancelled")
    expect(page.locator(".pill")).to_contain_text("partial")
    page.get_by_role("button", name="Sync", exact=True).click()
    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.locator(".pill")).to_contain_text("fresh")


def test_a_changed_file_is_marked_until_the_next_sync(reader: Reader, project: Path) -> None:
    page = synced(reader)
    write_project(project, {"docs/page-003.md": "# Page 3\n\nNow about lighthouses.\n"})
    expect(page.locator(".pill")).to_contain_text("stale, 1 file")  # the server has noticed the change
    page.get_by_role("link", name="Search").click()
    page.locator("#q").fill("what is said of 3")

    expect(page.locator(".result", has_text="page-003.md").locator(".changed")).to_be_visible()
    expect(page.locator(".note.warn")).to_contain_text("1 file changed since the last sync")
    assert barriers(page) == []
    page.goto(f"{reader.url}/#/source/docs/page-003.md")
    expect(page.locator(".file-head .changed")).to_be_visible()


def test_notes_about_freshness_agree_with_the_pill_while_results_are_read(reader: Reader, project: Path) -> None:
    page = synced(reader)
    for view, result in (("search?q=what is said of 3", ".result .title"), ("ask?q=what is said of 3?", ".cite")):
        page.goto(f"{reader.url}/#/{view}")
        page.locator(result).first.focus()  # results in use are not loaded again
        warning = page.locator(".note.warn:visible", has_text="since the last sync")
        expect(warning).to_have_count(0)
        write_project(project, {"docs/page-003.md": f"# Page 3\n\nNow about {view}.\n"})
        expect(page.locator(".pill")).to_contain_text("stale, 1 file")
        expect(warning).to_contain_text("1 file changed since the last sync")
        run_lore("sync", cwd=project)
        expect(page.locator(".pill")).to_contain_text("fresh")
        expect(warning).to_have_count(0)


def test_deleting_the_index_requires_the_name_of_the_project(reader: Reader) -> None:
    page = synced(reader)
    choose(page, "Delete")
    dialog = page.get_by_role("dialog", name="Delete the index?")
    yes = dialog.get_by_role("button", name="Delete the index")
    expect(yes).to_be_disabled()
    dialog.get_by_role("textbox").fill("depo")
    expect(yes).to_be_disabled()
    dialog.get_by_role("textbox").fill("depot")

    yes.click()

    expect(page.get_by_role("heading", name="Last delete")).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("deleted12")


def test_separate_create_and_embed_steps_require_confirmation(reader: Reader) -> None:
    page = reader.open("#/index")
    choose(page, "Create")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    choose(page, "Create")
    page.get_by_role("button", name="Read the files").click()
    expect(page.get_by_role("heading", name="Last create")).to_be_visible()
    choose(page, "Embed")
    page.get_by_role("button", name="Load the chunks").click()

    expect(page.get_by_role("heading", name="Last embed")).to_be_visible()
    expect(page.locator(".job .state")).to_have_text("done")


def test_a_sync_that_deletes_many_files_requires_confirmation(reader: Reader, project: Path) -> None:
    page = synced(reader)
    shutil.rmtree(project / "docs")
    write_project(project, {"notes.md": "# Notes\n\nLeft.\n"})

    page.get_by_role("button", name="Sync", exact=True).click()
    expect(page.locator(".job")).to_contain_text("SYNC_GUARD")
    expect(page.locator(".job")).to_contain_text("If these files were really deleted, sync anyway.")
    expect(page.locator(".job")).not_to_contain_text("allow")
    assert barriers(page) == []
    page.get_by_role("button", name="Sync and delete them").click()

    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.locator(".figures")).to_contain_text("deleted12")


def test_markup_in_the_project_stays_text(reader: Reader, project: Path) -> None:
    evil = '<img src=x onerror="document.title=1"><script>alert(1)</script>'
    write_project(project, {"docs/evil.md": f"# Evil {evil}\n\nA payload {evil} here.\n"})
    page = synced(reader)

    page.goto(f"{reader.url}/#/search?q=evil payload")
    expect(page.locator(".result").first).to_contain_text("<img src=x")
    page.goto(f"{reader.url}/#/source/docs/evil.md")
    expect(page.locator("article.prose")).to_contain_text("<script>")
    page.goto(f"{reader.url}/#/source/docs/evil.md?view=source")
    expect(page.locator("#L3")).to_contain_text("<script>")

    assert page.locator("main img, main script").count() == 0


# --- what happens elsewhere ------------------------------------------------------------------------------------------


def test_a_build_started_elsewhere_is_shown_immediately_in_every_view(reader: Reader, project: Path) -> None:
    page = reader.open("#/index")
    expect(page.get_by_role("heading", name="Last build")).to_be_visible()
    expect(page.locator(".pill")).to_have_attribute("data-state", "empty")
    build = subprocess.Popen([PREPARED.lore(), "sync"], cwd=project, stderr=subprocess.DEVNULL)

    expect(page.locator(".job .state")).to_have_text("done")
    expect(page.locator(".figures")).to_contain_text("created12")
    expect(page.locator(".facts")).to_contain_text("Chunks12")
    expect(page.locator(".pill")).to_contain_text("fresh")
    assert build.wait() == 0

    write_project(project, guides(12, 20))
    page.goto(f"{reader.url}/#/search")
    expect(page.locator(".pill")).to_contain_text("stale, 8 files")
    run_lore("sync", cwd=project)
    expect(page.locator(".pill")).to_contain_text("fresh")
    expect(page.locator(".chip", has_text="all")).to_have_text("all20")


def test_a_long_build_started_elsewhere_shows_its_progress(waiting: tuple[Reader, ModelServer], project: Path) -> None:
    reader, model = waiting
    write_project(project, guides(12, PAGES, "end"))
    page = reader.open("#/index")
    expect(page.get_by_role("heading", name="Last build")).to_be_visible()
    with subprocess.Popen([PREPARED.lore(), "sync"], cwd=project, stderr=subprocess.DEVNULL):
        expect(page.get_by_role("heading", name="Sync is running")).to_be_visible()
        expect(page.locator(".pill")).to_have_attribute("data-state", "running")
        expect(page.locator(".stage", has_text="embedding")).to_contain_text(
            re.compile(rf"{FIRST_BATCH} of {EMBEDDED}")
        )

        with page.expect_response(re.compile("/cancel$")):  # else the build may be done before it is told to stop
            page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".elapsed")).to_have_text("stopping at the next step…")
        model.released.set()

        expect(page.locator(".job .state")).to_have_text("cancelled")


def test_the_page_notices_when_the_server_stops_and_returns(browser: Browser, project: Path) -> None:
    run_lore("--no-daemon", "sync", cwd=project)
    with contextlib.ExitStack() as stack:
        with serving(project, port=free_port()) as url:  # other programs do not take it meanwhile
            reader = stack.enter_context(reading(browser, url))
            reader.expected += ["ERR_", "Failed to load"]
            page = reader.open("#/search?q=page 7")
            pill = page.locator(".pill")
            expect(pill).to_have_attribute("data-state", "fresh")
        expect(pill).to_have_text("no response")
        expect(pill).to_have_attribute("data-state", "failed")

        with serving(project, port=int(url.rpartition(":")[2])):
            expect(pill).to_have_attribute("data-state", "fresh")


def test_every_view_shows_the_same_counts_and_time(waiting: tuple[Reader, ModelServer], project: Path) -> None:
    reader, model = waiting
    model.released.set()
    page = synced(reader)
    page.goto(f"{reader.url}/#/health")
    expect(page.locator(".health .facts")).to_contain_text("12 files")
    write_project(project, guides(12, 1112))
    run_lore("sync", cwd=project)
    expect(page.locator(".health .facts")).to_contain_text("1,112 files")

    for hours, time in ((0.0, "just now|[0-9].* ago"), (2.5, "2 h [0-9]+ min ago")):
        if hours:  # the stream would correct the time with the server's clock
            page.route("**/page/state", lambda route: route.abort())
            reader.expected.append("page/state")
            page.clock.set_fixed_time(datetime.datetime.now() + datetime.timedelta(hours=hours))
        times = set()
        for view, fact in (("index", ".index .facts"), ("health", ".health .facts")):
            page.goto(f"{reader.url}/#/{view}")
            synced_at = page.locator(fact).locator("div", has_text="Last change").locator("time")
            expect(synced_at).to_have_text(re.compile(time))
            times.add(synced_at.inner_text())
        if not hours:
            expect(page.locator(".pill")).to_have_attribute("title", re.compile(f"synced ({time})"))
    assert len(times) == 1
    page.goto(f"{reader.url}/#/index")
    expect(page.locator(".index .facts")).to_contain_text("Chunks1,112Files1,112")
    expect(page.locator(".files .said")).to_have_text("1,112 files")
    expect(page.locator(".type-bars .figure")).to_have_text("1,112")
    page.goto(f"{reader.url}/#/search")
    expect(page.locator(".chip", has_text="all")).to_have_text("all1,112")


@pytest.fixture
def many(project: Path) -> Path:
    """Return a project whose list of files has several pages."""
    long = "word " * 50
    write_project(project, {f"docs/{'a' * 150}/{n:03}-{'b' * 80}.md": f"# {long}{n}\n\nText.\n" for n in range(190)})
    return write_project(project, {"docs/zebra.md": "# Zebra\n\nStripes.\n"})


def test_the_file_filter_begins_again_if_the_index_has_changed(many: Path, reader: Reader) -> None:
    run_lore("sync", cwd=many)
    page = reader.open("#/index")
    expect(page.locator(".files .said")).to_have_text("203 files")
    page.route("**/api/health*", lambda _: None)  # the page reloads the list when it has the new state
    write_project(many, {"docs/zebra-2.md": "# Zebra\n\nMore stripes.\n"})
    run_lore("sync", cwd=many)
    reader.expected.append("409")

    page.locator("#file-filter").fill("zebra")

    expect(page.locator(".files .said")).to_have_text("2 of 204 files")
    expect(page.locator(".files tbody tr")).to_have_count(2)


def test_the_file_filter_reports_that_it_is_incomplete_while_files_load(many: Path, reader: Reader) -> None:
    run_lore("sync", cwd=many)
    pending: list[Route] = []
    reader.page.route(re.compile(r"/api/sources\?.*cursor="), lambda route, _: pending.append(route))
    page = reader.open("#/index")
    expect(page.locator(".files .said")).to_have_text("203 files")

    page.locator("#file-filter").press_sequentially("zebra")

    expect(page.locator(".files .said")).to_have_text(re.compile(r"^Searching: 0 found in the first \d+ of 203 files$"))
    while not re.match("1 of 203", page.locator(".files .said").inner_text()):
        for route in pending:
            route.continue_()
        pending.clear()
        page.evaluate("new Promise((done) => requestAnimationFrame(done))")
    expect(page.locator(".files tbody tr")).to_have_count(1)
