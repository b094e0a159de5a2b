"""The tools: the operations of the chosen toolsets, listed in few tokens and called through the contract."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import anyio
import mcp_types as types
from anyio import from_thread, lowlevel
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lore_etl.core.errors import Cancelled
from lore_etl.core.json_types import JSON
from lore_etl.core.model import canonical_json
from lore_etl.core.progress import Listener, ignore, time_left
from lore_etl.core.tables import table
from lore_server.contract import Contract, Operation, Schema
from lore_server.execution.threads import Calls
from lore_server.operations.table import render
from lore_server.replies.budget import READS_TEXT
from lore_server.replies.problem import problem
from lore_server.replies.reply_text import marked_as_data

WATCHED_SECONDS = 45  # the wait for a client that receives progress; most clients give up after 60
PROGRESS_SECONDS = 0.2
ESTIMATE_SECONDS = 4.0  # of a stage, before the time that is left is named
LONGEST_NAME = 200  # of a client's name as an author
TEXT_READERS: list[str] = table(__file__)["text_readers"]
_CONFIRMED_BY = {"CONFIRMATION_REQUIRED": "confirm", "SYNC_GUARD": "allow_mass_delete"}
_NO_FIELDS: dict[str, Any] = {"type": "object", "properties": {}}
LARGE = 100  # a limit that is rarely reached by accident
MANY = 8  # a longer enum is listed only once
_SILENT = frozenset({"minLength", "maxLength", "pattern", "minimum", "additionalProperties"})
_KNOWN = ("query", "brief", "max_tokens", "cursor", "id")  # the same in every tool


Context: TypeAlias = ServerRequestContext[Any]
"""The context of a request to a server without lifespan state."""
APP, APP_TYPE = "ui://lore/reply", "text/html;profile=mcp-app"
_DISCONNECTED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.RunFinishedError)


class Follower:
    """The listener of one call. The protocol requires a growing number, so the steps of all stages are added up."""

    def __init__(self, context: Context) -> None:
        meta = context.meta or {}
        self.wants_progress = meta.get("progress_token", meta.get("progressToken")) is not None
        self.listener = Listener(self._report, self._report_text if self.wants_progress else ignore)
        self.is_left = False  # the client has cancelled the call, which stops at its next step; the job continues
        self._session, self._loop = context.session, lowlevel.current_token()
        self._stage = ""
        self._earlier_steps = self._done = self._total = self._sent = 0
        self._sent_at = self._stage_began = 0.0

    def _report(self, stage: str, done: int, total: int) -> None:
        """Report progress; called from the thread that works or waits."""
        if self.is_left:
            hint = "The job continues; follow it with get_job."
            raise Cancelled("The client is no longer waiting for this call.", hint)
        if not self.wants_progress:
            return
        is_new = stage != self._stage or done < self._done or not self._earlier_steps
        if is_new:
            self._begin_stage(stage)
        now = time.monotonic()
        self._done, self._total = done, max(done, total)
        is_due = is_new or now - self._sent_at >= PROGRESS_SECONDS or done >= total
        if is_due and self._earlier_steps + done > self._sent:
            self._sent_at, seconds = now, now - self._stage_began
            left = time_left(done, total, seconds) if seconds > ESTIMATE_SECONDS else ""
            text = ", ".join(filter(None, (f"{stage}: {done} of {total}" if total else stage, left)))
            self._send(text, float(self._earlier_steps + self._total) if total else None)

    def _report_text(self, text: str) -> None:
        """Report a part of an answer as a message; called from the thread that works."""
        if self.is_left:
            raise Cancelled("The client is no longer waiting for this answer.")
        self._begin_stage("")
        self._send(text, None)

    def _begin_stage(self, stage: str) -> None:
        self._earlier_steps += self._total + 1
        self._stage, self._done, self._total, self._stage_began = stage, 0, 0, time.monotonic()

    def _send(self, message: str, total: float | None) -> None:
        self._sent = self._earlier_steps + self._done
        try:
            report = self._session.report_progress
            from_thread.run(report, float(self._sent), total, message, token=self._loop)
        except _DISCONNECTED:
            self.is_left = True


class Tools:
    """The tools of the `listed` toolsets, and calls to those in the `allowed` ones, which `call` validates."""

    def __init__(self, contract: Contract, calls: Calls, listed: Sequence[str], allowed: Sequence[str]) -> None:
        self._contract, self._calls, self._allowed = contract, calls, allowed
        texts: dict[str, str] = {}  # and the first tool that explains each
        self._tools = {operation.id: _tool(operation, texts) for operation in contract if operation.toolset in listed}
        self._without_results = [tool.model_copy(update={"output_schema": None}) for tool in self._tools.values()]

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Return all tools; they fit on one page."""
        tools = self._without_results if reads_only_text(context) else [*self._tools.values()]
        if shows_apps(context):
            tools = [_with_app(tool) if self._contract[tool.name].has_app else tool for tool in tools]
        return types.ListToolsResult(tools=tools)

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool; an error becomes a result with its hint, and the user, not the agent, is asked to confirm."""
        operation = self._offered(params.name)
        follower, arguments = Follower(context), dict(params.arguments or {})
        if operation.is_waiting and follower.wants_progress:
            arguments.setdefault("wait_seconds", WATCHED_SECONDS)
        if "author" in operation.input_schema["properties"] and (client := context.session.client_params):
            arguments.setdefault("author", client.client_info.name[:LONGEST_NAME])
        READS_TEXT.set(reads_only_text(context))
        result = await self._reply(operation, arguments, follower)
        if question := _question(operation, result):
            answer = await _ask(context, params, *question)
            if isinstance(answer, types.InputRequiredResult):
                return answer
            if answer:
                result = await self._reply(operation, {**arguments, question[1]: True}, follower)
            elif answer is False:
                result = {**result, "hint": "The user was asked and refused. Do not repeat the call."}
        return result_of(operation, result, context)

    async def _reply(self, operation: Operation, arguments: JSON, follower: Follower) -> Mapping[str, object]:
        try:
            return await self._calls.run(operation.id, arguments, follower.listener)
        except anyio.get_cancelled_exc_class():
            follower.is_left = True
            raise
        except Exception as error:  # noqa: BLE001 - outermost boundary: an exception's text must not reach the client
            return problem(error)

    def _offered(self, name: str) -> Operation:
        operation = self._contract.operations.get(name)
        if operation is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:100]}. Tools: {', '.join(self._tools)}.")
        if operation.toolset not in self._allowed:
            advice = f"Start it with --toolsets {','.join((*self._allowed, operation.toolset))}."
            about = f"{name} is in the toolset `{operation.toolset}`, which is not enabled on this server."
            raise MCPError(types.INVALID_PARAMS, f"{about} {advice}")
        return operation


def _question(operation: Operation, result: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the question that would let a refused action pass, such as a mass delete, and what a yes sets."""
    found = result.get("problem") or result
    argument = _CONFIRMED_BY.get(found.get("code", ""))
    if argument not in operation.input_schema["properties"]:
        return None
    return f"{operation.title}: {found['message']} Continue?", str(argument)


