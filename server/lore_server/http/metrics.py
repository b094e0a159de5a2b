"""Count and time the calls of a server for Prometheus."""

from time import perf_counter

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lore_etl.core.errors import Forbidden
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_server.execution.threads import Call, noting
from lore_server.http.access import ACCESS, Level
from lore_server.http.guard import refused


def measured(call: Call) -> tuple[Call, Route]:
    """Return the call with a measurement of each outcome, and `/metrics` for those who may read every project."""
    registry = CollectorRegistry()
    seconds = Histogram("lore_call_seconds", "Duration of calls.", ("operation", "outcome"), registry=registry)

    def run(operation: str, arguments: JSON, listener: Listener) -> JSON:
        began = perf_counter()
        with noting(lambda outcome: seconds.labels(operation, outcome).observe(perf_counter() - began)):
            return call(operation, arguments, listener)

    async def metrics(request: Request) -> Response:
        if ACCESS.get().everywhere < Level.READ:
            return refused(Forbidden("This token does not give access to all projects."))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return run, Route("/metrics", metrics)
