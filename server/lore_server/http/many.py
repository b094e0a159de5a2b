"""Serve many projects at one address: the path of a request chooses the projects that it is about."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lore_server.execution.lanes import PROJECTS
from lore_server.http.application import READY
from lore_server.http.page import WEB, addressed, assets_of
from lore_server.http.site import PROJECT

LIST = "/projects"
MCP = "/mcp"
Names = tuple[str, ...]


class Chooser:
    """An application that serves `/mcp/<project>` and `/projects/<project>/…` as one for a single project would.

    Several names, with commas between them, choose several projects, and no name chooses all.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            names, path = chosen(scope["path"], self._names)
            PROJECTS.set(names)
            scope = {**scope, "path": path}
        await self._app(scope, receive, send)


def chosen(path: str, known: Collection[str]) -> tuple[Names, str]:
    """Return the projects that a path names, and the path of the route within a project."""
    if path == "/":
        return (), LIST
    for start in (PROJECT, MCP + "/"):
        name, _, below = path.removeprefix(start).partition("/")
        names = (name,) if name in known else tuple(dict.fromkeys(name.split(",")))
        if path.startswith(start) and all(one in known for one in names):
            if start == PROJECT:
                return names, f"/{below}"
            if not below:
                return names, MCP
    return (), path


def routes_of_many(states: Callable[[], Mapping[str, str]]) -> list[Route]:
    """Return the list of the projects, as a page and for monitoring; `states` has the state of each."""

    def permitted() -> list[tuple[str, str]]:
        return [(name, state) for name, state in states().items() if name in (PROJECTS.get() or states())]

    async def listed(request: Request) -> Response:
        rows = (
            f'<li><a href="{PROJECT}{quote(name)}/">{html.escape(name)}</a> {html.escape(state)}</li>'
            for name, state in permitted()
        )
        return HTMLResponse(addressed(_PAGE.format("".join(rows)), assets_of(WEB)[0]))

    async def ready(request: Request) -> Response:
        """Tell which projects answer; the server is ready as long as any does."""
        found = dict(permitted())
        is_ready = any(state in ("open", "closed") for state in found.values())
        return JSONResponse({"ready": is_ready, "projects": found}, 200 if is_ready else 503)

    return [Route(LIST, listed, methods=["GET"]), Route(READY, ready, methods=["GET"])]


_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lore</title>'
    '<link rel="stylesheet" href="/assets/shared/base.css"></head>'
    "<body><main><h1>Projects</h1><ul>{}</ul></main></body></html>"
)
