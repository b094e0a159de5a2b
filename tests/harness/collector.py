"""A collector of OpenTelemetry on this machine, which decodes what it receives."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector(service.TraceServiceServicer):
    """The received requests."""

    address: str = ""
    requests: list[messages.ExportTraceServiceRequest] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def Export(
        self, request: messages.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> messages.ExportTraceServiceResponse:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return messages.ExportTraceServiceResponse()

    def spans(self, trace: str) -> list[Span]:
        """Return the spans of a trace so far."""
        found = (scope for request in self.requests for one in request.resource_spans for scope in one.scope_spans)
        return [span for scope in found for span in scope.spans if span.trace_id.hex() == trace]

    def wait_for(self, trace: str, count: int) -> dict[str, Span]:
        """Wait until a trace has so many spans, and return them by name."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.spans(trace)) >= count, 60), self.spans(trace)
            return {span.name: span for span in self.spans(trace)}


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector."""
    running = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    service.add_TraceServiceServicer_to_server(running, server)  # type: ignore[no-untyped-call]
    running.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield running
    finally:
        server.stop(None).wait()
