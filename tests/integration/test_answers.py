"""Answers have checked citations from Gemini, or quotes and a reason if Gemini is unavailable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.errors import IndexMissing
from lore_server.answer.answer_service import EVIDENCE
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.replies import budget
from tests.harness import gemini
from tests.harness.gemini import FakeGemini
from tests.harness.models import LOADED
from tests.harness.projects import ROOT

QUESTION = "How long does Ferry wait between retries?"
KEY = "test-key-that-must-not-leak"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return KEY


def ask(sample: Path, contract: Contract, fake: FakeGemini, **settings: Any) -> dict[str, Any]:
    answer = AnswerSettings(base_url=fake.url, **{"timeout_seconds": 5, "attempts": 2, **settings})
    app = App(sample, Settings(answer=answer), contract, LOADED)
    try:
        return app.call("ask_knowledge_base", {"query": QUESTION})
    finally:
        app.close()


def test_without_a_key_the_answer_consists_of_passages_with_citations(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION})

    assert reply["mode"] == "extractive"
    assert "GEMINI_API_KEY" in reply["degraded"]
    assert reply["references"]
    assert [citation["n"] for citation in reply["citations"]] == list(range(1, len(reply["citations"]) + 1))


def test_every_quote_occurs_in_its_file_at_its_lines(app: App, sample: Path) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION})

    for one in reply["citations"]:
        first, last = one["lines"]
        cited = "\n".join((sample / one["source"]).read_text().split("\n")[first - 1 : last])
        assert one["quote"] == cited


def test_a_question_about_classes_is_answered_from_the_class_tree(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": "Which classes extend RetryPolicy?"})

    assert reply["mode"] == "structural"
    assert reply["answer"].startswith("`RetryPolicy` has 3 subclasses: `ConstantBackoff` [1]")
    assert {one["source"] for one in reply["citations"]} == {"ferry/retry.py"}
    assert reply["citations"][0]["quote"] == "class ConstantBackoff(RetryPolicy):"
    assert "degraded" not in reply


def test_a_question_for_a_ticket_or_release_is_answered_with_its_number(app: App) -> None:
    ticket = app.call("ask_knowledge_base", {"query": "Which ticket reports that two schedulers enqueue a job twice?"})
    release = app.call("ask_knowledge_base", {"query": "Which release introduced the dashboard?"})

    assert ticket["answer"].startswith("Ticket #38 (closed): Two schedulers enqueue")
    assert release["answer"].startswith("Release 1.2.0 [1].")
    assert [ticket["mode"], release["mode"]] == ["structural"] * 2


def test_a_question_without_an_answer_is_recognised_and_gets_the_nearest_documents(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": "Which spices belong in a curry from Goa?"})

    assert reply["found"] is False
    assert "not in this knowledge base" in reply["answer"]
    assert reply["citations"] == []
    assert reply["references"]


def test_a_reply_stays_within_its_budget(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION, "max_tokens": 800})

    assert budget.size(reply) <= 800 * budget.CHARACTERS_PER_TOKEN
    assert reply["citations"]


def test_no_reply_leads_with_a_fragment_of_code_a_diagram_a_table_or_a_list(app: App, sample: Path) -> None:
    leads = []
    for question in sample_questions():
        reply = app.call("ask_knowledge_base", {"query": question})
        if reply["mode"] == "extractive" and reply["citations"] and not reply["answer"].startswith(EVIDENCE):
            leads.append(reply)

    assert len(leads) >= 5
    for reply in leads:
        lead, _, number = reply["answer"].partition("\n\n")[0].removesuffix("]").rpartition(" [")
        cited = reply["citations"][int(number) - 1]
        assert cited["source"].endswith(".md")
        assert lead[0].isupper() or lead[0] == "`"
        assert lead[-1] in ".!"
        assert lead in prose_of((sample / cited["source"]).read_text())


def sample_questions() -> list[str]:
    """Return the questions of the evaluation set that the sample project answers."""
    folder = ROOT / "data" / "evaluation"
    rows = [row.split("\t") for row in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    of_sample = {id_ for id_, path, _ in rows if path.startswith("data/sample/")}
    questions = map(json.loads, (folder / "queries.jsonl").read_text().splitlines())
    return [one["text"] for one in questions if one["_id"] in of_sample]


def prose_of(text: str) -> str:
    """Return the paragraphs of a Markdown text, without headings, lists, tables, code and quotations."""
    blocks = re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```", "", text))
    prose = [block for block in blocks if not re.match(r"\s*(?:[-*+] |\d+\. |#|\||>|    )", block)]
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(" ".join(block.split()) for block in prose))


def test_gemini_answers_have_valid_citations(sample: Path, contract: Contract, key: str) -> None:
    with gemini.serving(gemini.text("It doubles each time [1]. It is capped [2, 99].")) as fake:
        reply = ask(sample, contract, fake)

    assert (reply["mode"], reply["answer"]) == ("synthesized", "It doubles each time [1]. It is capped [2].")
    assert [citation["n"] for citation in reply["citations"]] == [1, 2]
    assert "degraded" not in reply


def test_the_model_gets_fenced_passages_and_the_key_only_in_a_header(
    sample: Path, contract: Contract, key: str
) -> None:
    with gemini.serving(gemini.text("Yes [1].")) as fake:
        ask(sample, contract, fake)

    prompt = fake.requests[0]["contents"][0]["parts"][0]["text"]
    assert "<passage " in prompt
    assert prompt.endswith(f"Question: {QUESTION}")
    assert "systemInstruction" in fake.requests[0]
    assert fake.headers[0]["x-goog-api-key"] == KEY
    assert KEY not in fake.paths[0] + str(fake.requests[0])


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_temporary_failure_is_retried(sample: Path, contract: Contract, key: str, code: int) -> None:
    with gemini.serving(gemini.status(code), gemini.text("It doubles [1].")) as fake:
        reply = ask(sample, contract, fake)

    assert (reply["mode"], len(fake.requests)) == ("synthesized", 2)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (gemini.status(429), "replied 429"),
        (gemini.status(500), "replied 500"),
        (gemini.status(400), "replied 400"),
        (gemini.garbage, "cannot be read"),
        (gemini.nothing, "cannot be reached"),
        (gemini.blocked, "empty"),
        (gemini.text("   "), "empty"),
        (gemini.text("I know this without any passage."), "cited no passage"),
        (gemini.text("As stated in [77]."), "cited no passage"),
    ],
    ids=["429", "500", "400", "garbage", "closed", "blocked", "blank", "uncited", "wrong citation"],
)
def test_if_the_model_fails_quotes_and_references_are_returned_with_the_reason(
    sample: Path, contract: Contract, key: str, script: gemini.Reply, reason: str
) -> None:
    with gemini.serving(script) as fake:
        reply = ask(sample, contract, fake)

    assert reply["mode"] == "extractive"
    assert reason in reply["degraded"]
    assert reply["citations"]
    assert reply["references"]
    assert not {"hidden-detail", KEY, "Traceback"} & set(str(reply).replace("=", " ").split())


def test_a_model_that_never_replies_times_out(sample: Path, contract: Contract, key: str) -> None:
    holder: list[FakeGemini] = []
    with gemini.serving(gemini.silence(lambda: holder[0])) as fake:
        holder.append(fake)
        reply = ask(sample, contract, fake, timeout_seconds=1, attempts=1)

    assert reply["mode"] == "extractive"
    assert "in time" in reply["degraded"]


def test_the_model_may_report_that_the_passages_do_not_answer(sample: Path, contract: Contract, key: str) -> None:
    with gemini.serving(gemini.text("NOT_IN_PASSAGES")) as fake:
        reply = ask(sample, contract, fake)

    assert (reply["mode"], reply["citations"]) == ("synthesized", [])
    assert "do not answer" in reply["answer"]
    assert reply["references"]


def test_no_request_is_made_if_synthesized_answers_are_disabled(sample: Path, contract: Contract, key: str) -> None:
    with gemini.serving(gemini.text("Yes [1].")) as fake:
        reply = ask(sample, contract, fake, provider="none")

    assert (reply["mode"], fake.requests) == ("extractive", [])


def test_asking_a_missing_index_is_an_error_and_not_an_empty_answer(hash_app: App) -> None:
    with pytest.raises(IndexMissing):
        hash_app.call("ask_knowledge_base", {"query": "x"})


def test_the_endpoint_variable_of_the_gemini_client_is_respected(
    sample: Path, contract: Contract, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gemini.serving(gemini.text("It doubles [1].")) as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.url)
        app = App(sample, Settings(), contract, LOADED)
        reply = app.call("ask_knowledge_base", {"query": QUESTION})
        app.close()

    assert (reply["mode"], len(fake.requests)) == ("synthesized", 1)
