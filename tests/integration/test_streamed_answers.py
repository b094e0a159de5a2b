"""A streamed answer contains only text that the checked answer contains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import AnswerSettings, Settings
from lore_etl.core.errors import Cancelled
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.progress import Listener
from tests.harness import gemini
from tests.harness.gemini import FakeGemini
from tests.harness.models import LOADED

QUESTION = "How long does Ferry wait between retries?"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "test-key-that-must-not-leak")


def ask(sample: Path, contract: Contract, fake: FakeGemini, **settings: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the streamed pieces and the reply."""
    streamed: list[str] = []
    answer = AnswerSettings(base_url=fake.url, **{"timeout_seconds": 5, "attempts": 2, **settings})
    app = App(sample, Settings(answer=answer), contract, LOADED)
    try:
        return streamed, app.call("ask_knowledge_base", {"query": QUESTION}, Listener(text=streamed.append))
    finally:
        app.close()


def test_the_pieces_join_to_the_answer_and_the_reply_is_the_same_as_without_streaming(
    sample: Path, contract: Contract
) -> None:
    whole = "It doubles each time [1]. It is capped [2, 99]. See [the docs. All](https://evil.example/x) too [1]. End."
    pieces = [whole[n : n + 7] for n in range(0, len(whole), 7)]
    with gemini.serving(gemini.stream(*pieces), gemini.text(whole)) as fake:
        streamed, reply = ask(sample, contract, fake)
        app = App(sample, Settings(answer=AnswerSettings(base_url=fake.url)), contract, LOADED)
        silent = app.call("ask_knowledge_base", {"query": QUESTION})
        app.close()

    assert len(streamed) > 2
    assert "".join(streamed) == reply["answer"] == silent["answer"]
    assert reply["citations"] == silent["citations"]
    assert reply["mode"] == "synthesized"
    assert fake.paths[0].endswith(":streamGenerateContent?alt=sse")
    assert fake.paths[1].endswith(":generateContent")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 13, 1000])
@pytest.mark.parametrize(
    "whole",
    [
        "Look [here. Now](https://evil.example/?q=secret) [1]. ![x. y](//evil.example/p.png) It waits [1].",
        "Wrong [77]. Right [1].\nThe end [2]. ",
        "- one [1]\n- two [1,\n2]\n\n```\nwait(a[0])\n```\nDone [1].",
        "Nested [[1](https://evil.example/x) , 66] and [1]. Tail without a citation.",
    ],
)
def test_no_piece_contains_a_link_or_an_invalid_citation_however_the_text_is_split(
    sample: Path, contract: Contract, whole: str, size: int
) -> None:
    with gemini.serving(gemini.stream(*(whole[n : n + size] for n in range(0, len(whole), size)))) as fake:
        streamed, reply = ask(sample, contract, fake)

    for count in range(len(streamed) + 1):
        shown = "".join(streamed[:count])
        assert "evil" not in shown
        assert "77" not in shown
        assert reply["answer"].startswith(shown)
    assert "".join(streamed) == reply["answer"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (gemini.status(429), "replied 429"),
        (gemini.garbage, "cannot be read"),
        (gemini.nothing, "cannot be reached"),
        (gemini.blocked, "empty"),
        (gemini.stream("  "), "empty"),
        (gemini.stream("I know this ", "without any passage. Really."), "cited no passage"),
        (gemini.cut(), "cannot be reached"),
        (gemini.fails_after(), "replied 503"),
    ],
    ids=["429", "garbage", "closed", "blocked", "blank", "uncited", "cut at once", "error at once"],
)
def test_passages_are_streamed_if_the_model_fails_before_its_first_text(
    sample: Path, contract: Contract, script: gemini.Reply, reason: str
) -> None:
    with gemini.serving(script) as fake:
        streamed, reply = ask(sample, contract, fake)

    assert reply["mode"] == "extractive"
    assert reason in reply["degraded"]
    assert streamed
    assert len(reply["citations"]) > 1
    assert "".join(streamed) == reply["answer"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (gemini.cut("It doubles [1]. ", "Then"), "cannot be reached"),
        (gemini.fails_after("It doubles [1]. ", "Then"), "replied 503"),
        (gemini.stream("It doubles [1]. ", "Then", finish=None), "was truncated"),
    ],
    ids=["cut", "error", "ends without an end"],
)
def test_a_stream_that_breaks_ends_with_quotes_only_in_the_reply(
    sample: Path, contract: Contract, script: gemini.Reply, reason: str
) -> None:
    with gemini.serving(script) as fake:
        streamed, reply = ask(sample, contract, fake)

    assert streamed == ["It doubles [1]."]
    assert (reply["mode"], reason in reply["degraded"]) == ("extractive", True)
    assert reply["citations"]
    assert "hidden-detail" not in str(reply)


def test_a_temporary_failure_before_the_first_piece_is_retried(sample: Path, contract: Contract) -> None:
    with gemini.serving(gemini.status(503), gemini.stream("It doubles [1].")) as fake:
        streamed, reply = ask(sample, contract, fake)

    assert (streamed, reply["mode"], len(fake.requests)) == (["It doubles [1]."], "synthesized", 2)


def test_a_stalled_stream_times_out(sample: Path, contract: Contract) -> None:
    holder: list[FakeGemini] = []
    with gemini.serving(gemini.stalls_after(lambda: holder[0], "It doubles [1]. ", "Then")) as fake:
        holder.append(fake)
        streamed, reply = ask(sample, contract, fake, timeout_seconds=1, attempts=1)

    assert streamed == ["It doubles [1]."]
    assert "in time" in reply["degraded"]


def test_an_endless_slow_stream_times_out(sample: Path, contract: Contract) -> None:
    holder: list[FakeGemini] = []
    with gemini.serving(gemini.drips(lambda: holder[0])) as fake:
        holder.append(fake)
        _, reply = ask(sample, contract, fake, timeout_seconds=1, attempts=1)

    assert "in time" in reply["degraded"]


def test_a_model_that_finds_no_answer_gives_a_single_sentence(sample: Path, contract: Contract) -> None:
    with gemini.serving(gemini.stream("NOT_IN", "_PASSAGES", "\n")) as fake:
        streamed, reply = ask(sample, contract, fake)

    assert streamed == [reply["answer"]]
    assert "do not answer" in reply["answer"]


def test_generation_ends_when_the_client_disconnects(sample: Path, contract: Contract) -> None:
    def leave(text: str) -> None:
        raise Cancelled("The client disconnected.")

    holder: list[FakeGemini] = []
    with gemini.serving(gemini.stalls_after(lambda: holder[0], "It doubles [1]. ", "Then")) as fake:
        holder.append(fake)
        app = App(sample, Settings(answer=AnswerSettings(base_url=fake.url, timeout_seconds=20)), contract, LOADED)
        with pytest.raises(Cancelled):
            app.call("ask_knowledge_base", {"query": QUESTION}, Listener(text=leave))
        app.close()

    assert len(fake.requests) == 1
