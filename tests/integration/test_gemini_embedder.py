"""GeminiEmbedder with the real client against a local server with the format of batchEmbedContents."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import ConfigError, ProviderError, ProviderUnavailable
from lore_etl.index import Index
from lore_etl.models.embedder import Embedder
from lore_etl.pipeline.sync import sync
from tests.harness.local_server import QuietHandler
from tests.harness.model_server import (
    GEMINI,
    Reply,
    embeddings,
    garbage,
    nothing,
    send,
    serving,
    text_of,
    values_of,
)  # fmt: skip
from tests.harness.projects import ids_everywhere, write_project
from tests.harness.refusals import refused

pytestmark = pytest.mark.later

MODEL = "gemini-embedding-001"
BATCH, DIMENSION = 100, 768  # the maximum of the API for one request, and the length of its vectors


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "a-test-key")


def refusing(word: str) -> Reply:
    """Answer every request that contains the word with status 400."""

    def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
        is_bad = any(word in text_of(request) for request in body["requests"])
        (GEMINI.status(400) if is_bad else embeddings())(handler, body)

    return reply


def embedder(url: str | None) -> Embedder:
    from lore_etl.models.gemini_embedder import GeminiEmbedder  # its library takes a second to import

    return GeminiEmbedder(MODEL, url, first_delay=0.01)


@pytest.mark.requirement("NEO-057")
def test_the_request_matches_the_api_and_vectors_have_length_one() -> None:
    with serving(embeddings()) as server:
        found, asked = embedder(server.url).embed(["one", "two"]), embedder(server.url).embed_query("where?")

    assert all(re.fullmatch(rf"/v1(beta)?/models/{MODEL}:batchEmbedContents(\?.*)?", path) for path in server.paths)
    assert {name.lower(): value for name, value in server.headers[0].items()}["x-goog-api-key"] == "a-test-key"
    sent = [request for body in server.requests for request in body["requests"]]
    assert [(text_of(request), request["taskType"], request["outputDimensionality"]) for request in sent] == [
        ("one", "RETRIEVAL_DOCUMENT", DIMENSION),
        ("two", "RETRIEVAL_DOCUMENT", DIMENSION),
        ("where?", "RETRIEVAL_QUERY", DIMENSION),
    ]
    expected = np.array([values_of("one"), values_of("two")], dtype=np.float32)
    assert np.allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    assert asked.shape == (DIMENSION,)


@pytest.mark.parametrize("count", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH + 1])
def test_texts_are_sent_in_batches_and_keep_their_order(count: int) -> None:
    texts = [f"text number {n}" for n in range(count)]
    with serving(embeddings()) as server:
        found = embedder(server.url).embed(texts)

    assert found.shape == (count, DIMENSION)
    assert [text_of(request) for body in server.requests for request in body["requests"]] == texts
    assert all(len(body["requests"]) <= BATCH for body in server.requests)
    if count:
        last = np.array(values_of(texts[-1]), dtype=np.float32)
        assert np.allclose(found[-1], last / np.linalg.norm(last), atol=1e-6)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_temporary_failure_is_retried(code: int) -> None:
    with serving(GEMINI.status(code), GEMINI.status(code), embeddings()) as server:
        found = embedder(server.url).embed(["one"])

    assert found.shape == (1, DIMENSION)
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [429, 500, 403])
def test_a_lasting_failure_is_reported_as_unavailable_after_a_few_retries_without_secrets(code: int) -> None:
    with serving(GEMINI.status(code)) as server, pytest.raises(ProviderUnavailable) as caught:
        embedder(server.url).embed(["one"])

    assert caught.value.message == f"Gemini embeddings failed: {code}."
    assert "hidden" not in caught.value.message + caught.value.hint
    assert len(server.requests) == (1 if code == 403 else 5)


UNUSABLE = {
    "no JSON": garbage,
    "a closed connection": nothing,
    "another dimension": embeddings(dimension=8),
    "too few vectors": embeddings(fewer=1),
    "an empty object": lambda handler, _: send(handler, 200, b"{}"),
    "a list": lambda handler, _: send(handler, 200, b"[1]"),
    "words for numbers": lambda handler, _: send(handler, 200, b'{"embeddings": [{"values": ["a"]}]}'),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_reply_is_reported(reply: Reply) -> None:
    with serving(reply) as server, pytest.raises(ProviderUnavailable):
        embedder(server.url).embed(["one", "two"])


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_zero_vector_is_reported_as_a_failure_of_its_text(value: float) -> None:
    body = json.dumps({"embeddings": [{"values": [value] * DIMENSION}]}).encode()
    with serving(lambda handler, _: send(handler, 200, body)) as server, pytest.raises(ProviderError) as caught:
        embedder(server.url).embed(["one"])

    assert not isinstance(caught.value, ProviderUnavailable)


def test_without_a_key_the_configuration_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")

    with pytest.raises(ConfigError, match="GEMINI_API_KEY"):
        embedder(None)


PAGES = {f"docs/{n}.md": f"# Page {n}\n\nlighthouse number{n}\n" for n in range(40)}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    yield write_project(tmp_path, PAGES)


def open_gemini(project: Path, url: str) -> Index:
    settings = Settings.model_validate({"embedding": {"provider": "gemini", "base_url": url}})
    return Index(project.resolve(), settings)


def test_a_text_refused_by_gemini_does_not_prevent_indexing_the_others(project: Path) -> None:
    with serving(refusing("number7\n")) as server, closing(open_gemini(project, server.url)) as index:
        pages = {**PAGES, "docs/7.md": "# Page 7\n\nlighthouse number7\n\nmore\n"}
        write_project(project, pages)
        report = sync(index)

        assert [(failure.source, "400" in failure.reason) for failure in report.failed] == [("docs/7.md", True)]
        assert report.embedded == len(PAGES) - 1
        chunks, vectors, words = ids_everywhere(index)
        assert (len(chunks), len(vectors), len(words)) == (40, 39, 40)


@pytest.mark.requirement("NEO-062")
def test_an_unavailable_api_ends_the_sync_immediately_and_the_next_sync_resumes(project: Path) -> None:
    with serving(GEMINI.status(403)) as server, closing(open_gemini(project, server.url)) as index:
        with refused(ProviderUnavailable, hint="sync again"):
            sync(index)
        assert len(server.requests) == 1

        server.script[:] = [embeddings()]
        report = sync(index)

        assert (report.embedded, report.failed) == (40, [])
        assert index.catalogue.waiting() == 0
