"""Parse requests as the contract defines them: path, query and body become one set of arguments.

Only the form is checked here; the contract's validators then check the values, as for every interface.
"""

from __future__ import annotations

import json

from starlette.requests import Request

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.contract import Contract, Operation


class WrongMediaType(InvalidArgument):
    """Raised for a body whose media type is not in the contract."""

    http_status = 415

    def __init__(self) -> None:
        super().__init__("The body must be of type application/json.")


class Reader:
    """A parser of the requests of one operation."""

    def __init__(self, contract: Contract, operation: Operation) -> None:
        spec = contract.document["paths"][operation.path][operation.method.lower()]
        self._operation = operation
        self._known = [parameter["name"] for parameter in spec.get("parameters", ()) if parameter["in"] == "query"]
        self._has_body = "requestBody" in spec

    async def arguments(self, request: Request) -> JSON:
        """Return the arguments of a request, with numbers parsed. Raises InvalidArgument."""
        texts = {**self._query(request), **request.path_params}
        given = {name: self._operation.parsed(name, text) for name, text in texts.items()}
        if self._has_body:
            return {**await json_of(request, self._operation.max_body_bytes), **given}
        body = await _body(request, self._operation.max_body_bytes)
        return {**_json_object(body), **given} if body and _is_json(request) else given

    def _query(self, request: Request) -> dict[str, str]:
        given: dict[str, str] = {}
        for name, text in request.query_params.multi_items():
            if name in given:
                raise InvalidArgument(f"`{name[:60]}` is given twice.")
            if name not in self._known:
                known = ", ".join(self._known) or "none"
                raise InvalidArgument(f"There is no parameter `{name[:60]}`.", f"Parameters: {known}.")
            given[name] = text
        return given


async def json_of(request: Request, max_bytes: int) -> JSON:
    """Return the JSON object in a request body. Raises InvalidArgument."""
    if not _is_json(request):
        raise WrongMediaType()
    return _json_object(await _body(request, max_bytes))


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


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
