"""Count and time the calls of a server for Prometheus, at `/metrics`."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lore_etl.core.errors import Forbidden
from lore_etl.core.json_types import JSON
from lore_server.execution.progress import Listener
from lore_server.execution.threads import Call, noting
from lore_server.http.access import Access, Level
from lore_server.http.guard import RIGHTS, refused

METRICS = "/metrics"


class Meter:
    """The metrics of one server; `created` returns when the snapshot of a replica was published."""

    def __init__(self, created: Callable[[], float] | None = None) -> None:
        self._registry = CollectorRegistry()
        labels = ("operation", "outcome")
        self._calls = Histogram("lore_call_seconds", "Duration of calls.", labels, registry=self._registry)
        if created is not None:
            gauge = Gauge("lore_snapshot_created_seconds", "When the snapshot was published.", registry=self._registry)
            gauge.set_function(created)

    def metered(self, call: Call) -> Call:
        """Return the call with a measurement of each operation and its outcome."""

        def run(operation: str, arguments: JSON, listener: Listener) -> JSON:
            began = perf_counter()
            with noting(lambda outcome: self._calls.labels(operation, outcome).observe(perf_counter() - began)):
                return call(operation, arguments, listener)

        return run

    def route(self) -> Route:
        """Return the route, for those who may read every project."""

        async def metrics(request: Request) -> Response:
            access: Access = request.scope[RIGHTS]
            if access.everywhere < Level.READ:
                return refused(Forbidden("This token does not give access to all projects."))
            return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

        return Route(METRICS, metrics)
