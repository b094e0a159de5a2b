"""Ask a question in the page, and follow the citations of the answer."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.harness import model_server
from tests.harness.browser import Reader, reading
from tests.harness.commands import synced_project
from tests.harness.interfaces import serving
from tests.harness.model_server import GEMINI, ModelServer, honest
from tests.harness.poisoned import POISONED

QUESTION = "Why is SQLite the default store?"


def test_an_answer_without_a_model_is_marked_as_quoted(reader: Reader) -> None:
    page = reader.open("#/ask")
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")

    expect(page.locator(".ask .said")).to_contain_text("quoted from the sources")
    expect(page.locator(".answer .why-not")).to_contain_text("GEMINI_API_KEY")
    expect(page.locator(".citations")).to_contain_text("SQLite")
    expect(page).to_have_url(re.compile("#/ask\\?q=Why"))
    assert page.locator(".citations > li").count() == page.locator(".answer a.cite").count() > 1
    assert page.locator(".references li").count() > 1


def test_back_from_the_first_answer_leads_to_the_empty_page_and_forward_to_the_answer(reader: Reader) -> None:
    page = reader.open("#/ask")
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".citations li").first).to_be_visible()

    page.go_back()
    expect(page.locator(".ask .questions").first).to_contain_text(QUESTION)
    expect(page.locator(".citations, .references, .further:visible")).to_have_count(0)
    assert page.locator(".ask .said").inner_text() == ""
    page.go_forward()
    expect(page.locator(".citations li").first).to_be_visible()
    expect(page.locator("#question")).to_have_value(QUESTION)


def test_a_citation_jumps_to_its_passage_which_links_to_the_file(reader: Reader) -> None:
    page = reader.open(f"#/ask?q={QUESTION}")
    page.locator(".answer a.cite").nth(1).click()

    expect(page).to_have_url(re.compile("cite=2"))
    cited = page.locator("#cited-2")
    expect(cited).to_have_class(re.compile("is-target"))
    expect(cited).to_be_focused()
    expect(cited).to_be_in_viewport()
    first, last = map(int, re.findall(r":(\d+)-(\d+)$", cited.locator("a.path").inner_text())[0])
    cited.locator("a.path").click()

    expect(page).to_have_url(re.compile(rf"#/source/.+\?line={first}-{last}$"))
    expect(page.locator(".source .is-target:not(.unseen)").first).to_be_in_viewport()
    page.go_back()
    expect(page.locator("#cited-2.is-target")).to_be_visible()


def test_an_answer_is_kept_while_other_views_are_open(reader: Reader) -> None:
    page = reader.open(f"#/ask?q={QUESTION}")
    expect(page.locator(".answer a.cite").first).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/ask") else None)

    page.get_by_role("link", name="Health").click()
    expect(page.locator(".verdict")).to_have_text("healthy")
    page.get_by_role("link", name="Ask").click()

    expect(page.locator(".answer a.cite").first).to_be_visible()
    assert asked == []


def test_a_question_without_an_answer_is_told_so_once(reader: Reader) -> None:
    page = reader.open("#/ask?q=Can Ferry send jobs to Kafka?")

    expect(page.locator(".ask .said")).to_contain_text("No answer")
    expect(page.locator(".answer")).to_contain_text("Kafka occurs nowhere in this knowledge base.")
    assert page.locator(".answer").inner_text().count("Kafka occurs nowhere") == 1


def test_an_answer_that_waited_for_the_server_ends_like_any_other(reader: Reader) -> None:
    reader.expected += ["ERR_INTERNET_DISCONNECTED"]
    page = reader.open("#/ask")
    reader.settled()
    page.context.set_offline(True)
    page.locator("#question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()

    page.context.set_offline(False)

    expect(page.locator(".citations li").first).to_be_visible()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    expect(page.locator(".answer[aria-busy]")).to_have_count(0)


@pytest.fixture
def written(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Reader, ModelServer]]:
    """Yield a reader of a server with an answer model, which stalls in its first answer and completes all others."""
    project = synced_project(
        tmp_path / "depot", {"docs/store.md": "# Store\n\nSQLite is the default store: one file.\n"}, "--no-daemon"
    )
    answer = honest("SQLite needs **no server** beside the worker.", "It is one file [7].")
    slow, whole = GEMINI.stalls_after(lambda prompt: answer(prompt)[:-15]), GEMINI.stream(answer)
    with model_server.serving(slow, whole) as fake:
        monkeypatch.setenv("GEMINI_API_KEY", "played")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.url)
        with serving(project) as url, reading(browser, url) as reader:
            yield reader, fake


def test_a_synthesized_answer_streams_can_be_stopped_and_ends_with_its_citations(
    written: tuple[Reader, ModelServer],
) -> None:
    reader, fake = written
    page = reader.open("#/ask")
    page.locator("#question").fill(QUESTION)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".answer strong")).to_have_text("no server")
    expect(page.locator(".answer[aria-busy=true]")).to_contain_text("beside the worker. [1]")
    expect(page.locator(".answer a.cite")).to_have_count(0)
    page.locator("#question").press("Enter")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_hidden()

    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".ask .said")).to_have_text("Stopped.")
    expect(page.locator(".answer")).to_contain_text("beside the worker")
    fake.released.set()
    page.get_by_role("button", name="Ask", exact=True).click()

    expect(page.locator(".ask .said")).to_contain_text("written by the answer model")
    expect(page.locator(".answer a.cite")).to_have_count(2)
    expect(page.locator(".answer")).not_to_contain_text("[7]")
    expect(page.locator(".citations > li")).to_have_count(1)


def test_a_new_question_replaces_the_question_being_answered(
    written: tuple[Reader, ModelServer],
) -> None:
    reader, fake = written
    page = reader.open("#/ask")
    question = page.locator("#question")
    question.fill(QUESTION)
    question.press("Enter")
    expect(page.locator(".answer[aria-busy=true] strong")).to_be_visible()

    question.fill("What is one file?")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    question.press("Enter")

    expect(page.locator(".ask .said")).to_contain_text("written by the answer model")
    expect(page.locator(".citations > li")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"q=What\+is\+one\+file"))
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert len(fake.requests) == 2
    assert "What is one file?" in str(fake.requests[1])


def test_no_poisoned_document_becomes_an_element_of_the_page(reader: Reader) -> None:
    page = reader.open("#/ask")
    shown = page.evaluate(
        """async (texts) => {
          const { answerNodes } = await import(asset("ask/answer.js"));
          const { citationList, quoteOf } = await import(asset("ask/citations.js"));
          return Promise.all(texts.map(async (text) => {
            const place = { n: 1, source: text, lines: [1, 2], heading: text, quote: text };
            const box = document.createElement("div");
            const [nodes, ...quotes] = await answerNodes(text, [place], {}, [quoteOf(place)]);
            box.append(...nodes, ...citationList([place], quotes, text));
            const links = [...box.querySelectorAll("[href]")].map((one) => one.getAttribute("href"));
            return { tags: [...box.querySelectorAll("*")].map((one) => one.localName), links };
          }));
        }""",
        [*POISONED.values()],
    )

    assert len(shown) == len(POISONED)
    for one in shown:
        known = "p h2 h3 h4 h5 h6 ol ul li div span a button strong em s code pre blockquote hr br table thead tbody"
        assert set(one["tags"]) <= {*known.split(), "tr", "th", "td"}
        assert all(link.startswith(("#/", "vscode:", "http://", "https://", "mailto:")) for link in one["links"])
