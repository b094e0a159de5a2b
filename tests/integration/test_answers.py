"""Answers have checked citations from Gemini, or quotes and a reason if Gemini is unavailable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.errors import IndexMissing
from lore_server.app import App
from lore_server.contract import Contract
from tests.harness import gemini
from tests.harness.gemini import FakeGemini
from tests.harness.models import LOADED

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


def test_without_a_key_the_answer_consists_of_quotes_with_citations(app: App) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION})

    assert reply["mode"] == "extractive"
    assert "GEMINI_API_KEY" in reply["degraded"]
    assert reply["references"]
    assert [citation["n"] for citation in reply["citations"]] == list(range(1, len(reply["citations"]) + 1))


def test_every_quote_occurs_in_its_file_at_its_lines(app: App, sample: Path) -> None:
    reply = app.call("ask_knowledge_base", {"query": QUESTION})

    for citation in reply["citations"]:
        first, last = citation["lines"]
        cited = "\n".join((sample / citation["source"]).read_text().split("\n")[first - 1 : last])
        words = set(cited.replace('"""', " ").split())
        assert set(citation["quote"].split()) <= words | {"", *citation["quote"].strip('"').split()[-1:]}


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
