"""The contract's routes under /api, and the contract itself."""

from __future__ import annotations

from openapi_core import OpenAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.errors import LoreError, TokenRequired
from lore_server.contract import Contract, Operation, contract_file
from lore_server.execution.threads import Calls
from lore_server.http.arguments import Reader
from lore_server.http.events import events_of, streaming_operations, wants_events
from lore_server.http.guard import has_token, refused
from lore_server.http.site import Site
from lore_server.replies.problem import in_envelope

API = "/api"
READY = "/readyz"
NEEDED = {"database", "collection", "keywords", "verification"}  # the parts without which answers may be wrong


def api_routes(contract: Contract, calls: Calls, site: Site) -> list[Route]:
    """Return one route per operation, and one for the contract."""
    streaming, checker = streaming_operations(contract), OpenAPI.from_dict(contract.document)

    def route(operation: Operation) -> Route:
        reader = Reader(contract, operation, checker)

        async def endpoint(request: Request) -> Response:
            try:
                if operation.needs_token and not has_token(request.scope, site):
                    raise TokenRequired(f"{operation.id} needs the token, and the request has none.")
                arguments = await reader.arguments(request)
                if operation.id in streaming and wants_events(request):
                    return await events_of(operation, arguments, calls)
                return JSONResponse(await calls.run(operation.id, arguments))
            except LoreError as error:
                return refused(in_envelope(error, operation.envelope, {}))

        return Route(API + operation.path, endpoint, methods=[operation.method])

    async def ready(request: Request) -> Response:
        """Tell whether searches answer from a sound index, when that was verified last, and what is wrong."""
        try:
            health = await calls.run("healthcheck", {})
        except LoreError as error:
            return refused(error)
        checks = [check for check in health["checks"] if check["part"] in NEEDED]
        is_ready = bool(health["counts"]) and all(check["status"] != "failed" for check in checks)
        return JSONResponse({"ready": is_ready, "checks": checks}, 200 if is_ready else 503)

    return [
        *map(route, contract),
        Route(f"{API}/openapi.yaml", _contract_text, methods=["GET"]),
        Route(READY, ready, methods=["GET"]),
    ]


async def _contract_text(request: Request) -> Response:
    return Response(contract_file().read_text(encoding="utf-8"), media_type="application/yaml")
