"""MCP over HTTP: without the token, a client sees only tools that do not need it; calls to others explain why."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from lore_etl.core.errors import TokenRequired
from lore_server.contract import Contract, Operation
from lore_server.http.guard import has_token
from lore_server.http.site import Site
from lore_server.mcp.follow import Context
from lore_server.mcp.lines import MCPServer
from lore_server.mcp.tools import result_of
from lore_server.replies.problem import in_envelope, problem


def protect(mcp: MCPServer, contract: Contract, site: Site) -> None:
    """Check the token before the server's own handlers for listing and calling tools."""
    guarded = {operation.id for operation in contract if operation.needs_token}
    listing, calling = mcp.get_request_handler("tools/list"), mcp.get_request_handler("tools/call")
    if listing is None or calling is None:
        return

    async def list_tools(context: Context, params: types.PaginatedRequestParams) -> types.ListToolsResult:
        listed = await listing.handler(context, params)
        if not isinstance(listed, types.ListToolsResult):
            raise TypeError(f"tools/list returned {type(listed).__name__}")
        allowed = [tool for tool in listed.tools if tool.name not in guarded or _is_allowed(context, site)]
        return listed.model_copy(update={"tools": allowed, "cache_scope": "private"})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in guarded and not _is_allowed(context, site):
            return _refusal(contract[params.name])
        return await calling.handler(context, params)

    mcp.add_request_handler("tools/list", types.PaginatedRequestParams, list_tools)
    mcp.add_request_handler("tools/call", types.CallToolRequestParams, call_tool)


def _is_allowed(context: Context, site: Site) -> bool:
    return context.request is not None and has_token(context.request.scope, site)


def _refusal(operation: Operation) -> types.CallToolResult:
    error = TokenRequired(f"{operation.id} needs the token, and this client has none.")
    record = problem(in_envelope(error, operation.envelope, {}))
    record["hint"] = f"Configure the client to send a header. {record['hint']}"
    return result_of(operation, record)
