"""The web page: its files in `server/lore_server/web`, without a build step, and its stream of the index's state."""

import hashlib
import html
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from lore_etl.core.dates import timestamp
from lore_etl.core.errors import NotFound
from lore_etl.core.json_types import JSON
from lore_server import __version__
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.threads import PROJECTS
from lore_server.http.events import Events, Stream, event_of
from lore_server.http.guard import LIST, refused
from lore_server.http.site import ASSETS, EDITOR, PROJECT, Site

WEB = Path(__file__).parents[1] / "web"
SHELL = "index.html"
TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
STATE = "/page/state"
READY = "/readyz"
STEP_SECONDS, IDLE_SECONDS = 0.2, 0.5  # between two checks while a job runs, and while none does
QUIET_SECONDS = 1.0  # between two events about a job that only takes longer
HEARTBEAT_SECONDS = 5.0  # after a longer silence, the page considers the server dead
HEALTH_SECONDS = 60.0
READING = 4  # threads for all pages together
LIST_PAGE = Path(__file__).with_name("projects.html").read_text(encoding="utf-8")
_CLOCKS = ("seconds", "rate", "eta_seconds", "age_seconds")
_META = re.compile(r'(<meta name="lore-(\w+)" content=")[^"]*(")')


def page_routes(site: Site, contract: Contract, folder: Path = WEB) -> list[Route]:
    """Return the routes `/` and `/assets/…`. Deep links are fragments, so there is no other page."""
    advice = json.dumps(contract.document["components"]["schemas"]["Error"]["properties"]["code"]["x-advice"])

    def shell(request: Request) -> Response:
        version, assets = assets_of(folder)
        if SHELL not in assets:
            raise HTTPException(404)
        project = request.path_params.get("name") or next(iter(PROJECTS.get()), "")
        page = filled(assets[SHELL].decode(), {**page_settings(site, request.url.hostname, project), "advice": advice})
        return HTMLResponse(addressed(page, version), headers={"Cache-Control": "no-store"})

    def asset(request: Request) -> Response:
        version, assets = assets_of(folder)
        name = request.path_params["name"]
        if request.path_params["version"] != version or name == SHELL or name not in assets:
            raise HTTPException(404)
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(assets[name], headers=headers, media_type=TYPES[Path(name).suffix])

    shells = [Route(path, shell) for path in ("/", f"{PROJECT}{{name}}/")[: 1 + site.is_open]]
    return [*shells, Route(ASSETS + "{version}/{name:path}", asset)]


def addressed(page: str, version: str) -> str:
    return page.replace(f'"{ASSETS}', f'"{ASSETS}{version}/')


@cache
def assets_of(folder: Path) -> tuple[str, Mapping[str, bytes]]:
    """Return the page's version, and its files by name: a requested path is looked up here and never opened.

    The version is part of their addresses, so that browsers keep them; a server keeps the files it started with.
    """
    files = sorted(file for file in folder.rglob("*") if file.suffix in TYPES and not file.is_symlink())
    assets = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if file.is_file()}
    return hashlib.sha256(repr(assets).encode()).hexdigest()[:16], assets


def page_settings(site: Site, name: str | None, chosen: str = "") -> dict[str, str]:
    """Return the values for the page; if other machines can load it, none that require the token."""
    project, root, base = site.project, str(site.root), ""
    if site.many:
        project, root, base = chosen, str(site.many.get(chosen, "")), f"{PROJECT}{quote(chosen)}"
    known = {"editor": EDITOR, "version": __version__, "token": "", "base": base, "project": "", "root": ""}
    return {**known, "project": project, "root": root, "token": site.token.value} if site.is_private(name) else known


def filled(page: str, values: Mapping[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        return match[1] + html.escape(values.get(match[2], "")) + match[3]

    return _META.sub(fill, page)


@dataclass(frozen=True)
class Pulse:
    """The source of event streams: they show the application that `hold` yields, and end with `stopping`."""

    hold: Callable[[], AbstractContextManager[App]]
    stopping: anyio.Event
    limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(READING))

    async def read(self, part: Callable[[App], JSON]) -> JSON:
        def work() -> JSON:
            with self.hold() as app:
                return part(app)

        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self.limiter)


def pulse_route(pulse: Pulse, site: Site) -> Route:
    async def state(request: Request) -> Response:
        if len(site.asked()) != 1:
            return refused(NotFound("Several projects have no common state.", f"Name one: {PROJECT}<project>{STATE}."))
        return Events(_states(pulse))

    return Route(STATE, state)


async def _states(pulse: Pulse) -> Stream:
    """Stream `state` on change and at intervals, which are shorter while a job runs because its times change.

    `health` follows each change of anything but the progress of a job, and comes every minute.
    """
    shown: object = None
    checked: object = None
    shown_at = checked_at = 0.0
    while not pulse.stopping.is_set():
        state = await pulse.read(lambda app: app.state())
        job = state.get("job", {})
        is_running = job.get("state") == "running"
        lasting = {part: {k: v for k, v in facts.items() if k not in _CLOCKS} for part, facts in state.items()}
        longest = QUIET_SECONDS if is_running else HEARTBEAT_SECONDS
        if lasting != shown or time.monotonic() - shown_at >= longest:
            yield event_of("state", {**state, "now": timestamp()})
            shown, shown_at = lasting, time.monotonic()
        parts = {**lasting, "job": (job.get("id"), job.get("stage"), is_running)}
        if parts != checked or time.monotonic() - checked_at >= HEALTH_SECONDS:
            yield event_of("health", await pulse.read(lambda app: app.health()))
            checked, checked_at = parts, time.monotonic()
        with anyio.move_on_after(STEP_SECONDS if is_running else IDLE_SECONDS):
            await pulse.stopping.wait()


def routes_of_many(states: Callable[[], Mapping[str, str]]) -> list[Route]:
    """Return the list of the projects, as a page and for monitoring; `states` has the state of each."""

    def permitted() -> list[tuple[str, str]]:
        return [(name, state) for name, state in states().items() if name in (PROJECTS.get() or states())]

    async def listed(request: Request) -> Response:
        rows = (
            f'<li><a href="{PROJECT}{quote(name)}/">{html.escape(name)}</a> {html.escape(state)}</li>'
            for name, state in permitted()
        )
        return HTMLResponse(addressed(LIST_PAGE.format("".join(rows)), assets_of(WEB)[0]))

    async def ready(request: Request) -> Response:
        """Tell which projects answer; the server is ready as long as any does."""
        found = dict(permitted())
        is_ready = any(state in ("open", "closed") for state in found.values())
        return JSONResponse({"ready": is_ready, "projects": found}, 200 if is_ready else 503)

    return [Route(LIST, listed), Route(READY, ready)]
