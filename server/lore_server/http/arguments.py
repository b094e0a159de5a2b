"""Read the arguments of a request: its path, its query and its body become one set, which the contract validates."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.requests import Request

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.contract import Operation


class WrongMediaType(InvalidArgument):
    """Raised for a body whose media type is not in the contract."""

    http_status = 415

    def __init__(self) -> None:
        super().__init__("The body must be of type application/json.")


async def arguments_of(request: Request, operation: Operation) -> JSON:
    """Return the arguments of a request to an operation.

    Raises:
        InvalidArgument: they are not valid; if the operation logs rejected calls, it checks them itself.
    """
    names = [name for name in operation.input_schema["properties"] if name not in request.path_params]
    is_in_query = operation.method == "GET"
    texts = {**_query(request, names if is_in_query else ()), **request.path_params}
    given = {name: operation.parsed(name, text) for name, text in texts.items()}
    body = await _body(request, operation.max_body_bytes)
    if body and _is_json(request):
        given = {**_json_object(body), **given}
    elif body and names and not is_in_query:
        raise WrongMediaType()
    if not operation.is_about_knowledge:
        operation.accept(given)
    return given


def _query(request: Request, known: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name, text in request.query_params.multi_items():
        if name in given:
            raise InvalidArgument(f"`{name[:60]}` is given twice.")
        if name not in known:
            hint = f"Parameters: {', '.join(known) or 'none'}."
            raise InvalidArgument(f"There is no parameter `{name[:60]}`.", hint)
        given[name] = text
    return given


async def json_of(request: Request, max_bytes: int) -> JSON:
    """Return the JSON object in a request body. Raises InvalidArgument."""
    if not _is_json(request):
        raise WrongMediaType()
    return _json_object(await _body(request, max_bytes))


def _is_json(request: Request) -> bool:
    media_type = request.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "application/json"


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
