"""Routes from the contract under /api, and the contract itself."""

from __future__ import annotations

import json
from typing import Any

import anyio.to_thread
from openapi_core import OpenAPI
from openapi_core.contrib.starlette import StarletteOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from etl.errors import InvalidArgument, LoreError, TokenRequired
from server.contract import Contract, Operation, contract_file
from server.http.guard import has_token, refused
from server.http.site import Site
from server.listener import NOBODY
from server.mcp.build import Call

API = "/api"
MAX_BODY_BYTES = 1_048_576


def api_routes(contract: Contract, call: Call, site: Site) -> list[Route]:
    """One route for each operation, and the contract as text."""
    checker = OpenAPI.from_dict(contract.document)
    routes = [_route(operation, checker, call, site) for operation in contract]
    return [*routes, Route(f"{API}/openapi.yaml", _contract_text, methods=["GET"])]


def _route(operation: Operation, checker: OpenAPI, call: Call, site: Site) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            if operation.changes_state and not has_token(request.scope, site):
                raise TokenRequired(f"{operation.id} changes something, and the request has no token.")
            arguments = await _arguments(request, operation, checker)
            result = await anyio.to_thread.run_sync(call, operation.id, arguments, NOBODY, abandon_on_cancel=True)
        except _MediaType as error:
            return refused(error, 415)
        except LoreError as error:
            return refused(error)
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