async def _ask(
    context: Context, params: types.CallToolRequestParams, question: str, argument: str
) -> bool | types.InputRequiredResult | None:
    """Ask the user: by a result since the 2026 protocol, before by a request. Return None if the client cannot ask."""
    able = context.session.client_capabilities
    if able is None or able.elicitation is None:
        return None
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (params.input_responses or {}).get(argument)
        if answer is None:
            form = types.ElicitRequestFormParams(message=question, requested_schema=_NO_FIELDS)
            return types.InputRequiredResult(input_requests={argument: types.ElicitRequest(params=form)})
        return isinstance(answer, types.ElicitResult) and answer.action == "accept"
    if not context.session.can_send_request:
        return None
    return (await context.session.elicit_form(question, _NO_FIELDS, context.request_id)).action == "accept"


def _tool(operation: Operation, texts: dict[str, str]) -> types.Tool:
    """Outline an operation: every value that is valid for its full schemas is valid for these."""
    full, hints = operation.input_schema, dict(operation.hints)
    properties = {name: _argument(name, one, texts, operation.id) for name, one in full["properties"].items()}
    arguments: Schema = {"type": "object", "properties": properties}
    if "required" in full:
        arguments["required"] = full["required"]
    if not operation.changes_state:
        del hints["idempotentHint"]  # MCP defines it only for tools that write
    return types.Tool(
        name=operation.id,
        title=operation.title,
        description=operation.description,
        input_schema=arguments,
        output_schema={"type": "object", "required": operation.output_schema["required"]},
        annotations=types.ToolAnnotations.model_validate(hints),
        _meta={"anthropic/alwaysLoad": True} if operation.is_always_loaded else None,  # else Claude Code defers them
    )


