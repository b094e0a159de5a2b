"""The handlers of the toolset `docs`."""

from __future__ import annotations

from typing import Any

from server.listener import Listener
from server.operations import Services, handles

JSON = dict[str, Any]


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
    sources: list[str],
    tags: list[str],
    limit: int,
    explain: bool,
    max_tokens: int,
    cursor: str | None = None,
) -> JSON:
    """Documents of some sources, best first."""
    return services.unified.search(query, sources, tags, limit, explain, max_tokens, cursor)
