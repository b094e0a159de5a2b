"""Parse an input line as a JSON-RPC message, or produce the error for its sender.

The SDK drops lines that it cannot parse, so their senders would wait forever. Error messages never quote the line.
"""

from __future__ import annotations

import json

import mcp_types as types
from pydantic import ValidationError

from lore_etl.core.json_types import JSON
from lore_etl.core.text import is_encodable

LONGEST_INTEGER = 4000  # digits: Python refuses to convert more than 4,300
ONE_OBJECT = "A message must be one JSON object on its own line; batches are not supported."
NOT_A_REQUEST = 'A message needs `jsonrpc`: "2.0", `method`: a string and, for a reply, `id`: a string or an integer.'


class Malformed(ValueError):
    """A line that is not a message; `reply` is the response to it."""

    def __init__(self, code: int, message: str, value: object = None) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.reply = types.JSONRPCError(jsonrpc="2.0", id=_id_of(value), error=error)


def read_message(line: bytes) -> types.JSONRPCMessage | None:
    """Return the message on a line; None for a blank line or an invalid reply, which JSON-RPC leaves unanswered.

    Raises:
        Malformed: the line is not JSON in UTF-8, or not a JSON-RPC message.
    """
    if not line.strip():
        return None
    value = _decoded(line)
    if not isinstance(value, dict):
        raise Malformed(types.INVALID_REQUEST, ONE_OBJECT)
    try:
        return _kind(value).model_validate(value, by_name=False)
    except ValidationError as error:
        if "method" not in value and value.keys() & {"result", "error"}:
            return None
        if all(problem["loc"][0] == "params" for problem in error.errors()):
            raise Malformed(types.INVALID_PARAMS, "`params` must be an object.", value) from error
        raise Malformed(types.INVALID_REQUEST, NOT_A_REQUEST, value) from error


def _kind(value: JSON) -> type[types.JSONRPCMessage]:
    """Return the intended message type. The SDK's union would read a request with a wrong `id` as a notification."""
    if "method" in value:
        return types.JSONRPCRequest if "id" in value else types.JSONRPCNotification
    return types.JSONRPCResponse if "result" in value else types.JSONRPCError


def _decoded(line: bytes) -> object:
    """Decode a line as JSON, skipping a byte order mark. Raises Malformed, with the id if there is one."""
    value: object = None
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"), parse_int=_integer)
        line.decode("utf-8")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeError as error:
        reason = "The line is not valid UTF-8 or contains a lone surrogate."
        raise Malformed(types.PARSE_ERROR, reason, value) from error
    except RecursionError as error:
        raise Malformed(types.PARSE_ERROR, "The JSON is nested too deeply.", value) from error
    except ValueError as error:
        reason = "The line is not valid JSON, contains a number out of range, or is too long."
        raise Malformed(types.PARSE_ERROR, reason, value) from error
    return value


def _integer(digits: str) -> int | float:
    """Parse a number of any length; too long a number becomes infinite, which is rejected with the id intact."""
    return int(digits) if len(digits) <= LONGEST_INTEGER else float(digits)


def _id_of(value: object) -> int | str | None:
    """Return the id of a message if it can be sent back."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, str):
        return found if is_encodable(found) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None
