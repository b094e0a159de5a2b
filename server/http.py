"""The HTTP face: routes from the contract under /api, MCP at /mcp, the contract itself; on this machine only."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server.lowlevel import Server
from openapi_core import OpenAPI
from openapi_core.contrib.starlette import StarletteOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from etl.errors import InvalidArgument, LoreError, UnknownOperation
from server.app import problem
from server.contract import Contract, Operation, contract_file
from server.listener import NOBODY
from server.mcp.build import Call

API = "/api"
MAX_BODY_BYTES = 1_048_576
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


def build_http(contract: Contract, call: Call, mcp: Server[Any]) -> Starlette:
    """The application of `lore serve`."""
    checker = OpenAPI.from_dict(contract.document)
    routes = [_route(operation, checker, call) for operation in contract]
    routes.append(Route(f"{API}/openapi.yaml", _contract_text, methods=["GET"]))
    mcp_app = mcp.streamable_http_app(streamable_http_path="/mcp", stateless_http=True)
    return Starlette(
        routes=[*routes, *mcp_app.routes],
        middleware=[Middleware(LocalOnly)],
        exception_handlers={HTTPException: _not_routed, Exception: _unforeseen},
        lifespan=lambda _: mcp.session_manager.run(),
    )


class LocalOnly:
    """Refuses requests that a web page elsewhere could have caused: a foreign Host or Origin, on every route."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is local."""
        if scope["type"] == "http":
            headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
            if not is_local_host(headers.get(b"host", "")):
                await JSONResponse(_refused("Host"), 421)(scope, receive, send)
                return
            if b"origin" in headers and not is_local_origin(headers[b"origin"]):
                await JSONResponse(_refused("Origin"), 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def is_local_host(host: str) -> bool:
    """Whether a Host header names this machine."""
    try:
        return urlsplit(f"//{host}").hostname in LOCAL_HOSTS
    except ValueError:
        return False


def is_local_origin(origin: str) -> bool:
    """Whether an Origin header is of a page that this machine served."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.hostname in LOCAL_HOSTS


def _refused(header: str) -> dict[str, Any]:
    return problem(InvalidArgument(f"Requests with this {header} are refused.", "Use http://127.0.0.1 or localhost."))


def _route(operation: Operation, checker: OpenAPI, call: Call) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            arguments = await _arguments(request, operation, checker)
            result = await anyio.to_thread.run_sync(call, operation.id, arguments, NOBODY, abandon_on_cancel=True)
        except _MediaType as error:
            return JSONResponse(problem(error), 415)
        except LoreError as error:
            headers = {"Retry-After": "1"} if error.http_status == 503 else None
            return JSONResponse(problem(error), error.http_status, headers)
        return JSONResponse(result)

    return Route(API + operation.path, endpoint, methods=[operation.method])


class _MediaType(InvalidArgument):
    """The body is of a type that the contract does not have."""


async def _arguments(request: Request, operation: Operation, checker: OpenAPI) -> dict[str, Any]:
    """Path, query and body as one set of arguments: openapi-core reads them, the contract judges them."""
    body = await _body(request)
    given: dict[str, Any] = {**request.query_params, **request.path_params}
    parsed = StarletteOpenAPIRequest(request, body)
    try:
        if operation.method == "GET":
            result = checker.unmarshal_request(parsed)
            return {**given, **result.parameters.query, **result.parameters.path}
        given.update(_json_object(body))
        checker.validate_request(parsed)
    except MediaTypeNotFound as error:
        raise _MediaType("The body must be of type application/json.") from error
    except OpenAPIError as error:
        if _has_media_type_cause(error):
            raise _MediaType("The body must be of type application/json.") from error
        operation.accept(given)  # says it better
        raise InvalidArgument("The request does not fit the contract.") from error
    return given


def _has_media_type_cause(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MediaTypeNotFound):
            return True
        cause = cause.__cause__
    return False


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise InvalidArgument(f"The body is over {MAX_BODY_BYTES:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument("The body is not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidArgument("The body must be a JSON object.")
    return value


async def _contract_text(request: Request) -> Response:
    return Response(contract_file().read_text(encoding="utf-8"), media_type="application/yaml")


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    body = problem(UnknownOperation(f"{request.method} {request.url.path[:200]} is not in the contract."))
    return JSONResponse(body, status)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return JSONResponse(problem(error), 500)
