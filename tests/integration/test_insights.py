"""An answer is saved with its citations; questions and marks become insights and a judged set for `lore eval`."""

import re
from pathlib import Path

import pytest

from lore_etl.config.project import STATE
from lore_etl.config.settings import Settings
from lore_etl.core.errors import AnswerNotFound, ConfirmationRequired, DocumentNotFound, FileExists
from lore_server.app import App
from lore_server.cli.eval_commands import judged_set
from lore_server.evaluation.evaluate import evaluate_folder
from lore_server.operations.table import render
from tests.harness.calls import Call, Opener, calling, edit, indexed, sync_job
from tests.harness.models import HashModel
from tests.harness.projects import write_project

PAGES = {
    "README.md": "# Ferry\n\nA queue of jobs.\n",
    "docs/retries.md": "# Retries\n\nRetries of failed jobs wait twice as long.\n\n```sh\nferry retry\n# all\n```\n",
    "docs/tides.md": "# Tides\n\nHigh water comes twice a day.\n",
}
QUESTION = "How long do retries of failed jobs wait?"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    return write_project(tmp_path.resolve() / "ferry", PAGES)


@pytest.fixture
def app(root: Path, tmp_path: Path, open_app: Opener) -> App:
    app = open_app(root, home=tmp_path / "home")
    sync_job(app)
    return app


def test_a_saved_answer_is_a_document_with_its_citations_and_a_history(call: Call) -> None:
    answer = call("ask_knowledge_base", query=QUESTION)
    saved = call("save_answer", answer=answer["id"], title="Waiting for retries", author="ada")
    text = call("get_knowledge_file", filename=saved["filename"])["document"]["full_content"]
    (commit,) = call("get_knowledge_history", filename=saved["filename"])["commits"]

    assert saved["filename"] == "waiting-for-retries.md"
    opening = re.search(
        rf"Answer of (\S+) to the question: {re.escape(QUESTION)}\n\nIt quotes the .*, as they were on that day", text
    )
    assert opening and f"\n## Sources as of {opening[1]}\n" in text  # the heading of quotes that may be old
    for citation in answer["citations"]:
        first, last = citation["lines"]
        assert f"[{citation['n']}] `{citation['source']}:{first}-{last}`" in text
        assert citation["quote"] in text
    assert commit["author"] == "ada"
    with pytest.raises(FileExists):
        call("save_answer", answer=answer["id"], title="Waiting for retries")
    with pytest.raises(AnswerNotFound):
        call("save_answer", answer="0123", title="x")


def test_an_answer_that_cites_a_saved_answer_says_which_of_its_sources_have_changed(app: App, call: Call) -> None:
    answer = call("ask_knowledge_base", query=QUESTION)
    call("save_answer", answer=answer["id"], title="Waiting for retries")
    indexed(app, call)

    def asked() -> tuple[bool, str]:
        reply = call("ask_knowledge_base", query="What is waiting for retries?", type="knowledge")
        return "@lore/" in reply["citations"][0]["source"], reply.get("doubt", "")

    assert "quotes text" not in asked()[1]
    edit(app, {"docs/tides.md": "# Tides\n\nHigh water comes once a day.\n"})
    assert "quotes text" not in asked()[1]
    edit(app, {"docs/retries.md": PAGES["docs/retries.md"].replace("twice", "thrice")})
    assert asked() == (True, "The saved answer [1] quotes text that is no longer in `docs/retries.md`.")
    (app.index.root / "docs/retries.md").unlink()
    sync_job(app)
    assert asked() == (True, "The saved answer [1] quotes text that is no longer in `docs/retries.md`.")


def test_a_follow_up_works_after_a_restart_because_its_question_is_in_the_log(
    app: App, root: Path, open_app: Opener
) -> None:
    first = calling(app)("ask_knowledge_base", query=QUESTION)
    app.close()
    again = calling(open_app(root, home=root.parent / "home"))

    assert "retries failed jobs" in again("ask_knowledge_base", query="and why?", follow_up=first["id"])["searched"]


def test_insights_list_the_questions_to_document_next(call: Call) -> None:
    for query in (QUESTION, QUESTION.lower(), "Which spices belong in a curry from Goa?"):
        call("ask_knowledge_base", query=query, limit=1)
    call("query_documents", query="retries", limit=1)
    found = call("get_insights")

    assert found["questions"] == 4
    assert [(row["query"], row["count"]) for row in found["frequent"]] == [(QUESTION.lower(), 2)]
    assert [row["query"] for row in found["unanswered"]] == ["Which spices belong in a curry from Goa?"]
    assert (found["files"]["indexed"], "docs/retries.md" in found["files"]["examples"]) == (3, False)
    assert [row["calls"] for row in found["latency"]] == [3, 1]
    text = render("get_insights", found).whole()
    assert "1 × Which spices" in text
    with pytest.raises(ConfirmationRequired):
        call("clear_insights")
    assert call("clear_insights", confirm=True) == {"questions": 4, "marks": 0}
    assert call("get_insights")["questions"] == 0


def test_a_file_that_was_read_after_a_question_makes_it_useful(call: Call) -> None:
    unknown = "Which tides does Heroku have?"
    call("ask_knowledge_base", query=QUESTION, limit=1)
    call("get_source", path="README.md")
    before = call("get_insights")
    found = call("ask_knowledge_base", query=unknown)["references"][0]["source"]
    call("get_source", path=found)
    call("get_document_by_id", id=call("query_documents", query="retries of jobs")["results"][0]["id"])
    after = call("get_insights")

    assert (before["questions"], before["useful"]) == (1, 0)
    assert (after["questions"], after["useful"], after["unanswered"]) == (3, 3, [])


def test_marked_results_are_a_set_that_the_evaluation_accepts(app: App, root: Path, tmp_path: Path) -> None:
    call = calling(app)
    call("mark_result", query=QUESTION, source="docs/retries.md", verdict="right")
    call("mark_result", query=QUESTION, source="docs/tides.md", verdict="wrong")
    with pytest.raises(DocumentNotFound):
        call("mark_result", query=QUESTION, source="docs/no.md", verdict="right")
    never = call("mark_result", query=QUESTION, source="README.md", verdict="none")
    assert render("mark_result", never).body == "This result has no mark now."  # there was none to remove
    (tmp_path / "set").mkdir()
    for name, text in judged_set(call("list_marks")["marks"])[0].items():
        (tmp_path / "set" / name).write_text(text, encoding="utf-8")
    app.close()
    report = evaluate_folder(tmp_path / "set", None, root, Settings(), ["keywords"], model=HashModel())

    assert report.questions == 1
    assert report.values["keywords"]["mrr@10"] == {"q1": 1.0}
