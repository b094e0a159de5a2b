"""Spans of calls and jobs for OpenTelemetry: `lore serve` sends them if its environment names a collector."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from lore_server.execution.threads import noting

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
END_SECONDS = 5.0  # for the last spans
_tracers: list[Tracer] = []  # not OpenTelemetry's own, so that no library adds spans with texts


@contextmanager
def span(name: str) -> Iterator[None]:
    """Make a span with this name and the outcome, and with nothing else of the call or job."""
    if not _tracers:
        yield
        return
    from opentelemetry.trace import StatusCode

    with _tracers[0].start_as_current_span(name, record_exception=False, set_status_on_exception=False) as made:
        try:
            with noting(lambda outcome: made.set_attribute("lore.outcome", outcome)):
                yield
        except BaseException:
            made.set_status(StatusCode.ERROR)
            raise


def traced(app: ASGIApp) -> ASGIApp:
    """Return the application whose spans belong to those of its clients, or the same one if none are to be sent."""
    if not os.environ.get(VARIABLE):
        return app
    from opentelemetry.context import attach
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.propagate import extract
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "lore"}).merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracers[:] = [provider.get_tracer("lore")]

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        attach(extract({name.decode("latin-1"): value.decode("latin-1") for name, value in scope.get("headers", ())}))

        async def told(message: Message) -> None:
            if message["type"] == "lifespan.shutdown.complete":  # the process may end right after it
                with anyio.move_on_after(END_SECONDS):
                    await anyio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)
            await send(message)

        await app(scope, receive, told)

    return run
