"""The handlers of the toolset `docs`."""

from __future__ import annotations

from typing import Any

from lore_etl.core.errors import InvalidArgument
from lore_server.execution.progress import Listener
from lore_server.operations.query_handlers import Services, handles

JSON = dict[str, Any]
LIMIT = 10


@handles
def init_project(
    services: Services, listener: Listener, *, sync: bool, wait_seconds: int, project_root: str | None = None
) -> JSON:
    """The project taken in."""
    return services.init.run(project_root, sync, wait_seconds, listener.progress)


@handles
def get_system_doc(
    services: Services, listener: Listener, *, path: str, max_tokens: int, cursor: str | None = None
) -> JSON:
    """A file of the framework."""
    return services.docs.system(path, max_tokens, cursor)


@handles
def get_user_doc(
    services: Services, listener: Listener, *, path: str, max_tokens: int, cursor: str | None = None
) -> JSON:
    """A file of the project."""
    return services.docs.user(path, max_tokens, cursor)


@handles
def get_framework_doc(
    services: Services, listener: Listener, *, doc_path: str, max_tokens: int, cursor: str | None = None
) -> JSON:
    """A page of the framework."""
    return services.docs.framework(doc_path, max_tokens, cursor)


@handles
def knowledge_search(
    services: Services,
    listener: Listener,
    *,
    query: str,
    explain: bool,
    max_tokens: int,
    sources: list[str] | None = None,
    tags: list[str] | None = None,
    limit: int | None = None,
    project_root: str | None = None,
    options: JSON | None = None,
    cursor: str | None = None,
) -> JSON:
    """Documents of some sources, best first."""
    services.unified.check_root(project_root)
    given = {"sources": sources, "tags": tags, "limit": limit}
    wanted = merged({name: value for name, value in given.items() if value is not None}, options or {})
    return services.unified.search(
        query,
        wanted.get("sources", []),
        wanted.get("tags", []),
        wanted.get("limit", LIMIT),
        explain,
        max_tokens,
        cursor,
    )


def merged(arguments: JSON, options: JSON) -> JSON:
    """The arguments and those in `options`, where PRP-29.2 has them. Raises InvalidArgument if one is in both."""
    if twice := sorted(arguments.keys() & options.keys()):
        raise InvalidArgument(f"`{twice[0]}` is given twice: as an argument and in `options`.", "Give it once.")
    return {**arguments, **options}
