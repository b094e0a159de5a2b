"""Parse requests as the contract defines them. openapi-core parses types; the contract then checks the values."""

import json
import re

from openapi_core import OpenAPI
from openapi_core.contrib.starlette import StarletteOpenAPIRequest
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.media_types.exceptions import MediaTypeNotFound
from starlette.requests import Request

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.contract import Contract, Operation

JSON_ONLY = "The body must be of type application/json."


class WrongMediaType(InvalidArgument):
    """Raised for a body whose media type is not in the contract."""

    http_status = 415


class _OpenAPIRequest(StarletteOpenAPIRequest):  # type: ignore[misc]
    def __init__(self, request: Request, body: bytes, path: str) -> None:
        super().__init__(request, body)
        self._path = path

    @property
    def path(self) -> str:
        """Return a path of the operation: openapi-core takes some characters in a parameter for parts of a URL."""
        return self._path

    @property
    def content_type(self) -> str:
        """Return the media type without its parameters, because openapi-core fails on unusual ones."""
        return _media_type(self.request) or "application/octet-stream"


class Reader:
    """A parser of the requests of one operation; all readers share the checker."""

    def __init__(self, contract: Contract, operation: Operation, checker: OpenAPI) -> None:
        spec = operation.spec
        self._operation = operation
        self._checker = checker
        self._path = contract.document["servers"][0]["url"] + re.sub(r"\{\w+\}", "-", operation.path)
        self._known = [parameter["name"] for parameter in spec.get("parameters", ()) if parameter["in"] == "query"]
        self._has_body = "requestBody" in spec

    async def arguments(self, request: Request) -> JSON:
        """Return the arguments of a request, with numbers parsed. Raises InvalidArgument."""
        given: JSON = {**self._query(request), **request.path_params}
        body = await _body(request, self._operation.max_body_bytes)
        if body and _is_json(request):
            given = {**_json_object(body), **given}
        try:
            sent = _OpenAPIRequest(request, body, self._path)
            if self._has_body:  # its values are typed already, so it is only checked (saves 1.3 ms per request)
                self._checker.validate_request(sent)
                return given
            result = self._checker.unmarshal_request(sent)
            result.raise_for_errors()
            return {**given, **result.parameters.query}
        except OpenAPIError as error:
            if self._has_body and isinstance(error.__cause__, MediaTypeNotFound):
                raise WrongMediaType(JSON_ONLY) from error
            return self._refused(given, error)
        except RecursionError as error:
            raise InvalidArgument("The body is nested too deeply.") from error

    def _refused(self, given: JSON, error: OpenAPIError) -> JSON:
        """Return invalid arguments of an operation that logs rejected calls. Raises InvalidArgument for any other."""
        try:
            self._operation.accept(given)
        except InvalidArgument:
            if self._operation.is_about_knowledge:
                return given
            raise
        raise InvalidArgument("The request does not match the contract.") from error

    def _query(self, request: Request) -> JSON:
        given: JSON = {}
        for name, text in request.query_params.multi_items():
            if name in given:
                raise InvalidArgument(f"`{name[:60]}` is given twice.")
            if name not in self._known:
                known = ", ".join(self._known) or "none"
                raise InvalidArgument(f"There is no parameter `{name[:60]}`.", f"Parameters: {known}.")
            given[name] = text
        return given


async def json_of(request: Request, max_bytes: int) -> JSON:
    if not _is_json(request):
        raise WrongMediaType(JSON_ONLY)
    return _json_object(await _body(request, max_bytes))


def _is_json(request: Request) -> bool:
    return _media_type(request) == "application/json"


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _body(request: Request, max_bytes: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise InvalidArgument(f"The body is over {max_bytes:,} bytes.")
        parts.append(part)
    return b"".join(parts)


def _json_object(body: bytes) -> JSON:
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument("The body is not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidArgument("The body must be a JSON object.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")
