"""The resources: the handbook, and indexed files and chunks; long content is split.

The operations resolve paths and ids, so that only indexed content can be read.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from urllib.parse import parse_qs

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lore_etl.core.errors import DocumentNotFound, NotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_server.execution.progress import NOBODY
from lore_server.execution.threads import Call, Calls
from lore_server.mcp.follow import Context
from lore_server.mcp.project_resources import PREFIX, Contents, decoded, project_mains, project_templates, read_project
from lore_server.replies.budget import REPLY_TOKENS
from lore_server.replies.problem import problem
from lore_server.replies.reply_text import span

HANDBOOK = "lore://handbook"
DOCUMENT, SOURCE = "lore://document/", "lore://source/"
HANDBOOK_FILE = Path(__file__).with_name("handbook.md")
HANDBOOK_TTL_MS = 3_600_000
NOT_FOUND_BEFORE_2026 = -32002  # the protocol of 2026-07-28 uses INVALID_PARAMS instead
PLAIN = "text/plain"
_MIME = {
    ".md": "text/markdown", ".markdown": "text/markdown", ".mdx": "text/markdown", ".rst": "text/x-rst",
    ".py": "text/x-python", ".pyi": "text/x-python", ".js": "text/javascript", ".mjs": "text/javascript",
    ".cjs": "text/javascript", ".jsx": "text/javascript", ".ts": "text/x-typescript", ".tsx": "text/x-typescript",
    ".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
    ".html": "text/html", ".css": "text/css",
}  # fmt: skip


class Resources:
    """The handlers that list and read resources."""

    def __init__(self, calls: Calls, has_projects: bool = False) -> None:
        self._calls, self._has_projects = calls, has_projects

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Return the handbook and, with the toolset `projects`, the main documents."""
        handbook = types.Resource(
            uri=HANDBOOK,
            name="handbook",
            title="Handbook",
            description="How to use the tools: queries, types, freshness, jobs, cursors, errors",
            mime_type="text/markdown",
            size=HANDBOOK_FILE.stat().st_size,
        )
        if not self._has_projects:
            return types.ListResourcesResult(resources=[handbook])
        mains = await self._calls.read(lambda call: [*project_mains(call)])
        return types.ListResourcesResult(resources=[handbook, *mains], ttl_ms=0, cache_scope="private")

    async def templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        document = types.ResourceTemplate(
            uri_template=f"{DOCUMENT}{{id}}",
            name="document",
            title="Chunk",
            description="An indexed chunk, by the id of a search result",
        )
        source = types.ResourceTemplate(
            uri_template=f"{SOURCE}{{path}}",
            name="source",
            title="File",
            description="An indexed file as of the last sync, by its path from the project root",
        )
        more = project_templates() if self._has_projects else []
        return types.ListResourceTemplatesResult(resource_templates=[document, source, *more])

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return a resource, or the part of it that the cursor selects."""
        if params.uri == HANDBOOK:
            text = _text(HANDBOOK, "text/markdown", HANDBOOK_FILE.read_text(encoding="utf-8"))
            return types.ReadResourceResult(contents=[text], ttl_ms=HANDBOOK_TTL_MS, cache_scope="public")
        try:
            contents = await self._calls.read(lambda call: _contents(call, params.uri))
        except Exception as error:  # noqa: BLE001 - outermost boundary of an interface
            raise self._failure(error, params.uri, context.protocol_version) from None
        return types.ReadResourceResult(contents=contents, ttl_ms=0, cache_scope="private")

    def _failure(self, error: Exception, uri: str, protocol_version: str) -> MCPError:
        record = problem(error)
        code = types.INTERNAL_ERROR
        if isinstance(error, UsageError):
            code = types.INVALID_PARAMS
        elif isinstance(error, NotFound):
            is_modern = protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if is_modern else NOT_FOUND_BEFORE_2026
        return MCPError(code, f"{record['message']} {record['hint']}", {"uri": uri[:1000], **record})


def _contents(call: Call, uri: str) -> Contents:
    if uri.startswith(PREFIX):
        return read_project(uri, call)
    place, _, query = uri.partition("?")
    cursor = parse_qs(query).get("cursor", [None])[0]
    more: JSON = {"max_tokens": REPLY_TOKENS, **({"cursor": cursor} if cursor else {})}
    if place.startswith(DOCUMENT):
        reply = call("get_document_by_id", {"id": decoded(place.removeprefix(DOCUMENT)), **more}, NOBODY)
        about = [f"{reply['source']}:{span(reply['lines'])}  [{reply['type']}, {reply['kind']}]"]
    elif place.startswith(SOURCE):
        reply = call("get_source", {"path": decoded(place.removeprefix(SOURCE)), **more}, NOBODY)
        about = []
    else:
        raise DocumentNotFound(
            f"There is no resource `{uri[:200]}`.", f"Resources: {HANDBOOK}, {DOCUMENT}{{id}}, {SOURCE}{{path}}."
        )
    return _in_parts(uri, place, reply, about)


def _in_parts(uri: str, place: str, reply: JSON, about: list[str]) -> Contents:
    """Return the text, followed by its origin and the URI of the next part."""
    contents: Contents = [_text(uri, _MIME.get(PurePosixPath(reply["source"]).suffix.lower(), PLAIN), reply["text"])]
    following = uri
    if reply.get("changed"):
        about = [*about, "The file has changed since the last sync."]
    if "next_cursor" in reply:
        following = f"{place}?cursor={reply['next_cursor']}"
        about = [*about, f"This part ends at line {reply['lines'][1]}. The next part is {following}"]
    return [*contents, _text(following, PLAIN, "\n".join(about))] if about else contents


def _text(uri: str, mime_type: str, text: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
