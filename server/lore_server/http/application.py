"""Build the application of `lore serve`: all routes behind the guard."""

from collections.abc import Sequence
from contextlib import nullcontext

import mcp_types as types
from mcp.server.transport_security import TransportSecuritySettings
from openapi_core import OpenAPI
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from lore_etl.config.project import private_folder, user_state_folder
from lore_etl.core.dates import timestamp
from lore_etl.core.errors import LoreError, UnknownOperation, UsageError
from lore_etl.core.extras import missing_packages
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_etl.files.redaction import redact
from lore_server.contract import Contract, Operation, contract_file
from lore_server.execution.threads import Call, Calls, noting
from lore_server.execution.tracing import span, traced
from lore_server.http.access import ACCESS
from lore_server.http.arguments import Reader
from lore_server.http.events import Events, answer_events, wants_events
from lore_server.http.guard import LIVE, Guard, check, refused
from lore_server.http.page import READY, Pulse, page_routes, pulse_route
from lore_server.http.protocol import LimitedProtocol
from lore_server.http.rendering import rendering_route
from lore_server.http.site import Site
from lore_server.mcp.lines import MCPServer
from lore_server.mcp.mcp_server import build_server
from lore_server.mcp.tools import Context
from lore_server.replies.problem import in_envelope, problem
from lore_server.services.call_log import ActivityLog

API = "/api"
AUDIT = "audit.log"
GUARDED_ALREADY = TransportSecuritySettings(enable_dns_rebinding_protection=False)
LONGEST_ARGUMENT = 200  # characters in the audit log; texts are longer, and the history of the knowledge has them
NEEDED = {"database", "collection", "keywords", "verification"}  # the parts without which answers may be wrong
STATE = {"state", "branch", "commit", "synced_commit"}  # git's HEAD may differ from the commit of the index


def build_http(
    contract: Contract,
    call: Call,
    site: Site,
    pulse: Pulse,
    toolsets: Sequence[str] | None = None,
    more: Sequence[Route] = (),
) -> ASGIApp:
    """Return the application, with `more` routes before its own."""
    if not missing_packages("team"):
        from lore_server.http.metrics import measured

        call, route = measured(call)
        more = [*more, route]
    mcp = build_server(contract, Calls(contract, permitted(call, contract, site)), toolsets)
    list_only_permitted(mcp, contract, site)
    mcp_app = mcp.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        max_request_body_size=max(operation.max_body_bytes for operation in contract),
        transport_security=GUARDED_ALREADY,
    )
    (mcp_route,) = (route for route in mcp_app.routes if isinstance(route, Route))
    app = Starlette(
        routes=[
            *more,
            *(site.issuer.routes() if site.issuer is not None else ()),
            *page_routes(site, contract),
            rendering_route(),
            pulse_route(pulse, site),
            *api_routes(contract, Calls(contract, call), site),
            mcp_route,
            Route("/mcp/", mcp_route.endpoint),  # as many clients are configured; a redirect would lose the body
        ],
        exception_handlers=dict.fromkeys((HTTPException, ClientDisconnect, Exception), _reported),
        lifespan=lambda _: mcp.session_manager.run(),
    )
    app.router.redirect_slashes = False  # a wrong path is an error, not a redirect
    compressed = GZipMiddleware(app, minimum_size=1000, compresslevel=5)  # it leaves event streams alone
    return traced(Guard(compressed, site, LimitedProtocol.crowd))


async def _reported(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    if isinstance(error, HTTPException):
        address = request.scope["raw_path"].decode("latin-1")[:200]  # the guard removes the name of a known project
        body = problem(UnknownOperation(f"{request.method} {address} is not served here."))
        return JSONResponse(body, error.status_code, error.headers)
    return JSONResponse(problem(error), 500)


def audited(call: Call, contract: Contract, site: Site) -> Call:
    """Return the call with a span, and with a line in the log, with author and outcome, if it may change something."""
    log = ActivityLog(private_folder(user_state_folder()), name=AUDIT)

    def run(operation: str, arguments: JSON, listener: Listener) -> JSON:
        def note(outcome: str) -> None:
            short = {name: _recorded(value) for name, value in arguments.items() if len(str(value)) <= LONGEST_ARGUMENT}
            record = {"at": timestamp(), "author": ACCESS.get().author, "projects": site.asked()}
            log.add({**record, "operation": operation, "arguments": short, "outcome": outcome})

        with span(operation), noting(note) if contract[operation].changes_state else nullcontext():
            return call(operation, arguments, listener)

    return run


def _recorded(value: object) -> object:
    return value if isinstance(value, (int, float)) else redact(str(value))[0]


def permitted(call: Call, contract: Contract, site: Site) -> Call:
    """Return the call for an MCP server, whose tools, resources and completions need the rights of their operations."""

    def run(operation: str, arguments: JSON, listener: Listener) -> JSON:
        try:
            check(contract[operation], site)
        except UsageError as error:
            error.hint = f"Configure the client to send a header. {error.hint}"
            in_envelope(error, contract[operation].envelope, {})
            raise
        return call(operation, arguments, listener)

    return run


def list_only_permitted(mcp: MCPServer, contract: Contract, site: Site) -> None:
    """Leave out of the server's list the tools that the request's token does not allow."""
    listing = mcp.get_request_handler("tools/list")
    assert listing is not None

    async def list_tools(context: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        listed = await listing.handler(context, params)
        assert isinstance(listed, types.ListToolsResult)
        operations = ((tool, contract[tool.name]) for tool in listed.tools)
        allowed = [tool for tool, one in operations if site.serves(one) and ACCESS.get().may(one, site.asked())]
        return listed.model_copy(update={"tools": allowed, "cache_scope": "private"})

    mcp.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)


def api_routes(contract: Contract, calls: Calls, site: Site) -> list[Route]:
    checker = OpenAPI.from_dict(contract.document)

    def route(operation: Operation) -> Route:
        reader = Reader(contract, operation, checker)

        async def endpoint(request: Request) -> Response:
            try:
                check(operation, site)
                arguments = await reader.arguments(request)
                if operation.is_streamed and wants_events(request):
                    return Events(answer_events(operation, operation.accept(arguments), calls))
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
        freshness = {name: value for name, value in health.get("freshness", {}).items() if name in STATE}
        return JSONResponse({"ready": is_ready, **freshness, "checks": checks}, 200 if is_ready else 503)

    async def live(request: Request) -> Response:
        """Tell a supervisor that the process answers; it needs no token and opens nothing."""
        return JSONResponse({"live": True})

    async def contract_text(request: Request) -> Response:
        return Response(contract_file().read_text(encoding="utf-8"), media_type="application/yaml")

    about_server = (f"{API}/openapi.yaml", contract_text), (READY, ready), (LIVE, live)
    return [*map(route, contract), *(Route(path, endpoint) for path, endpoint in about_server)]
