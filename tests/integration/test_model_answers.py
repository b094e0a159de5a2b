"""Answers by a model have verified statements, and if it fails, passages and the reason, over both wire formats."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.errors import AnswerNotFound, Cancelled
from lore_etl.core.progress import NOBODY, Listener
from lore_server.answer.answer_service import UNANSWERED, AnswerService
from lore_server.answer.kept_answers import KeptAnswers
from lore_server.answer.written_answers import ModelAnswers, Timing
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.query.query_service import QueryService
from tests.harness import model_server
from tests.harness.model_server import GEMINI, OPENAI, ModelServer, Reply, Wire, honest, statements
from tests.harness.models import LOADED
from tests.harness.projects import copy_project
from tests.harness.secrets import secrets
from tests.harness.trying import often

pytestmark = pytest.mark.later

QUESTION = "How long does Ferry wait between retries?"
KEY = "test-key-that-must-not-leak"
SETTINGS: dict[str, Any] = {"timeout_seconds": 20, "attempts": 2, "requests_per_minute": 0, "tokens_per_day": 0}
Run = Callable[..., "Asker"]
FIRST = "It doubles each time."


@pytest.fixture(params=[GEMINI, OPENAI], ids=lambda wire: wire.name)
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wire:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found: Wire = request.param
    return found


@pytest.fixture(scope="module")
def project(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample project, whose files the tests change for a moment."""
    return copy_project(sample, tmp_path_factory.mktemp("answers") / "ferry")


@pytest.fixture(scope="module")
def app(project: Path, contract: Contract) -> Iterator[App]:
    """Return an application whose index the tests share."""
    shared = App(project, Settings(), contract, LOADED)
    yield shared
    shared.close()


class Asker:
    """Answers questions from the shared index, with a model of its own that retries without pauses."""

    def __init__(self, app: App, **settings: Any) -> None:
        self._app = app
        self._queries = QueryService(app.index)
        self.passed = 0.0  # seconds in addition to those of the clock
        timing = Timing(lambda: time.monotonic() + self.passed, lambda: 0.0, time.sleep)
        self.model = ModelAnswers(AnswerSettings(**{**SETTINGS, **settings}), timing)
        self.kept = KeptAnswers()

    def ask(self, listener: Listener = NOBODY, query: str = QUESTION) -> dict[str, Any]:
        """Return a reply that follows the contract."""
        service = AnswerService(self._app.index, self._queries, self._app.freshness, self.kept, self.model)
        reply = service.ask(query=query, type="all", limit=5, max_tokens=3000, brief=False, listener=listener)
        self._app.contract["ask_knowledge_base"].check_result(reply)
        return {**reply}


@pytest.fixture
def run(app: App, wire: Wire) -> Iterator[Run]:
    """Return a function that connects the model at a server to the shared index."""
    opened: list[Asker] = []

    def run(fake: ModelServer, **settings: Any) -> Asker:
        opened.append(Asker(app, **{"provider": wire.name, "model": "fake", "base_url": fake.url, **settings}))
        return opened[-1]

    yield run
    for asker in opened:
        asker.model.close()


def streamed(asker: Asker) -> tuple[list[str], dict[str, Any]]:
    """Return the streamed pieces and the reply."""
    pieces: list[str] = []
    return pieces, asker.ask(Listener(text=pieces.append))


def assert_consists_of_passages(reply: dict[str, Any], reason: str) -> None:
    assert reply["mode"] == "extractive"
    assert reason in reply["degraded"]
    assert reply["degraded"].endswith("showing passages instead")
    assert len(reply["citations"]) > 1
    assert reply["references"]
    assert not {"hidden-detail", KEY, "Traceback"} & set(str(reply).replace("=", " ").split())


@pytest.mark.requirement("NEO-027", "NEO-031")
def test_an_answer_has_verified_statements_and_its_request_a_fence_a_schema_and_no_key(
    run: Run, wire: Wire, project: Path
) -> None:
    with model_server.serving(wire.text(honest(FIRST, "It is capped."))) as fake:
        reply = run(fake).ask()

    assert (reply["mode"], reply["found"], "degraded" in reply) == ("synthesized", True, False)
    assert reply["answer"] == f"{FIRST} [1]\n\nIt is capped. [1]"
    assert reply["model"] == {"name": "fake", "input_tokens": 100, "output_tokens": 20}
    assert reply["references"]
    (cited,) = reply["citations"]
    first, last = cited["lines"]
    assert cited["quote"] == "\n".join((project / cited["source"]).read_text().split("\n")[first - 1 : last])

    body, prompt = fake.requests[0], wire.prompt_of(fake.requests[0])
    assert prompt.startswith("<passage ")
    assert prompt.endswith(f"Question: {QUESTION}")
    assert all(f'"{name}"' in json.dumps(body) for name in ("statements", "passages", "quotes"))
    assert KEY in str(fake.headers[0])
    assert KEY not in fake.paths[0] + str(body)


