"""The web page: its files in `server/lore_server/web`, its stream of the index's state, and its rendered Markdown.

The page has no build step. Rendering reads no data, so neither route is an operation.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.clock import timestamp
from lore_etl.core.errors import InvalidArgument, LoreError
from lore_etl.core.frontmatter import FrontMatterError, body_of, front_matter_lines, front_matter_values
from lore_etl.core.json_types import JSON
from lore_etl.sources.source import syntax_of
from lore_server import __version__
from lore_server.contract import Contract
from lore_server.http.arguments import json_of
from lore_server.http.colours import coloured
from lore_server.http.events import QUIET_SECONDS, STEP_SECONDS, Events, Stream, event_of, without_clocks
from lore_server.http.guard import refused
from lore_server.http.markdown_tree import elements_of
from lore_server.http.site import ASSETS, EDITOR, Site
from lore_server.knowledge.document import KnowledgeDocument
from lore_server.knowledge.limits import DOCUMENT_BYTES, checked_text
from lore_server.services.chapters import metadata_of

WEB = Path(__file__).parents[1] / "web"
SHELL = "index.html"
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
STATE = "/page/state"
IDLE_SECONDS = 0.5  # between two checks while no job runs
HEARTBEAT_SECONDS = 5.0  # after a longer silence, the page considers the server dead
HEALTH_SECONDS = 60.0
READING = 4  # threads for all pages together
MARKDOWN = "/page/markdown"
MAX_BYTES = 32_000_000
LONGEST = 100_000  # characters: prose takes 0.3 s, the worst case (brackets) 3 s
AT_ONCE = 2
_META = re.compile(r'(<meta name="lore-(\w+)" content=")[^"]*(")')


def page_routes(site: Site, folder: Path = WEB, contract: Contract | None = None) -> list[Route]:
    """Return the routes `/` and `/assets/…`. Deep links are fragments, so there is no other page."""
    schemas = contract.document["components"]["schemas"] if contract else {"Error": {"properties": {"code": {}}}}
    advice = json.dumps(schemas["Error"]["properties"]["code"].get("x-advice", {}))

    def shell(request: Request) -> Response:
        version, assets = assets_of(folder)
        if SHELL not in assets:
            raise HTTPException(404)
        page = filled(assets[SHELL].decode(), {**page_settings(site, request.url.hostname), "advice": advice})
        return HTMLResponse(addressed(page, version), headers={"Cache-Control": "no-store"})

    def asset(request: Request) -> Response:
        version, assets = assets_of(folder)
        name = request.path_params["name"]
        if request.path_params["version"] != version or name == SHELL or name not in assets:
            raise HTTPException(404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(assets[name], headers=headers, media_type=TYPES[Path(name).suffix])

    return [Route("/", shell, methods=["GET"]), Route(ASSETS + "{version}/{name:path}", asset, methods=["GET"])]


def addressed(page: str, version: str) -> str:
    """Return the page with the addresses of this version of its files."""
    return page.replace(f'"{ASSETS}', f'"{ASSETS}{version}/')


@cache
def assets_of(folder: Path) -> tuple[str, Mapping[str, bytes]]:
    """Return the page's version, and its files by name: a requested path is looked up here and never opened.

    The version is part of their addresses, also of those that they import from each other, so browsers keep them. A
    server keeps the files with which it started.
    """
    files = sorted(file for file in folder.rglob("*") if file.suffix in TYPES and not file.is_symlink())
    assets = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.is_file()}
    return hashlib.sha256(repr(assets).encode()).hexdigest()[:16], assets


def page_settings(site: Site, name: str | None) -> dict[str, str]:
    """Return the values for the page; if other machines can load it, none that require the token."""
    shown = site.shown()
    known = {"editor": EDITOR, "version": __version__, "token": "", "base": shown["base"], "project": "", "root": ""}
    return {**known, **shown, "token": site.token.value} if site.is_private(name) else known


def filled(page: str, values: Mapping[str, str]) -> str:
    """Fill the `lore-…` metas of the page with escaped values."""

    def fill(match: re.Match[str]) -> str:
        return match[1] + html.escape(values.get(match[2], ""), quote=True) + match[3]

    return _META.sub(fill, page)


@dataclass(frozen=True)
class Pulse:
    """The source of event streams: `state` and `health` are called in a thread; every stream ends with `stopping`."""

    state: Callable[[], JSON]
    health: Callable[[], JSON]
    stopping: anyio.Event


def pulse_routes(pulse: Pulse) -> list[Route]:
    limiter = anyio.CapacityLimiter(READING)

    async def state(request: Request) -> Events:
        return Events(_states(pulse, limiter))

    return [Route(STATE, state, methods=["GET"])]


async def _states(pulse: Pulse, limiter: anyio.CapacityLimiter) -> Stream:
    """Stream `state` on change and at intervals, which are shorter while a job runs because its times change.

    `health` follows each change of anything but the progress of a job, and comes every minute.
    """
    shown: object = None
    shown_at = checked_at = 0.0
    checked: object = None
    while not pulse.stopping.is_set():
        state = await anyio.to_thread.run_sync(pulse.state, abandon_on_cancel=True, limiter=limiter)
        is_running = state.get("job", {}).get("state") == "running"
        lasting = {part: without_clocks(value) for part, value in state.items()}
        longest = QUIET_SECONDS if is_running else HEARTBEAT_SECONDS
        if lasting != shown or time.monotonic() - shown_at >= longest:
            yield event_of("state", {**state, "now": timestamp()})
            shown, shown_at = lasting, time.monotonic()
        parts = {**lasting, "job": (state.get("job", {}).get("id"), state.get("job", {}).get("stage"), is_running)}
        if parts != checked or time.monotonic() - checked_at >= HEALTH_SECONDS:
            health = await anyio.to_thread.run_sync(pulse.health, abandon_on_cancel=True, limiter=limiter)
            yield event_of("health", health)
            checked, checked_at = parts, time.monotonic()
        with anyio.move_on_after(STEP_SECONDS if is_running else IDLE_SECONDS):
            await pulse.stopping.wait()


def rendering_routes() -> list[Route]:
    working = anyio.CapacityLimiter(AT_ONCE)

    async def markdown(request: Request) -> Response:
        """Render a document, or `parts` of files: Markdown, or code by the name of its file."""
        try:
            given = await json_of(request, MAX_BYTES)
            text, parts = given.get("text"), given.get("parts")
            if isinstance(parts, list):
                return JSONResponse({"parts": await anyio.to_thread.run_sync(_rendered_parts, parts, limiter=working)})
            if not isinstance(text, str):
                raise InvalidArgument("`text` is missing or not a string.")
            checked_text(text, DOCUMENT_BYTES, "document")
            return JSONResponse(await anyio.to_thread.run_sync(rendered, text, limiter=working))
        except LoreError as error:
            return refused(error)

    return [Route(MARKDOWN, markdown, methods=["POST"])]


def _rendered_parts(parts: list[Any]) -> list[list[Any]]:
    """Return the elements of each part, `{"text": …, "path": …}`. Raises InvalidArgument."""
    found, left = [], LONGEST
    for part in parts:
        match part:
            case {"text": str(text), "path": str(path)} if not path or syntax_of(path) == "markdown":
                found.append(elements_of(text[:left]))
            case {"text": str(text), "path": str(path)}:
                found.append([["pre", {}, ["code", {}, *coloured(text, path)]]])
            case _:
                raise InvalidArgument("A part has a `text` and a `path`.")
        left = max(0, left - len(text))
    return found


def rendered(text: str) -> JSON:
    """Return the front matter, the elements of the text, and the rest if it is too long to render."""
    document = KnowledgeDocument(text)
    body = body_of(text)
    end = len(body) if len(body) <= LONGEST else body.rfind("\n", 0, LONGEST) + 1 or LONGEST
    front: JSON = {}
    with suppress(FrontMatterError):
        front = front_matter_values(text, as_text=True)
    metadata = metadata_of(document.title, document.metadata)
    elements = elements_of(body[:end], front_matter_lines(text) + 1)
    return {"metadata": metadata, "front": front, "elements": elements, "rest": body[end:]}