def _with_app(tool: types.Tool) -> types.Tool:
    return tool.model_copy(update={"meta": {**(tool.meta or {}), "ui": {"resourceUri": APP}}})


def _argument(name: str, schema: Schema, texts: dict[str, str], by: str) -> Schema:
    """Outline an argument without limits that are never exceeded by accident, or only its type if a tool has it."""
    if texts.setdefault(canonical_json([name, schema]), by) != by and name in _KNOWN:
        return {"type": schema["type"]}
    outline = {key: value for key, value in schema.items() if key not in _SILENT and not _is_obvious(key, value)}
    items = {key: value for key, value in schema.get("items", {}).items() if key in ("type", "enum")}
    choices = schema.get("enum") or items.get("enum", ())
    first = texts.setdefault(canonical_json(choices), by) if len(choices) > MANY else by
    if first != by:
        outline["description"] = f"As in {first}"
        outline.pop("enum", None)
        items.pop("enum", None)
    if items and "string" in schema["type"]:  # Gemini accepts one type, or `anyOf` alone
        text = {"type": "string", "description": outline["description"]}
        return {"anyOf": [text, {"type": "array", "items": items}]}
    return outline


def _is_obvious(name: str, value: Any) -> bool:
    """Return whether a limit is large, or a default is what an omitted argument would mean anyway."""
    return (name == "maximum" and value >= LARGE) or (name == "default" and (not value or value == "all"))


def reads_only_text(context: Context) -> bool:
    """Return whether the client is an agent that gets only texts; without a session, only the user agent names it."""
    client, request = context.session.client_params, context.request
    named = client.client_info.name if client else request.headers.get("user-agent", "") if request else ""
    return re.split(r"[ /]", named)[0] in TEXT_READERS


def shows_apps(context: Context) -> bool:
    """Return whether the client announces that it shows MCP Apps."""
    able = context.session.client_capabilities
    match able and able.extensions and able.extensions.get("io.modelcontextprotocol/ui"):
        case {"mimeTypes": list(kinds)}:
            return APP_TYPE in kinds
    return False


def result_of(operation: Operation, value: Mapping[str, object], context: Context) -> types.CallToolResult:
    """Return the result as data, unless the client reads only text, and as text, marked if it may quote documents."""
    reply = render(operation.id, value)
    is_data = not operation.changes_state and not value.get("error")
    text = types.TextContent(type="text", text=(marked_as_data(reply) if is_data else reply).whole())
    data, is_hidden, is_error = dict(value), reads_only_text(context), bool(value.get("error"))
    # clients give the metadata of a result to its app, but not to the model
    meta = {"lore/data": data} if is_hidden and operation.has_app and shows_apps(context) else None
    shown = None if is_hidden else data
    return types.CallToolResult(content=[text], structured_content=shown, is_error=is_error, _meta=meta)