def test_a_streamed_answer_is_the_same_as_one_that_arrives_at_once(run: Run, wire: Wire) -> None:
    answer = honest(FIRST, "See [the docs](https://evil.example/x).")
    with model_server.serving(wire.stream(answer), wire.text(answer)) as fake:
        app = run(fake)
        pieces, reply = streamed(app)
        silent = app.ask()

    assert pieces == [f"{FIRST} [1]", "\n\nSee the docs. [1]"]
    assert "".join(pieces) == reply["answer"]
    assert {**reply, "freshness": None} == {**silent, "freshness": None}
    assert [wire.is_streamed(path, body) for path, body in zip(fake.paths, fake.requests, strict=True)] == [True, False]


@pytest.mark.requirement("NEO-029")
def test_the_freshness_includes_changes_during_an_answer(app: App, run: Run, wire: Wire, project: Path) -> None:
    added, before = project / "docs" / "added.md", app.freshness.record()["changed_files"]

    def hear(text: str) -> None:
        added.write_text("# Added\n", encoding="utf-8")
        app.freshness.notice()

    with model_server.serving(wire.stream(honest(FIRST))) as fake:
        try:
            reply = run(fake).ask(Listener(text=hear))
        finally:
            added.unlink(missing_ok=True)
            app.freshness.notice()

    assert reply["freshness"]["changed_files"] == before + 1


def test_a_statement_is_streamed_while_the_next_is_being_written(run: Run, wire: Wire) -> None:
    def begun(prompt: str) -> str:
        return honest(FIRST, "More.")(prompt)[:-12]

    with model_server.serving(wire.stalls_after(begun)) as fake:
        app = run(fake, timeout_seconds=20)
        with pytest.raises(Cancelled):
            app.ask(Listener(text=leave))

    assert len(fake.requests) == 1


def leave(text: str) -> None:
    assert text == f"{FIRST} [1]"
    raise Cancelled("The client disconnected.")


@pytest.mark.parametrize("case", ["edited", "deleted", "link", "ignored", "large"])
def test_of_a_file_that_changed_since_the_sync_only_the_present_text_goes_to_the_model(
    run: Run, wire: Wire, project: Path, tmp_path: Path, case: str
) -> None:
    secret = next(one.text for one in secrets(7) if "\n" not in one.text)
    with model_server.serving(wire.text(honest(FIRST))) as fake:
        asker = run(fake)
        first = asker.ask()["citations"][0]
        file = project / first["source"]
        before = file.read_text(encoding="utf-8")
        after = f"{before}\n".replace(first["quote"], f"{first['quote']} Since today, too: {secret}.")
        ignoring = project / ".gitignore"
        try:
            if case == "edited":
                file.write_text(f"New above.\n\n{after}", encoding="utf-8")
            elif case == "large":
                file.write_text(after + "Too long. " * 200_000, encoding="utf-8")
            elif case == "ignored":
                file.write_text(after, encoding="utf-8")
                ignoring.write_text(f"/{first['source']}\n", encoding="utf-8")
            else:
                file.unlink()
            if case == "link":
                (tmp_path / "outside.md").write_text(after, encoding="utf-8")
                file.symlink_to(tmp_path / "outside.md")
            reply = asker.ask()
        finally:
            ignoring.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
            file.write_text(before, encoding="utf-8")

    prompt = wire.prompt_of(fake.requests[1])
    assert secret not in str(fake.requests)
    assert ("Since today, too" in prompt, first["quote"] in prompt) == ((case == "edited"),) * 2
    if case == "edited":
        (cited,) = reply["citations"]
        assert (cited["changed"], cited["lines"]) == (True, [line + 2 for line in first["lines"]])
        assert "Since today, too" in cited["quote"]


def test_invented_quotes_and_missing_passages_are_dropped_and_counted(run: Run, wire: Wire) -> None:
    def half(prompt: str) -> str:
        quote = model_server.quotable(prompt)
        rows = [("Invented.", [1], "words that no passage has"), (FIRST, [1, 77], quote), ("Uncited.", [], quote)]
        return statements(*rows)

    with model_server.serving(wire.stream(half)) as fake:
        pieces, reply = streamed(run(fake))

    assert (pieces, reply["answer"], reply["model"]["dropped"]) == ([f"{FIRST} [1]"], f"{FIRST} [1]", 2)


