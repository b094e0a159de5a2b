"""Resources of project knowledge: `knowledge://projects/{project_id}/main`, `/files`, `/chapters/{filename}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

import mcp_types as types

from lore_etl.core.errors import DocumentNotFound, InvalidArgument, LoreError, ProjectNotFound
from lore_etl.core.json_types import JSON
from lore_server.execution.progress import NOBODY
from lore_server.execution.threads import Call

TOOLSET = "projects"
PREFIX = "knowledge://projects/"
MARKDOWN, DATA = "text/markdown", "application/json"
_URI = re.compile(r"(?P<project>.+)/(?:(?P<what>main|files)|chapters/(?P<filename>[^/]+))")
_OURS = ("success", "project_id", "version")
Contents = list[types.TextResourceContents | types.BlobResourceContents]


def project_templates() -> list[types.ResourceTemplate]:
    kinds = (
        ("main", "project", "Instructions of a project", MARKDOWN),
        ("files", "files", "A project's documents with title, keywords and dates", DATA),
        ("chapters/{filename}", "chapters", "A document's chapters with their summaries", DATA),
    )
    return [
        types.ResourceTemplate(
            uri_template=f"{PREFIX}{{project_id}}/{path}",
            name=name,
            title=name.capitalize(),
            description=description,
            mime_type=mime_type,
        )
        for path, name, description, mime_type in kinds
    ]


def project_mains(call: Call) -> Iterator[types.Resource]:
    """Yield the existing main documents; nothing if the folder is unreadable, which a tool call reports."""
    try:
        projects = call("list_projects", {}, NOBODY)["projects"]
    except LoreError:
        return
    for project in projects:
        if project["has_main"]:
            name = project["project_id"]
            yield types.Resource(
                uri=f"{PREFIX}{quote(name, safe='')}/main",
                name=f"{name}/main",
                title=name,
                description="Instructions of the project",
                mime_type=MARKDOWN,
            )


def read_project(uri: str, call: Call) -> Contents:
    """Return the contents of a resource. Raises NotFound, InvalidArgument and the errors of the operations."""
    found = _URI.fullmatch(uri.removeprefix(PREFIX))
    if not found:
        hint = f"Resources: {', '.join(template.uri_template for template in project_templates())}."
        raise DocumentNotFound(f"There is no resource `{uri[:200]}`.", hint)
    project = {"project_id": decoded(found["project"])}
    if found["what"] == "main":
        main = call("get_project_main", project, NOBODY)
        if not main["exists"]:
            raise ProjectNotFound(f"Project `{project['project_id'][:200]}` has no main document.")
        return [types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=main["content"])]
    if found["what"] == "files":
        return [_data(uri, call("list_knowledge_files", project, NOBODY))]
    document = {**project, "filename": decoded(found["filename"])}
    return [_data(uri, call("list_chapters", document, NOBODY))]


def _data(uri: str, reply: JSON) -> types.TextResourceContents:
    shown = {name: value for name, value in reply.items() if name not in _OURS}
    return types.TextResourceContents(uri=uri, mime_type=DATA, text=json.dumps(shown, ensure_ascii=False, indent=2))


def decoded(text: str) -> str:
    """Return a part of a URI, percent-encoded or not."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidArgument("The URI is not valid UTF-8.", "Percent-encode it in UTF-8.") from error
