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
