"""A knowledge server elsewhere: MCP over Streamable HTTP, through the official client, in whichever protocol it has."""

from __future__ import annotations

import functools
import json
import logging
import math
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from lore_etl.config.settings import LOOPBACK
from lore_etl.core.errors import from_record
from lore_server import __version__
from lore_server.contract import load_contract
from lore_server.hook.failures import Unreachable, Unwilling, UploadRefused, failure_of
from lore_server.hook.knowledge_server import JSON, KnowledgeServer
from lore_server.hook.target import Target
from lore_server.hook.wire import Wire, explained

log = logging.getLogger(__name__)
HEALTH_SECONDS = 5.0
REQUEST_SECONDS = 10.0
CLOSE_SECONDS = 1.0
BYTES_A_SECOND = 100_000  # what a server is given more time for: Lore takes 10 MB in one memory
PAGES = 20
LORE = "lore"  # what our own server calls itself


@asynccontextmanager
async def connected(
    target: Target,
    spelled: Callable[[str], str],
    request_seconds: float = REQUEST_SECONDS,
    health_seconds: float = HEALTH_SECONDS,
) -> AsyncIterator[KnowledgeServer]:
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
                knowledge = await _introduced(client, wire, spelled, request_seconds)
                is_healthy, scope.deadline = True, math.inf
                try:
                    yield knowledge
                finally:
                    scope.deadline = anyio.current_time() + CLOSE_SECONDS  # it need not hear that we leave
    except Exception as error:
        failure = explained(error, wire)
        if isinstance(failure, UploadRefused) and not is_healthy:
            failure = Unwilling(failure.message, "Name the address of a knowledge server.")
        raise failure from error
    if not is_healthy:
        raise Unreachable(f"it did not answer within {health_seconds:g} s")


@asynccontextmanager
async def _client(target: Target, wire: Wire, request_seconds: float) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
    limits = httpx2.Timeout(None, connect=HEALTH_SECONDS)  # the rest is limited by the client itself
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


async def _introduced(client: Client, wire: Wire, spelled: Callable[[str], str], seconds: float) -> KnowledgeServer:
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
        size = len(json.dumps(arguments))
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            # not `client.call_tool`: it judges replies by a list that may leave the tool out
            result = await client.session.send_request(request, types.CallToolResult, seconds + size / BYTES_A_SECOND)
        except (MCPError, ValidationError) as error:
            raise explained(error, wire) from error
        return payload(result)

    return KnowledgeServer(tools, call, spelled, is_lore)


def payload(result: types.CallToolResult) -> JSON:
    """What a tool replied, as data; its text where it is none. Raises Refused, Unreachable, Unwilling."""
    text = "\n".join(one.text for one in result.content if isinstance(one, types.TextContent))
    told = result.structured_content
    data: JSON = told if isinstance(told, dict) else _parsed(text)
    if not result.is_error:
        return data
    if data.keys() >= {"code", "message", "hint"}:
        raise failure_of(from_record(data))
    raise UploadRefused(text[:500] or "The tool failed and did not say why.", is_missing="not found" in text.lower())


def _parsed(text: str) -> JSON:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return data if isinstance(data, dict) else {"result": data}
