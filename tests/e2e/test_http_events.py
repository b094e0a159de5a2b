"""Follow an answer as server-sent events over a real connection."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.harness import http_client, model_server
from tests.harness.commands import SECONDS
from tests.harness.interfaces import serving
from tests.harness.model_server import GEMINI, honest
from tests.harness.projects import copy_project

EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def project(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the sample that tests may change."""
    folder = copy_project(sample, tmp_path_factory.mktemp("events") / "ferry", "token")
    (folder / "lore.toml").write_text("[owner]\nauto_sync_files = 0\n")  # otherwise the server may sync before a test
    return folder


def events(reply: httpx2.Response) -> Iterator[tuple[str, Any]]:
    """Yield the events of a response as they arrive."""
    name = ""
    for line in reply.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def ask(url: str, query: str, **headers: str) -> list[tuple[str, Any]]:
    with httpx2.stream(
        "POST", f"{url}/api/knowledge/ask", json={"query": query}, headers=headers, timeout=SECONDS
    ) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        return list(events(reply))


def test_an_answer_streams_and_ends_with_the_ordinary_reply(project: Path) -> None:
    with serving(project) as url:
        *texts, (last, result) = ask(url, "How do retries back off?", **EVENTS)
        plain = httpx2.post(
            f"{url}/api/knowledge/ask", json={"query": "How do retries back off?"}, timeout=SECONDS
        ).json()
        refused = http_client.post(f"{url}/api/knowledge/ask", json={"query": ""}, headers=EVENTS)
        unasked = httpx2.post(
            f"{url}/api/knowledge/ask",
            json={"query": "x"},
            headers={"Accept": "*/*, text/event-stream;q=0"},
            timeout=SECONDS,
        )

    assert last == "result"
    assert {name for name, _ in texts} == {"text"}
    assert texts
    assert "".join(text for _, text in texts) == result["answer"]
    assert {**result, "freshness": None} == {**plain, "freshness": None}
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_ARGUMENT")
    assert unasked.headers["content-type"] == "application/json"


def test_an_answer_from_gemini_arrives_while_it_is_being_written(project: Path) -> None:
    stalled = GEMINI.stalls_after(lambda prompt: honest("It doubles.", "Then")(prompt)[:-9])
    with model_server.serving(stalled) as fake:
        endpoint = {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": fake.url}
        with (
            serving(project, variables=endpoint) as url,
            httpx2.stream(
                "POST", f"{url}/api/knowledge/ask", json={"query": "retry"}, headers=EVENTS, timeout=SECONDS
            ) as reply,
        ):
            found = events(reply)
            assert next(found) == ("text", "It doubles. [1]")
            fake.released.set()
            name, result = next(found)

    assert (name, result["mode"]) == ("result", "extractive")
    assert "the connection to the answer model failed" in result["degraded"]


def test_a_missing_index_is_reported_as_a_problem(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        ((name, problem),) = ask(url, "anything", **EVENTS)

    assert (name, problem["code"]) == ("problem", "INDEX_MISSING")
