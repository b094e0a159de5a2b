"""Test that `lore serve` follows the contract and reports every bad request in the same format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
import pytest
import yaml
from hypothesis import given

from lore_server.contract import Contract, contract_file
from tests.harness import http_client
from tests.harness.commands import LONG_SECONDS, SECONDS
from tests.harness.interfaces import bearer, serving
from tests.harness.trying import is_long, trying

if TYPE_CHECKING:  # it takes a second to import, in every worker
    import schemathesis


@pytest.fixture(scope="module")
def url(sample: Path) -> Iterator[str]:
    with serving(sample) as address:
        yield address


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "code"),
    [
        ("POST", "/api/documents/query", {"content": b"{"}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b"\xff\xfe"}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b"[" * 100_000}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b"[]"}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b'{"query": NaN}'}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b'"' + b"x" * 1_100_000 + b'"'}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query", {"content": b'{"query": "\\ud800"}'}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/documents?limit=abc", {}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/documents?limit=0", {}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/documents?limt=5", {}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/documents?type=guides", {}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/documents/nope", {}, 404, "DOCUMENT_NOT_FOUND"),
        ("GET", "/api/knowledge/hierarchy?root=Nope9", {}, 404, "CLASS_NOT_FOUND"),
        ("GET", "/api/nowhere", {}, 404, "UNKNOWN_OPERATION"),
        ("GET", "/api/documents?limit=5&limit=6", {}, 400, "INVALID_ARGUMENT"),
        ("POST", "/api/documents/query?limit=5", {"content": b'{"query": "x"}'}, 400, "INVALID_ARGUMENT"),
        ("GET", "/api/jobs/nope", {}, 404, "JOB_NOT_FOUND"),
        ("GET", "/api/jobs/nope?wait_seconds=x", {}, 400, "INVALID_ARGUMENT"),
        ("DELETE", "/api/documents", {}, 405, "UNKNOWN_OPERATION"),
        ("POST", "/api/db/data/manage", {"content": b'{"action": "delete"}'}, 409, "CONFIRMATION_REQUIRED"),
        ("POST", "/api/jobs/nope/cancel", {}, 404, "JOB_NOT_FOUND"),
        ("POST", "/api/jobs/nope/cancel", {"content": b'{"id": 3, "x": 4}'}, 400, "INVALID_ARGUMENT"),
    ],
)
def test_a_bad_request_gets_its_status_and_the_common_error_format(
    url: str, sample: Path, method: str, path: str, sent: dict[str, bytes], status: int, code: str
) -> None:
    headers = {"Content-Type": "application/json", **bearer(sample)}
    reply = http_client.request(method, url + path, headers=headers, **sent)  # type: ignore[arg-type]

    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.json().keys() == {"error", "code", "message", "hint", "trace_id"}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_with_another_content_type_is_refused(url: str, kind: str) -> None:
    headers = {"Content-Type": kind} if kind else {}
    reply = http_client.post(f"{url}/api/documents/query", content=b'{"query": "x"}', headers=headers)

    assert (reply.status_code, reply.json()["code"]) == (415, "INVALID_ARGUMENT")


def test_a_sync_over_http_runs_as_a_job(url: str, sample: Path) -> None:
    with httpx2.Client(base_url=f"{url}/api", headers=bearer(sample), timeout=LONG_SECONDS) as client:
        job = client.post("/db/data/manage", json={"action": "sync", "wait_seconds": 600}).json()

        assert (job["state"], job["report"]["failed"]) == ("done", [])
        assert client.get(f"/jobs/{job['id']}").json() == client.get("/jobs/latest").json() == job
        assert client.post(f"/jobs/{job['id']}/cancel").json() == job


def test_the_contract_is_served(url: str) -> None:
    served = http_client.get(f"{url}/api/openapi.yaml").text
    assert yaml.safe_load(served) == yaml.safe_load(contract_file().read_text())


@pytest.mark.parametrize("id_", ["\n", "\t", "a\nb", "?", "a?b", "#", "\\", ";", "%", "%41", "{id}", " ", "☂"])
def test_an_id_of_any_characters_is_looked_up_as_it_is(url: str, id_: str) -> None:
    reply = http_client.get(f"{url}/api/documents/{quote(id_, safe='')}?max_tokens=587")

    assert (reply.status_code, reply.json()["code"]) == (404, "DOCUMENT_NOT_FOUND")
    assert reply.json()["message"] == f"There is no document with the id `{id_}`."


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


SAFE = [
    "query_documents", "get_class_hierarchy", "list_documents", "get_document_by_id", "list_sources", "get_source",
]  # fmt: skip
KNOWLEDGE = ["get_project_main", "get_knowledge_file", "get_chapter", "get_knowledge_history", "search_knowledge"]


@pytest.mark.parametrize("mode", ["positive", "negative"], ids=["right", "wrong"])
@pytest.mark.parametrize("name", [*SAFE, *KNOWLEDGE])
@pytest.mark.promise(28)
def test_generated_requests_never_break_the_contract(url: str, contract: Contract, name: str, mode: str) -> None:
    """Let schemathesis send valid and invalid requests from the contract, and check every reply."""
    import schemathesis
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    # a name or commit that matches the schema may still be invalid, and is refused
    excluded: list[Any] = [positive_data_acceptance] if name in KNOWLEDGE else []
    schema = schemathesis.openapi.from_dict(contract.document)
    operation = schema.find_operation_by_id(name)

    @trying(48 if is_long() else 8, database=None)  # 10,000 requests in the long run
    @given(operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def check(case: schemathesis.Case[Any]) -> None:
        if mode == "positive":  # invented cursors, languages, dates and commits match the schema but are refused
            for part in (case.query, case.body):
                if isinstance(part, dict):
                    for argument in ("cursor", "lang", "after", "before", "since"):
                        part.pop(argument, None)
                    if any(not path.strip() for path in as_list(part.get("path", []))):
                        part["path"] = "docs"  # instead of nothing but white space
                    query = part.get("query")
                    if isinstance(query, str):
                        part["query"] = query.replace('"', "'")  # a quote must be closed
        case.call_and_validate(base_url=f"{url}/api", timeout=SECONDS, excluded_checks=excluded)

    check()
