"""Build the application of `lore serve`: all routes behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lore_etl.core.errors import UnknownOperation
from lore_server.contract import Contract
from lore_server.execution.threads import Calls
from lore_server.http.guard import Guard
from lore_server.http.mcp_endpoint import protect
from lore_server.http.page import Pulse, page_routes, pulse_routes, rendering_routes
from lore_server.http.routes import api_routes
from lore_server.http.site import Site
from lore_server.mcp.lines import MCPServer
from lore_server.replies.problem import problem

GUARDED_ALREADY = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def build_http(contract: Contract, calls: Calls, mcp: MCPServer, site: Site, pulse: Pulse) -> ASGIApp:
    protect(mcp, contract, site)
    mcp_app = mcp.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        max_request_body_size=max(operation.max_body_bytes for operation in contract),
        transport_security=GUARDED_ALREADY,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    app = Starlette(
        routes=[
            *page_routes(site),
            *rendering_routes(),
            *pulse_routes(pulse),
            *api_routes(contract, calls, site),
            *_mcp_routes(mcp_app),
        ],
        exception_handlers={HTTPException: _not_routed, ClientDisconnect: _left, Exception: _unforeseen},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # a wrong path is an error, not a redirect
    return Guard(app, site)


def _mcp_routes(mcp_app: Starlette) -> list[Route]:
    """Route `/mcp` and `/mcp/`: many clients are configured with the slash, and a redirect would lose the body."""
    (route,) = (route for route in mcp_app.routes if isinstance(route, Route))
    return [route, Route(f"{route.path}/", route.endpoint)]


async def _left(request: Request, error: Exception) -> Response:
    """Return a response for a client that disconnected during its request; nobody reads it."""
    return Response(status_code=400)


async def _not_routed(request: Request, error: Exception) -> Response:
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    body = problem(UnknownOperation(f"{request.method} {request.url.path[:200]} is not served here."))
    return JSONResponse(body, status, headers)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return JSONResponse(problem(error), 500)
