"""`lore serve` refuses what a foreign page could send, and answers every bad request in the same form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from server.contract import Contract, contract_file
from tests.harness.faces import serving


@pytest.fixture(scope="module")
def url(sample: Path) -> Iterator[str]:
    with serving(sample) as address:
        yield address


ROUTES = [
    ("GET", "/api/healthcheck"), ("GET", "/api/documents"), ("GET", "/api/openapi.yaml"),
    ("POST", "/api/documents/query"), ("POST", "/mcp"), ("GET", "/nowhere"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421), ("Host", "127.0.0.1.evil.example", 421), ("Host", "", 421),
        ("Host", "[::1", 421), ("Origin", "http://evil.example", 403), ("Origin", "null", 403),
        ("Origin", "file://", 403), ("Origin", "http://127.0.0.1@evil.example", 403),
        ("Origin", "http://localhost.evil.example", 403),
    ],
)  # fmt: skip
def test_a_foreign_host_or_origin_is_refused_on_every_route(
    url: str, method: str, path: str, header: str, value: str, status: int
) -> None:
    reply = httpx2.request(method, url + path, headers={header: value})

    assert reply.status_code == status


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7317", "http://localhost:3000", "http://[::1]:80"])
def test_pages_of_this_machine_are_answered(url: str, origin: str) -> None:
    assert httpx2.get(f"{url}/api/documents?limit=1", headers={"Origin": origin}).status_code == 200


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
        ("DELETE", "/api/documents", {}, 405, "UNKNOWN_OPERATION"),
        ("POST", "/api/db/data/manage", {"content": b'{"action": "delete"}'}, 409, "CONFIRMATION_REQUIRED"),
    ],
)
def test_a_bad_request_gets_its_status_and_the_common_error(
    url: str, method: str, path: str, sent: dict[str, bytes], status: int, code: str
) -> None:
    reply = httpx2.request(method, url + path, headers={"Content-Type": "application/json"}, **sent)  # type: ignore[arg-type]

    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.json().keys() == {"error", "code", "message", "hint", "trace_id"}


def test_a_body_of_another_type_is_refused(url: str) -> None:
    reply = httpx2.post(f"{url}/api/documents/query", content=b'{"query": "x"}', headers={"Content-Type": "text/plain"})

    assert reply.status_code == 415


def test_the_contract_itself_is_served(url: str) -> None:
    assert yaml.safe_load(httpx2.get(f"{url}/api/openapi.yaml").text) == yaml.safe_load(contract_file().read_text())


SAFE = ["query_documents", "get_class_hierarchy", "list_documents", "get_document_by_id"]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("name", SAFE)
def test_generated_requests_never_break_the_contract(
    url: str, contract: Contract, name: str, mode: GenerationMode
) -> None:
    """schemathesis makes requests from the contract, right ones and wrong ones, and checks every reply against it."""
    schema = schemathesis.openapi.from_dict(contract.document)
    operation = schema.find_operation_by_id(name)

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=f"{url}/api")

    check()
