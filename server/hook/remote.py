"""A knowledge server elsewhere: MCP over Streamable HTTP, through the official client, in whichever protocol it has."""

from __future__ import annotations

import email.utils
import functools
import json
import logging
import math
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from etl.errors import LoreError, from_record
from etl.settings import LOOPBACK
from server import __version__
from server.contract import load_contract
from server.hook.failures import Refused, Unreachable, Unwilling, failure_of
from server.hook.knowledge import JSON, Knowledge
from server.hook.target import Target

log = logging.getLogger(__name__)
HEALTH_SECONDS = 5.0
REQUEST_SECONDS = 10.0
CLOSE_SECONDS = 1.0
PAGES = 20
LORE = "lore"  # what our own server calls itself
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


@asynccontextmanager
async def connected(
    target: Target,
    spelled: Callable[[str], str],
    request_seconds: float = REQUEST_SECONDS,
    health_seconds: float = HEALTH_SECONDS,
) -> AsyncIterator[Knowledge]:
    """A session with the server, which has told within `health_seconds` which tools it has.

    Raises:
        Unreachable: it does not answer, in the beginning or later.
        Unwilling: it does not speak with us.
        LoreError: as it was raised inside.
    """
    wire, is_healthy = Wire(), False
    try:
        with anyio.CancelScope(deadline=anyio.current_time() + health_seconds) as scope:
            async with _client(target, wire, request_seconds) as client:
                knowledge = await _introduced(client, wire, spelled)
                is_healthy, scope.deadline = True, math.inf
                try:
                    yield knowledge
                finally:
                    scope.deadline = anyio.current_time() + CLOSE_SECONDS  # it need not hear that we leave
    except Exception as error:
        failure = explained(error, wire)
        if isinstance(failure, Refused) and not is_healthy:
            failure = Unwilling(failure.message, "Name the address of a knowledge server.")
        raise failure from error
    if not is_healthy:
        raise Unreachable(f"it did not answer within {health_seconds:g} s")


@asynccontextmanager
async def _client(target: Target, wire: Wire, request_seconds: float) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
    limits = httpx2.Timeout(request_seconds + CLOSE_SECONDS, connect=HEALTH_SECONDS)  # the client's own comes first
    async with (
        httpx2.AsyncClient(
            headers=headers,
            timeout=limits,
            verify=_certificates(),
            trust_env=urlsplit(target.url).hostname not in LOOPBACK,  # no proxy lies before this machine
            event_hooks={"response": [wire.hear]},
        ) as http,
        Client(
            streamable_http_client(target.url, http_client=http),
            read_timeout_seconds=request_seconds,
            client_info=types.Implementation(name="lore hook", version=__version__),
        ) as client,
    ):
        yield client


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: each session would take as long for it as for all the rest."""
    return httpx2.create_ssl_context()


async def _introduced(client: Client, wire: Wire, spelled: Callable[[str], str]) -> Knowledge:
    """What it offers; of a Lore server also what its list leaves out."""
    tools: dict[str, JSON] = {}
    cursor = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool.input_schema for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    server = client.server_info
    is_lore = server is not None and server.name == LORE
    if is_lore:
        tools |= {operation.id: operation.input_schema for operation in load_contract()}
    about = f"{server.name} {server.version}" if server else "the server"
    log.info("%s answers: protocol %s, %d tools", about, client.protocol_version, len(tools))

    async def call(tool: str, arguments: JSON) -> JSON:
        wire.forget()
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            # not `client.call_tool`: it judges replies by a list that may leave the tool out
            result = await client.session.send_request(request, types.CallToolResult)
        except (MCPError, ValidationError) as error:
            raise explained(error, wire) from error
        return payload(result)

    return Knowledge(tools, call, spelled, is_lore)


def payload(result: types.CallToolResult) -> JSON:
    """What a tool replied, as data; its text where it is none. Raises Refused, Unreachable, Unwilling."""
    text = "\n".join(one.text for one in result.content if isinstance(one, types.TextContent))
    told = result.structured_content
    data: JSON = told if isinstance(told, dict) else _parsed(text)
    if not result.is_error:
        return data
    if data.keys() >= {"code", "message", "hint"}:
        raise failure_of(from_record(data))
    raise Refused(text[:500] or "The tool failed and did not say why.", is_missing="not found" in text.lower())


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
            return Refused(f"What the server answered is no MCP ({type(leaf).__name__}).")
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
    return Refused(f"The server refuses it: {error.message[:500]}", is_missing="not found" in error.message.lower())


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error


def _parsed(text: str) -> JSON:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return data if isinstance(data, dict) else {"result": data}


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