def test_a_model_that_finds_nothing_shows_the_passages_and_the_answer_is_not_kept(run: Run, wire: Wire) -> None:
    with model_server.serving(wire.stream('{"statements": []}')) as fake:
        asker = run(fake)
        pieces, reply = streamed(asker)

    assert (reply["mode"], reply["found"]) == ("extractive", True)
    assert reply["answer"].startswith("The model did not find it in these passages.")
    assert pieces == [reply["answer"]]
    assert len(reply["citations"]) > 1
    assert reply["model"]["name"] == "fake"
    assert "degraded" not in reply
    with pytest.raises(AnswerNotFound):
        asker.kept.whole(reply["id"])


def test_a_model_that_finds_nothing_where_the_search_is_unsure_does_not_answer(run: Run, wire: Wire) -> None:
    with model_server.serving(wire.stream('{"statements": []}')) as fake:
        reply = run(fake).ask(Listener(text=list[str]().append), "Which spices belong in a curry?")

    assert (reply["mode"], reply["found"], reply["citations"]) == ("synthesized", False, [])
    assert reply["answer"] == UNANSWERED
    assert reply["references"]


def cases(wire: Wire) -> dict[str, tuple[Reply, str]]:
    """Return the ways in which a model fails before its first statement, with their documented reasons."""
    return {
        "429": (wire.status(429), "replied 429"),
        "429, later": (wire.status(429, Retry_After="60"), "replied 429"),
        "500": (wire.status(500), "replied 500"),
        "401": (wire.status(401), "replied 401"),
        "400": (wire.status(400), "replied 400"),
        "redirect": (wire.status(307, Location="http://elsewhere.example/"), "replied 307"),
        "garbage": (model_server.garbage, "cannot be read"),
        "closed": (model_server.nothing, "connection to the answer model failed"),
        "blocked": (wire.blocked, "refused"),
        "blank": (wire.text("   "), "empty"),
        "prose": (wire.text("It doubles each time [1]."), "cannot be read"),
        "cut JSON": (wire.text('{"statements": [{"quotes": ["x'), "cannot be read"),
        "length": (wire.text('{"statements": [{"quotes": ["x', finish=wire.limit), "truncated"),
        "invented quote": (wire.text(statements(("A.", [1], "words that no passage has"))), "no quote"),
        "no citation": (wire.text(lambda prompt: statements(("A.", [], model_server.quotable(prompt)))), "no quote"),
    }


def stream_cases(wire: Wire) -> dict[str, tuple[Reply, str]]:
    """Return the ways in which a stream fails after the first statement, with their documented reasons."""

    def begun(prompt: str) -> str:
        return honest(FIRST, "More.")(prompt)[:-9]

    return {
        "cut": (wire.cut(begun), "connection to the answer model failed"),
        "error": (wire.fails_after(begun), "failed" if wire is OPENAI else "replied 503"),
        "no end": (wire.stream(honest(FIRST), ends=False), "truncated"),
        "stalled": (wire.stalls_after(begun), "in time"),
    }


STREAMED = {"429", "garbage", "closed", "blank", "cut JSON", "invented quote"}
"""A refused request, no reply, and a reply without a statement; the long run streams the other failures as well."""


@pytest.mark.parametrize(
    ("case", "is_streamed"),
    often(
        [(case, is_streamed) for case in cases(GEMINI) for is_streamed in (False, True)],
        {*((case, False) for case in cases(GEMINI)), *((case, True) for case in STREAMED)},
    ),
)
@pytest.mark.promise(27)
def test_passages_and_the_reason_replace_a_failing_model(run: Run, wire: Wire, case: str, is_streamed: bool) -> None:
    script, reason = cases(wire)[case]
    with model_server.serving(script) as fake:
        pieces, reply = streamed(run(fake)) if is_streamed else ([], run(fake).ask())

    assert_consists_of_passages(reply, reason)
    assert "".join(pieces) == (reply["answer"] if is_streamed else "")
    assert case != "429, later" or len(fake.requests) == 1  # a retry after the deadline is not attempted


