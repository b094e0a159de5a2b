"""What a failure of the connection means for the memories: what HTTP said, and what the MCP client made of it."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator

import httpx2
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from lore_etl.core.errors import LoreError
from lore_server.hook.failures import Unreachable, Unwilling, UploadRefused

_CLOSED, _TIMED_OUT = types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT
_LATER = frozenset({429, 503})


class Wire:
    """What HTTP said and the SDK does not pass on: the status of a refusal, and when to come back."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Before the next call."""
        self.status, self.wait_seconds = 0, 0.0

    async def hear(self, response: httpx2.Response) -> None:
        """Called by the HTTP client for every response."""
        if response.request.method == "POST" and response.status_code >= 400:
            self.status, self.wait_seconds = response.status_code, seconds_of(response.headers.get("retry-after", ""))


def explained(error: Exception, wire: Wire) -> Exception:
    """What a failure of the connection means for the memories."""
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, LoreError):
            return leaf
    for leaf in leaves:
        if isinstance(leaf, httpx2.ConnectError | httpx2.ConnectTimeout):
            return Unreachable(f"it cannot be reached ({_reason(leaf)})")
        if isinstance(leaf, httpx2.TimeoutException):
            return Unreachable("it did not answer in time", is_unsure=True)
        if isinstance(leaf, httpx2.HTTPError | OSError):
            return Unreachable(f"the connection broke ({_reason(leaf)})", is_unsure=True)
        if isinstance(leaf, MCPError):
            return _told(leaf, wire)
        if isinstance(leaf, ValidationError | RuntimeError):
            return UploadRefused(f"What the server answered is no MCP ({type(leaf).__name__}).")
    return error


def _told(error: MCPError, wire: Wire) -> LoreError:
    """An error that the client made of a reply, or of its absence."""
    status = wire.status
    if status in (401, 403):
        return Unwilling(f"The server refuses us (HTTP {status}).", "Put its token into LORE_HOOK_TOKEN.")
    if status in _LATER:
        return Unreachable(f"it answers HTTP {status}", wire.wait_seconds)
    if status >= 500:
        return Unreachable(f"it answers HTTP {status}", wire.wait_seconds, is_unsure=True)
    if status == 404:
        return Unreachable("it has forgotten the session, or there is nothing at this address (HTTP 404)")
    if error.code in (_CLOSED, _TIMED_OUT):
        return Unreachable("it did not answer in time" if error.code == _TIMED_OUT else "it hung up", is_unsure=True)
    return UploadRefused(
        f"The server refuses it: {error.message[:500]}", is_missing="not found" in error.message.lower()
    )


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def seconds_of(retry_after: str) -> float:
    """What a Retry-After header says: seconds, or a date."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return 0.0


def _reason(error: BaseException) -> str:
    return (str(error) or type(error).__name__).rstrip(".")[:200]
