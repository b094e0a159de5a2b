"""Check every request: origin, host name and token; and add the headers of every response."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lore_etl.core.errors import InvalidArgument, LoreError, TokenRequired
from lore_server.execution.lanes import CLIENT
from lore_server.http.crowd import Crowd
from lore_server.http.site import ASSETS, Site
from lore_server.replies.problem import problem

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
PORTS = {"http": 80, "https": 443}


class Guard:
    """A filter that rejects requests that a foreign web page could have caused, and remote requests without a token."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site
        self.crowd = Crowd()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = with_our_headers(message.get("headers", ()))
                if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                    headers.append((b"retry-after", b"%d" % self.crowd.count_refusal()))
                else:
                    self.crowd.count_answer()
                message = {**message, "headers": headers}
            await send(message)

        CLIENT.set((scope.get("client") or ("",))[0])
        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        host, origin = _header(scope, b"host"), _header(scope, b"origin")
        name = _parsed(f"//{host}") if host else None
        if name is None or name.username is not None or (name.hostname or "") not in self._site.hosts:
            hint = f"Allowed hosts: {', '.join(sorted(self._site.hosts))}; add others with server.allowed_hosts."
            return refused(InvalidArgument("Requests with this Host are refused.", hint), 421)
        if origin is not None and not _is_same(_parsed(origin), name):
            hint = "In a browser, only this server's own page may call it."
            return refused(InvalidArgument("Requests with this Origin are refused.", hint), 403)
        if scope["method"] == "OPTIONS":
            unasked = InvalidArgument(
                "Other origins are not allowed.", "Call it from outside a browser, without a preflight request."
            )
            return refused(unasked, 405, {"Allow": "GET, POST"})
        is_page = scope["path"] == "/" or scope["path"].startswith(ASSETS)
        if not (is_page or self._site.is_private(name.hostname) or has_token(scope, self._site)):
            return refused(TokenRequired("Every request to this server needs the token."))
        return None


def has_token(scope: Scope, site: Site) -> bool:
    given = _header(scope, b"authorization")
    return given is not None and site.token.is_in(given.encode("latin-1"))


def refused(error: LoreError, status: int | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    more = {"WWW-Authenticate": 'Bearer realm="lore"'} if isinstance(error, TokenRequired) else {}
    return JSONResponse(problem(error), status or error.http_status, {**more, **(headers or {})})


def _header(scope: Scope, name: bytes) -> str | None:
    """Return the value of a header. Values of a repeated header are joined, which makes them invalid."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return ",".join(values) if values else None


def _parsed(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port is None or parts.port >= 0 else None
    except ValueError:
        return None


def _is_same(origin: SplitResult | None, host: SplitResult) -> bool:
    """Return whether an origin is exactly the address that a request was sent to."""
    if origin is None or origin.scheme not in PORTS or origin.username is not None:
        return False
    usual = PORTS[origin.scheme]
    return (origin.hostname, origin.port or usual) == (host.hostname, host.port or usual)


def with_our_headers(headers: Any) -> list[tuple[bytes, bytes]]:
    """Add the security headers; default to `Cache-Control: no-store`."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    ours = [*HEADERS, (b"cache-control", b"no-store")]
    return [*given, *((name, value) for name, value in ours if name not in names)]
