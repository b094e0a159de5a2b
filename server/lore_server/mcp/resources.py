"""The resources: the handbook, indexed content and knowledge, all read through operations, which resolve paths."""

import json
import re
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qs, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from lore_etl.core.errors import DocumentNotFound, InvalidArgument, NotFound, ProjectNotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import NOBODY
from lore_etl.core.tables import table
from lore_server.execution.threads import Call, Calls
from lore_server.mcp.tools import APP, APP_TYPE, Context
from lore_server.replies.budget import REPLY_TOKENS
from lore_server.replies.problem import problem
from lore_server.replies.reply_text import span

HANDBOOK = "lore://handbook"
DOCUMENT, SOURCE = "lore://document/", "lore://source/"
HANDBOOK_FILE, APP_FILE = (Path(__file__).with_name(name) for name in ("handbook.md", "app.html"))
FILES_TTL_MS = 3_600_000
NOT_FOUND_BEFORE_2026 = -32002  # the protocol of 2026-07-28 uses INVALID_PARAMS instead
TOOLSET = "projects"
PREFIX = "knowledge://projects/"
PLAIN, MARKDOWN, DATA = "text/plain", "text/markdown", "application/json"
_PROJECT = re.compile(r"(?P<project>.+)/(?:(?P<what>main|files)|chapters/(?P<filename>[^/]+))")
_OURS = ("success", "project_id", "version")
Contents = list[types.TextResourceContents | types.BlobResourceContents]
_FIXED = {HANDBOOK: (HANDBOOK_FILE, MARKDOWN, None), APP: (APP_FILE, APP_TYPE, {"ui": {"prefersBorder": True}})}
_DATA = table(__file__)
_OF_INDEX, _OF_PROJECTS = ([types.ResourceTemplate(**row) for row in _DATA[name]] for name in ("index", "projects"))


class Resources:
    """The handlers that list and read resources."""

    def __init__(self, calls: Calls, has_projects: bool = False) -> None:
        self._calls, self._has_projects = calls, has_projects

    async def list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Return the handbook; all other resources have templates."""
        about = "How to use the tools: queries, types, freshness, jobs, cursors, errors"
        size = HANDBOOK_FILE.stat().st_size
        handbook = types.Resource(
            uri=HANDBOOK, name="handbook", title="Handbook", description=about, mime_type=MARKDOWN, size=size
        )
        return types.ListResourcesResult(resources=[handbook])

    async def templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        templates = [*_OF_INDEX, *(_OF_PROJECTS if self._has_projects else ())]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Return a resource, or the part of it that the cursor selects."""
        if params.uri in _FIXED:
            file, kind, meta = _FIXED[params.uri]
            text = file.read_text(encoding="utf-8")
            part = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text, _meta=meta)
            return types.ReadResourceResult(contents=[part], ttl_ms=FILES_TTL_MS, cache_scope="public")
        try:
            contents = await self._calls.read(lambda call: _contents(call, params.uri))
        except Exception as error:  # noqa: BLE001 - outermost boundary of an interface
            record, code = problem(error), types.INTERNAL_ERROR
            if isinstance(error, UsageError | NotFound):
                code = types.INVALID_PARAMS
            if isinstance(error, NotFound) and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                code = NOT_FOUND_BEFORE_2026
            data = {"uri": params.uri[:1000], **record}
            raise MCPError(code, f"{record['message']} {record['hint']}", data) from None
        return types.ReadResourceResult(contents=contents, ttl_ms=0, cache_scope="private")


def _contents(call: Call, uri: str) -> Contents:
    """Return a text, followed by its origin and the URI of the next part."""
    if uri.startswith(PREFIX):
        return read_project(uri, call)
    place, _, query = uri.partition("?")
    cursor = parse_qs(query).get("cursor", [None])[0]
    more: JSON = {"max_tokens": REPLY_TOKENS, **({"cursor": cursor} if cursor else {})}
    if place.startswith(DOCUMENT):
        reply = call("get_document_by_id", {"id": _decoded(place.removeprefix(DOCUMENT)), **more}, NOBODY)
        about = [f"{reply['source']}:{span(reply['lines'])}  [{reply['type']}, {reply['kind']}]"]
    elif place.startswith(SOURCE):
        reply = call("get_source", {"path": _decoded(place.removeprefix(SOURCE)), **more}, NOBODY)
        about = []
    else:
        hint = f"Resources: {HANDBOOK}, {DOCUMENT}{{id}}, {SOURCE}{{path}}."
        raise DocumentNotFound(f"There is no resource `{uri[:200]}`.", hint)
    kind = _DATA["types"].get(PurePosixPath(reply["source"]).suffix.lower(), PLAIN)
    contents: Contents = [_text(uri, kind, reply["text"])]
    following = uri
    if reply.get("changed"):
        about.append("The file was changed or deleted since the last sync.")
    if "next_cursor" in reply:
        following = f"{place}?cursor={reply['next_cursor']}"
        about.append(f"This part ends at line {reply['lines'][1]}. The next part is {following}")
    return [*contents, _text(following, PLAIN, "\n".join(about))] if about else contents


def _text(uri: str, mime_type: str, text: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)


def read_project(uri: str, call: Call) -> Contents:
    """Return the contents of a resource. Raises NotFound, InvalidArgument and the errors of the operations."""
    found = _PROJECT.fullmatch(uri.removeprefix(PREFIX))
    if not found:
        hint = f"Resources: {', '.join(template.uri_template for template in _OF_PROJECTS)}."
        raise DocumentNotFound(f"There is no resource `{uri[:200]}`.", hint)
    project = {"project_id": _decoded(found["project"])}
    if found["what"] == "main":
        main = call("get_project_main", project, NOBODY)
        if not main["exists"]:
            raise ProjectNotFound(f"Project `{project['project_id'][:200]}` has no main document.")
        return [_text(uri, MARKDOWN, main["content"])]
    if found["what"] == "files":
        reply = call("list_knowledge_files", project, NOBODY)
    else:
        reply = call("list_chapters", {**project, "filename": _decoded(found["filename"])}, NOBODY)
    shown = {name: value for name, value in reply.items() if name not in _OURS}
    return [_text(uri, DATA, json.dumps(shown, ensure_ascii=False, indent=2))]


def _decoded(text: str) -> str:
    """Return a part of a URI, percent-encoded or not."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidArgument("The URI is not valid UTF-8.", "Percent-encode it in UTF-8.") from error
