"""Spans for OpenTelemetry: sent only if the environment names a collector, below those of clients, without texts."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client as McpClient
from mcp.shared.exceptions import MCPError
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from tests.harness import http_client
from tests.harness.collector import Collector, collecting
from tests.harness.commands import synced_project
from tests.harness.interfaces import bearer, mcp_over_http, serving
from tests.harness.owners import stop_owners
from tests.harness.ports import free_port
from tests.harness.projects import write_project

SECRET = "harbour-that-nobody-may-know"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = synced_project(tmp_path_factory.mktemp("tracing"), {"lore.toml": "", f"{SECRET}.md": f"# {SECRET}\n"})
    stop_owners(folder)
    return folder


@pytest.fixture(scope="module")
def url(project: Path, collector: Collector) -> Iterator[str]:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "OTEL_BSP_SCHEDULE_DELAY": "50"}
    with serving(project, variables=variables) as address:
        yield address


@pytest.fixture
def parent() -> SpanContext:
    """The span of a client."""
    trace, span = (int.from_bytes(secrets.token_bytes(size)) for size in (16, 8))
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def trace_of(parent: SpanContext) -> str:
    return f"{parent.trace_id:032x}"


def header(parent: SpanContext) -> dict[str, str]:
    return {"traceparent": f"00-{trace_of(parent)}-{parent.span_id:016x}-01"}


def outcome(span: Span) -> str:
    (attribute,) = span.attributes
    assert attribute.key == "lore.outcome"
    return str(attribute.value.string_value)


def test_a_request_becomes_a_span_below_that_of_its_client(url: str, collector: Collector, parent: SpanContext) -> None:
    http_client.post(f"{url}/api/documents/query", json={"query": SECRET}, headers=header(parent)).raise_for_status()
    span = collector.wait_for(trace_of(parent), 1)["query_documents"]

    assert span.parent_span_id.hex() == f"{parent.span_id:016x}"
    assert (outcome(span), span.status.code) == ("done", Status.STATUS_CODE_UNSET)
    assert span.end_time_unix_nano > span.start_time_unix_nano


def test_a_tool_call_becomes_a_span_below_that_of_its_agent(
    url: str, collector: Collector, parent: SpanContext
) -> None:
    async def call() -> None:
        async with McpClient(mcp_over_http(url, {})) as client:
            await client.call_tool("query_documents", {"query": SECRET})

    with use_span(NonRecordingSpan(parent)):
        anyio.run(call)
    span = collector.wait_for(trace_of(parent), 1)["query_documents"]

    assert (span.parent_span_id.hex(), outcome(span)) == (f"{parent.span_id:016x}", "done")


def test_a_job_becomes_a_span_below_the_call_that_started_it(
    url: str, project: Path, collector: Collector, parent: SpanContext
) -> None:
    headers = {**bearer(project), **header(parent)}
    http_client.post(f"{url}/api/db/data/manage", json={"action": "sync"}, headers=headers).raise_for_status()
    spans = collector.wait_for(trace_of(parent), 2)

    assert spans.keys() == {"manage_knowledge_base", "job sync"}
    assert spans["job sync"].parent_span_id == spans["manage_knowledge_base"].span_id
    assert {outcome(span) for span in spans.values()} == {"done"}


@pytest.mark.parametrize(
    ("path", "code"), [(f"source?path={SECRET}.txt", "DOCUMENT_NOT_FOUND"), (f"source?{SECRET}=1", "")]
)
def test_a_failed_call_has_its_code_and_no_text(
    url: str, collector: Collector, parent: SpanContext, path: str, code: str
) -> None:
    http_client.get(f"{url}/api/{path}", headers=header(parent))
    http_client.get(f"{url}/api/healthcheck", headers=header(parent)).raise_for_status()
    spans = collector.wait_for(trace_of(parent), 2 if code else 1)

    assert spans.keys() == {"get_source", "healthcheck"} if code else {"healthcheck"}
    if code:
        assert (outcome(spans["get_source"]), spans["get_source"].status.code) == (code, Status.STATUS_CODE_ERROR)


def test_no_span_has_a_text_or_a_path(url: str, collector: Collector, parent: SpanContext) -> None:
    async def read() -> None:
        async with McpClient(mcp_over_http(url, header(parent))) as client:
            await client.list_tools()
            await client.read_resource(f"lore://source/{SECRET}.md")
            for call in (client.read_resource(f"lore://source/{SECRET}.txt"), client.call_tool(SECRET, {})):
                with pytest.raises(MCPError, match=SECRET):
                    await call

    anyio.run(read)
    http_client.get(f"{url}/api/documents/{SECRET}", headers=header(parent))
    collector.wait_for(trace_of(parent), 2)

    assert collector.requests
    assert SECRET not in str(collector.requests)
    services: list[Any] = [one.resource.attributes for request in collector.requests for one in request.resource_spans]
    assert {(one.key, one.value.string_value) for some in services for one in some} == {("service.name", "lore")}


def test_the_last_spans_are_sent_when_the_server_stops(
    collector: Collector, parent: SpanContext, tmp_path: Path
) -> None:
    other = write_project(tmp_path, {"lore.toml": "", "README.md": "# Ferry\n"})
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "OTEL_BSP_SCHEDULE_DELAY": "600000"}
    with serving(other, variables=variables) as url:
        http_client.get(f"{url}/api/healthcheck", headers=header(parent)).raise_for_status()
        assert not collector.spans(trace_of(parent))

    assert collector.wait_for(trace_of(parent), 1).keys() == {"healthcheck"}


def test_a_collector_that_is_away_costs_no_answer(project: Path, tmp_path: Path) -> None:
    other = write_project(tmp_path, {"lore.toml": "", "README.md": "# Ferry\n"})
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}", "OTEL_BSP_SCHEDULE_DELAY": "50"}
    with serving(other, variables=variables) as url:
        assert http_client.get(f"{url}/api/healthcheck").status_code == 200


def test_without_a_collector_nothing_is_imported_or_wrapped() -> None:
    program = (
        "import sys; from lore_server.cli import serve; from lore_server.execution.tracing import span, traced;"
        "import lore_server.http.application\n"
        "with span('x'): app = object(); assert traced(app) is app\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exp', 'grpc'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"
