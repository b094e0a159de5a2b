"""The web page and its assets in `server/lore_server/web`: plain files without a build step."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lore_server import __version__
from lore_server.http.site import EDITOR, Site

WEB = Path(__file__).parents[1] / "web"
SHELL = "index.html"
ASSETS = "/assets/"
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_META = re.compile(r'(<meta name="lore-(\w+)" content=")[^"]*(")')


def page_routes(site: Site, folder: Path = WEB) -> list[Route]:
    """Return the routes `/` and `/assets/…`. Deep links are fragments, so there is no other page."""

    def shell(request: Request) -> Response:
        file = folder / SHELL
        if not file.is_file():
            raise HTTPException(404)
        page = filled(file.read_text(encoding="utf-8"), told_to_the_page(site, request.url.hostname))
        return HTMLResponse(page, headers={"Cache-Control": "no-store"})

    def asset(request: Request) -> Response:
        file = _assets(folder).get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        content = file.read_bytes()
        # "no-cache" makes browsers revalidate: they notice an upgrade immediately, and unchanged files are not sent
        # again.
        headers = {"Cache-Control": "no-cache", "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=TYPES[file.suffix])

    return [Route("/", shell, methods=["GET"]), Route(ASSETS + "{name:path}", asset, methods=["GET"])]


def told_to_the_page(site: Site, name: str | None) -> dict[str, str]:
    """Return the values for the page; if others can load it, none that require the token."""
    known = {"editor": EDITOR, "version": __version__, "token": "", "project": "", "root": ""}
    if not site.is_private(name):
        return known
    return {**known, "token": site.token.value, "project": site.project, "root": str(site.root)}


def filled(page: str, values: Mapping[str, str]) -> str:
    """Fill the `lore-…` metas of the page with escaped values."""

    def fill(match: re.Match[str]) -> str:
        return match[1] + html.escape(values.get(match[2], ""), quote=True) + match[3]

    return _META.sub(fill, page)


def _assets(folder: Path) -> dict[str, Path]:
    """Return the assets by name: a requested path is looked up here and never opened."""
    found = ((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*") if file.suffix in TYPES)
    return {name: file for name, file in found if file.is_file() and not file.is_symlink()}
