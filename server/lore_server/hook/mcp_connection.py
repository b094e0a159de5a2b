"""Connect to a knowledge server through MCP over streamable HTTP, and explain its failures."""

import json
import logging
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from lore_etl.config.settings import is_this_machine
from lore_etl.core.errors import LoreError, from_record
from lore_etl.core.json_types import JSON
from lore_server import __version__
from lore_server.contract import load_contract
from lore_server.execution.foreign_reply import retry_seconds
from lore_server.hook.knowledge_server import (
    KnowledgeServer,
    MemoryRefused,
    ServerUnreachable,
    ServerUnusable,
    Target,
    failure_of,
    query_escaping,
)

log = logging.getLogger(__name__)
HEALTH_SECONDS = 5.0
REQUEST_SECONDS = 10.0
CLOSE_SECONDS = 1.0
BYTES_PER_SECOND = 100_000  # large memories get more time: Lore accepts 10 MB in one call
MAX_REPLY_BYTES = 32_000_000
MAX_PAGES = 20
LORE = "lore"  # the name that Lore's MCP server reports


@asynccontextmanager
async def open_session(
    target: Target,
    escape: Callable[[str], str],
    request_seconds: float = REQUEST_SECONDS,
    health_seconds: float = HEALTH_SECONDS,
) -> AsyncIterator[KnowledgeServer]:
    """Open a session with a server that answers within `health_seconds`. Raises ServerUnreachable, ServerUnusable."""
    is_healthy = False
    try:
        with anyio.CancelScope(deadline=anyio.current_time() + health_seconds) as scope:
            async with (
                httpx2.AsyncClient(
                    headers={"accept-encoding": "identity"}
                    | ({"Authorization": f"Bearer {target.token}"} if target.token else {}),
                    timeout=httpx2.Timeout(None, connect=HEALTH_SECONDS),  # the MCP client limits the rest
                    trust_env=not is_this_machine(target.url),  # no proxy for servers on this machine
                    event_hooks={"response": [bound, check_status]},
                ) as http,
                Client(
                    streamable_http_client(target.url, http_client=http),
                    read_timeout_seconds=request_seconds,
                    client_info=types.Implementation(name="lore hook", version=__version__),
                ) as client,
            ):
                server = await _list_tools(client, escape, request_seconds)
                is_healthy, scope.deadline = True, math.inf
                try:
                    yield server
                finally:
                    scope.deadline = anyio.current_time() + CLOSE_SECONDS  # the server need not be notified
    except Exception as error:
        failure = explained(error)
        if isinstance(failure, MemoryRefused) and not is_healthy:
            failure = ServerUnusable(failure.message, "Give the URL of a knowledge server.")
        raise failure from error
    if not is_healthy:
        raise ServerUnreachable(f"it did not respond within {health_seconds:g} s")


def search(target: Target, query: str, groups: Sequence[str]) -> JSON:
    """Return the reply of the server's search. Raises ConfigError, ServerUnreachable, ServerUnusable, MemoryRefused."""
    escape = query_escaping(os.environ)

    async def run() -> JSON:
        async with open_session(target, escape) as server:
            return await server.search(query, list(groups))

    return anyio.run(run)


async def _list_tools(client: Client, escape: Callable[[str], str], seconds: float) -> KnowledgeServer:
    """Return the server with the tools it lists; for a Lore server, also with its unlisted tools."""
    tools: dict[str, JSON] = {}
    cursor = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool.input_schema for tool in page.tools}
        cursor = page.next_cursor
        if cursor is None:
            break
    about = client.server_info
    is_lore = about is not None and about.name == LORE
    if is_lore:
        tools |= {operation.id: operation.input_schema for operation in load_contract()}
    name = f"{about.name} {about.version}" if about else "the server"
    log.info("connected to %s: protocol %s, %d tools", name, client.protocol_version, len(tools))

    async def call(tool: str, arguments: JSON) -> JSON:
        limit = seconds + len(json.dumps(arguments)) / BYTES_PER_SECOND
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        try:
            # not `client.call_tool`, which checks replies against a list that may not contain the tool
            return payload(await client.session.send_request(request, types.CallToolResult, limit))
        except (MCPError, ValidationError) as error:
            raise explained(error) from error

    return KnowledgeServer(tools, call, escape, deduplicates=is_lore)


def payload(result: types.CallToolResult) -> JSON:
    """Return a tool's reply as data. Raises MemoryRefused, ServerUnreachable, ServerUnusable."""
    text = "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
    data: Any = result.structured_content
    if not isinstance(data, dict):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = {"text": text}
        data = data if isinstance(data, dict) else {"result": data}
    if not result.is_error:
        return cast("JSON", data)
    if data.keys() >= {"code", "message", "hint"}:
        raise failure_of(from_record(data))
    raise MemoryRefused(text[:500] or "The tool failed without a message.")


@dataclass
class _Bounded(httpx2.AsyncByteStream):
    """The content of a reply up to the limit. Raises ServerUnusable."""

    content: httpx2.AsyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self.content:
            size += len(part)
            if size > MAX_REPLY_BYTES:
                problem = f"The server's reply is longer than {MAX_REPLY_BYTES // 1_000_000} MB."
                raise ServerUnusable(problem, "Give the URL of a knowledge server.")
            yield part

    async def aclose(self) -> None:
        await self.content.aclose()


async def bound(response: httpx2.Response) -> None:
    """Limit the reply, and leave it packed if that was not requested: a short one may become gigabytes."""
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream))


async def check_status(response: httpx2.Response) -> None:
    """Raise for a status that the MCP client would report without its number or its `Retry-After`."""
    status, request = response.status_code, response.request
    if request.method != "POST" or status < 400:
        return
    if status in (401, 403):
        raise ServerUnusable(f"The server denies access (HTTP {status}).", "Set LORE_HOOK_TOKEN to its token.")
    if status == 404 and "mcp-session-id" in request.headers:
        raise ServerUnreachable("the session has expired (HTTP 404)")
    # the server may not know this method
    is_probe = status == 500 and json.loads(request.content).get("method") == "server/discover"
    if status == 429 or (status >= 500 and not is_probe):
        pause = retry_seconds(response.headers.get("retry-after"), time.time()) or 0.0
        raise ServerUnreachable(f"it replied with HTTP {status}", pause)


def explained(error: Exception) -> Exception:
    """Return the error of the hook that corresponds to a failure of the connection."""
    leaves = list(_leaves(error))
    for leaf in leaves:
        if isinstance(leaf, LoreError):
            return leaf
    for leaf in leaves:
        reason = (str(leaf) or type(leaf).__name__).rstrip(".")[:200]
        if isinstance(leaf, httpx2.HTTPError | OSError):
            return ServerUnreachable(f"the connection failed ({reason})")
        if isinstance(leaf, MCPError):
            if leaf.code in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED):
                is_late = leaf.code == types.REQUEST_TIMEOUT
                return ServerUnreachable("it did not respond in time" if is_late else "it closed the connection")
            return MemoryRefused(f"The server refuses the request: {leaf.message[:500]}")
        if isinstance(leaf, ValidationError | RuntimeError):
            return MemoryRefused(f"The server's reply is not valid MCP ({type(leaf).__name__}).")
    return error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
