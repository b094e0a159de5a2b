"""Requests read as the contract says: path, query and body as one set of arguments. What they hold it judges itself."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request

from etl.errors import InvalidArgument
from server.contract import Contract, Operation

MAX_BODY_BYTES = 1_048_576
_INTEGER = re.compile(r"-?[0-9]{1,15}")


class WrongMediaType(InvalidArgument):
    """The body is of a type that the contract does not have."""

    http_status = 415


class Reader:
    """Reads the requests of one operation."""

    def __init__(self, contract: Contract, operation: Operation) -> None:
        spec = contract.document["paths"][operation.path][operation.method.lower()]
        places = {one["name"]: one["in"] for one in spec.get("parameters", ())}
        schemas = operation.input_schema["properties"]
        self._kinds = {name: schemas[name].get("type") for name, place in places.items() if place == "query"}
        self._has_body = "requestBody" in spec

    async def arguments(self, request: Request) -> dict[str, Any]:
        """What was given, with numbers for numbers. Raises InvalidArgument."""
        given: dict[str, Any] = {**request.path_params, **self._query(request)}
        body = await _body(request)
        if self._has_body:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise WrongMediaType("The body must be of type application/json.")
        if not body and not self._has_body:
            return given
        return {**_json_object(body), **given}

    def _query(self, request: Request) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, text in request.query_params.multi_items():
            if name in given:
                raise InvalidArgument(f"`{name[:60]}` is given twice.")
            if name not in self._kinds:
                known = ", ".join(self._kinds) or "none"
                raise InvalidArgument(f"There is no parameter `{name[:60]}`.", f"Parameters: {known}.")
            given[name] = _value(text, self._kinds[name])
        return given


def _value(text: str, kind: str | None) -> Any:
    """The text as what the contract wants; what does not fit is left for the contract to refuse."""
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


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
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument("The body is not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidArgument("The body must be a JSON object.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
