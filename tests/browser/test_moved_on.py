"""A reply that arrives after the reader has moved on changes nothing that is shown by then."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.harness import http_client
from tests.harness.browser import LateReply, Reader, go, write_document
from tests.harness.interfaces import bearer

FAILURE = json.dumps({"code": "INTERNAL_ERROR", "message": "The reading failed.", "hint": ""})
FAILED = {"status": 500, "body": FAILURE}
FILES = {
    "lore.toml": "[owner]\nauto_sync_files = 0\n",
    "docs/ferry.md": "# Ferry\n\nThe ferry crosses the sound at noon.\n\n## Fares\n\nThe ferry is free.\n",
    "north.py": "north = 'the buoy of the sound is red and round'\n",
    "south.py": "south = 'the buoy of the sound is red and round'\n",
    **{f"docs/pier-{number}.md": f"# Pier {number}\n\nThe pier {number} of the harbour.\n" for number in range(60)},
}
DOCUMENTS = ("alpha", "beta")
SOURCE = "/api/source"


def document(name: str, view: str = "document") -> str:
    return f"#/knowledge/{view}?project=depot&file={name}.md"


def left_while_saving(reader: Reader, text: str) -> tuple[Page, LateReply]:
    """Edit another document before the reply to saving this text arrives; return the page and the reply."""
    page = reader.open(document("alpha", "edit"))
    field = page.locator("#paper-text")
    expect(field).to_be_enabled()
    field.fill(text)
    late = LateReply(page, "/api/projects/file$")
    page.get_by_role("button", name="Save", exact=True).click()
    late.wait()
    go(page, document("beta", "edit"))
    expect(page.locator(".view:visible h1")).to_have_text("Edit beta.md")
    return page, late


def test_insights_show_the_chosen_period(reader: Reader, url: str, folder: Path) -> None:
    page = reader.open("#/health")
    late = LateReply(page, "/api/insights\\?.*days=30")
    go(page, "#/insights")
    late.wait()
    http_client.post(f"{url}/api/documents/query", json={"query": "ferry"}, headers=bearer(folder))
    page.get_by_label("The last").select_option("7 days")
    said = page.locator(".insights .said")
    expect(said).to_contain_text(re.compile(r"^[1-9]\d* questions"))
    shown = said.inner_text()

    late.release()

    expect(said).to_have_text(shown)


def test_a_file_that_is_left_before_it_arrives_is_asked_for_no_longer(reader: Reader) -> None:
    page = reader.open("#/health")
    late = LateReply(page, f"{SOURCE}\\?path=north.py")
    go(page, "#/source/north.py")
    late.wait()
    with page.expect_event("requestfailed"):
        go(page, "#/source/south.py")

    expect(page.locator("#L1")).to_contain_text("south")
    expect(page.locator(".source [role=alert]")).to_have_count(0)


def test_a_line_chosen_while_its_file_loads_is_marked(reader: Reader) -> None:
    page = reader.open("#/health")
    late = LateReply(page, f"{SOURCE}\\?path=docs%2Fferry.md")
    go(page, "#/source/docs/ferry.md")
    late.wait()
    go(page, "#/source/docs/ferry.md?line=3")

    late.release()

    expect(page.locator("[data-line='3'].is-target")).to_have_count(1)


def test_more_results_load_after_an_incomplete_query(reader: Reader) -> None:
    reader.expected.append("400")
    page = reader.open("#/search?q=pier")
    expect(page.locator(".result")).to_have_count(20)
    page.locator("#q").fill("pier type:gui")
    expect(page.locator(".search .note", has_text="type cannot be")).to_be_visible()

    page.get_by_role("button", name="Load more").click()

    expect(page.locator(".result")).to_have_count(40)


def test_the_failure_of_more_results_is_not_shown_beside_those_of_another_query(reader: Reader) -> None:
    reader.expected.append("500")
    page = reader.open("#/search?q=pier")
    expect(page.locator(".result")).to_have_count(20)
    late = LateReply(page, "/api/documents/query")
    page.get_by_role("button", name="Load more").click()
    late.wait()
    page.locator("#q").fill("harbour")
    expect(page).to_have_url(re.compile("q=harbour"))
    expect(page.locator(".results.old")).to_have_count(0)

    late.release(**FAILED)

    expect(page.locator(".search [role=alert]")).to_have_count(0)
    page.get_by_role("button", name="Load more").click()
    expect(page.locator(".result")).to_have_count(40)


def test_a_document_that_was_left_before_it_arrived_does_not_replace_the_one_returned_to(reader: Reader) -> None:
    page = reader.open(document("alpha"))
    expect(page.locator(".view:visible h1")).to_have_text("Alpha")
    late = LateReply(page, "/api/projects/file\\?.*beta")
    go(page, document("beta"))
    late.wait()
    page.go_back()

    late.release()

    expect(page.locator(".view:visible h1")).to_have_text("Alpha")
    expect(page.get_by_role("link", name="History", exact=True)).to_have_attribute("href", re.compile("alpha"))


@pytest.mark.parametrize("changed", [{}, FAILED], ids=["deleted", "failed"])
def test_a_deletion_leads_nowhere_after_the_reader_has_left(
    reader: Reader, url: str, folder: Path, changed: dict[str, object]
) -> None:
    reader.expected += ["500", "404.*gamma"]  # the open view may still look for the deleted document
    write_document(url, folder, "gamma")
    page = reader.open(document("gamma"))
    late = LateReply(page, "/api/projects/file/delete")
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete document").click()
    late.wait()
    go(page, document("alpha"))
    heading = page.locator(".view:visible h1")
    expect(heading).to_have_text("Alpha")

    late.release(**changed)

    expect(page).to_have_url(re.compile("document.*alpha"))
    expect(heading).to_have_text("Alpha")
    expect(page.locator(".view:visible [role=alert]")).to_have_count(0)


def test_a_failed_save_is_not_reported_beside_another_document(reader: Reader) -> None:
    reader.expected.append("409")
    page, late = left_while_saving(reader, "# Alpha\n\nMine.\n")

    late.release(status=409, body=json.dumps({"code": "CONFLICT", "message": "It has changed.", "hint": ""}))
    page.evaluate("fetch('/api/projects').then((reply) => reply.json())")

    expect(page.locator("#paper-text")).to_be_editable()
    expect(page.locator(".view:visible [role=alert]")).to_have_count(0)


def test_the_words_typed_while_a_project_loads_search_this_project(reader: Reader, url: str, folder: Path) -> None:
    write_document(url, folder, "buoys", project_id="sound")
    page = reader.open("#/knowledge")
    expect(page.locator(".papers .title").first).to_be_visible()
    late = LateReply(page, "/api/projects/files\\?.*sound")
    page.get_by_role("link", name="sound", exact=True).click()
    late.wait()
    page.locator("#knowledge-q").fill("Buoys")
    page.keyboard.press("Enter")  # searches at once

    late.release()

    expect(page.locator(".view:visible h1")).to_have_text("Knowledge of sound")
    expect(page.locator(".papers .title")).to_have_text(["Buoys"])


def test_the_citations_of_an_answer_keep_its_question_if_it_arrives_beside_another_view(reader: Reader) -> None:
    question = "When does the ferry cross?"
    page = reader.open("#/health")
    pending: list[Route] = []
    page.route("**/api/knowledge/ask", lambda route, _: pending.append(route), times=1)
    with page.expect_request("**/api/knowledge/ask"):
        go(page, f"#/ask?q={question}")
    go(page, "#/health?q=elsewhere")

    pending[0].continue_()
    expect(page.locator(".answer a.cite")).not_to_have_count(0)
    go(page, f"#/ask?q={question}")
    page.locator(".answer a.cite").first.click()

    expect(page.locator("#cited-1")).to_be_focused()
    page.get_by_label("Follow-up question").fill("and what does it cost?")
    page.keyboard.press("Enter")
    expect(page.locator(".before a")).to_have_attribute("href", re.compile("^#/ask.*q=When"))


def test_an_editor_shows_the_text_that_was_read_last(reader: Reader, url: str, folder: Path) -> None:
    page = reader.open("#/health")
    late = LateReply(page, "/api/projects/file\\?.*alpha")
    go(page, document("alpha", "edit"))
    late.wait()
    body = {"project_id": "depot", "filename": "alpha", "content": "# Alpha\n\nNewer.\n"}
    assert http_client.post(f"{url}/api/projects/file", json=body, headers=bearer(folder)).status_code == 200
    go(page, "#/health")
    expect(page.locator(".health")).to_be_visible()
    go(page, document("alpha", "edit"))
    field = page.locator("#paper-text")
    expect(field).to_have_value(re.compile("Newer"))

    late.release()

    expect(field).to_have_value(re.compile("Newer"))


def test_saving_does_not_leave_the_document_that_is_edited_by_then(reader: Reader) -> None:
    page, late = left_while_saving(reader, "# Alpha\n\nSaved.\n")

    late.release()

    expect(page).to_have_url(re.compile("edit.*beta"))
    expect(page.locator("#paper-text")).to_be_editable()