@pytest.mark.parametrize("case", stream_cases(GEMINI))
def test_a_stream_that_breaks_is_replaced_by_passages_in_the_reply(run: Run, wire: Wire, case: str) -> None:
    script, reason = stream_cases(wire)[case]
    pieces: list[str] = []
    with model_server.serving(script) as fake:
        asker = run(fake, timeout_seconds=3 if case == "stalled" else 20)

        def hear(text: str) -> None:
            pieces.append(text)
            asker.passed = 1000.0 if case == "stalled" else 0.0

        reply = asker.ask(Listener(text=hear))

    assert pieces == [f"{FIRST} [1]"]
    assert_consists_of_passages(reply, reason)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("case", ["whole", "streamed", "an endless slow stream"])
@pytest.mark.promise(27)
def test_a_model_that_does_not_finish_its_reply_times_out(run: Run, wire: Wire, case: str) -> None:
    script = wire.drips() if case == "an endless slow stream" else model_server.silence
    with model_server.serving(script) as fake:
        asker = run(fake, timeout_seconds=0.3, attempts=1)
        reply = asker.ask() if case == "whole" else streamed(asker)[1]

    assert_consists_of_passages(reply, "in time")


@pytest.mark.parametrize("failure", ["429", "500", "closed"])
@pytest.mark.promise(27)
def test_a_temporary_failure_is_retried(run: Run, wire: Wire, failure: str) -> None:
    with model_server.serving(cases(wire)[failure][0], wire.stream(honest(FIRST))) as fake:
        pieces, reply = streamed(run(fake))

    assert (pieces, reply["mode"], len(fake.requests)) == ([f"{FIRST} [1]"], "synthesized", 2)


@pytest.mark.promise(27)
def test_a_model_that_keeps_failing_is_not_asked_for_a_while(run: Run, wire: Wire) -> None:
    with model_server.serving(wire.status(503)) as fake:
        app = run(fake, attempts=1)
        replies = [app.ask() for _ in range(4)]

    assert len(fake.requests) == 3
    assert_consists_of_passages(replies[3], "asked again in")


def test_the_limits_of_the_user_are_kept(run: Run, wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LORE_STATE", str(tmp_path / "state"))
    with model_server.serving(wire.text(honest(FIRST))) as fake:
        first, second = run(fake, requests_per_minute=1), run(fake, tokens_per_day=100)
        replies = [first.ask(), first.ask(), second.ask()]

    assert [reply["mode"] for reply in replies] == ["synthesized", "extractive", "extractive"]
    assert_consists_of_passages(replies[1], "answer.requests_per_minute")
    assert_consists_of_passages(replies[2], "answer.tokens_per_day")
    assert len(fake.requests) == 1


@pytest.mark.parametrize("case", ["500", "closed", "garbage", "prose", "good"])
def test_no_log_has_key_question_or_passage(run: Run, wire: Wire, case: str, caplog: pytest.LogCaptureFixture) -> None:
    good = (wire.stream(honest(FIRST)), "")
    with caplog.at_level(logging.DEBUG), model_server.serving({**cases(wire), "good": good}[case][0]) as fake:
        streamed(run(fake))

    assert caplog.records
    for secret in (KEY, QUESTION, "<passage", FIRST, "hidden-detail"):
        assert secret not in caplog.text


def test_an_endpoint_without_schemas_is_asked_without_them(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server.serving(OPENAI.status(500), OPENAI.status(422), OPENAI.text(honest(FIRST))) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1")
        asker = Asker(app, provider="openai", model="fake")
        replies = [asker.ask(), asker.ask()]
        asker.model.close()

    assert [reply["mode"] for reply in replies] == ["synthesized"] * 2
    kinds = [body.get("response_format", {}).get("type") for body in fake.requests]
    assert kinds == ["json_schema", "json_object", None, None]
    assert fake.paths[0] == "/v1/chat/completions"


def test_the_endpoint_variable_of_the_gemini_client_is_respected(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with model_server.serving(GEMINI.text(honest(FIRST))) as fake:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.url)
        asker = Asker(app)
        reply = asker.ask()
        asker.model.close()

    assert (reply["mode"], len(fake.requests)) == ("synthesized", 1)
    assert "models/gemini-2.5-flash:generateContent" in fake.paths[0]


def test_no_request_is_made_if_nothing_is_found_or_answers_by_a_model_are_disabled(run: Run, wire: Wire) -> None:
    with model_server.serving(wire.text(honest(FIRST))) as fake:
        nothing = run(fake).ask(query="Zxqv wvzzk?")
        disabled = run(fake, provider="none").ask()

    assert (nothing["found"], "degraded" in nothing, disabled["mode"]) == (False, False, "extractive")
    assert fake.requests == []
