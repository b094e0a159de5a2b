"""Check every request: origin, host name and token; and add the headers of every response."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lore_etl.core.errors import Forbidden, InvalidArgument, LimitReached, LoreError, TokenRequired
from lore_server.contract import Operation
from lore_server.execution.lanes import CLIENT, PROJECTS
from lore_server.http.access import ACCESS, Access, Level, Limits
from lore_server.http.crowd import Crowd
from lore_server.http.site import ASSETS, PROJECT, Site
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
LIVE = "/livez"
METADATA = "/.well-known/oauth-protected-resource"
RIGHTS = "lore.access"  # of a request, in its scope


class Guard:
    """A filter that rejects requests that a foreign web page could have caused, and remote requests without a token."""

    def __init__(self, app: ASGIApp, site: Site, crowd: Crowd) -> None:
        self._app = app
        self._site = site
        self._crowd = crowd
        self._limits = Limits()

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
                    headers.append((b"retry-after", b"%d" % self._crowd.count_refusal()))
                else:
                    self._crowd.count_answer()
                if message["status"] == HTTPStatus.UNAUTHORIZED and self._site.issuer is not None:
                    headers = [one for one in headers if one[0] != b"www-authenticate"]
                    challenge = f'Bearer realm="lore", resource_metadata="{self._site.issuer.metadata_url}"'
                    headers.append((b"www-authenticate", challenge.encode()))
                message = {**message, "headers": headers}
            await send(message)

        refusal = await self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_guarded)

    async def _refusal(self, scope: Scope) -> JSONResponse | None:
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
        is_free = scope["path"] in ("/", LIVE) or scope["path"].startswith((ASSETS, METADATA))
        try:
            await self._admit(scope, name.hostname)
        except LoreError as error:
            return None if is_free else refused(error)
        return None

    async def _admit(self, scope: Scope, name: str | None) -> None:
        """Determine the rights of a request, and limit one about all projects to those that it may read.

        Raises:
            TokenRequired: it has no valid token.
            ProviderUnavailable: the OpenID provider cannot be asked about it.
            Forbidden: it may not read the project, or there is none of this name.
            LimitReached: its token has no more requests in this minute.
        """
        access = await self._site.access(_header(scope, b"authorization"), name)
        scope[RIGHTS] = access
        ACCESS.set(access)
        CLIENT.set(access.author or (scope.get("client") or ("",))[0])
        if not self._limits.admit(access):
            raise LimitReached(f"The limit of {access.per_minute} requests in a minute is reached.")
        if access.everywhere >= Level.READ:
            return
        is_unknown = scope["path"].startswith((PROJECT, "/mcp/")) and scope["path"] != "/mcp/"  # else it was rewritten
        asked = self._site.asked()
        if self._site.many and not PROJECTS.get():
            asked = tuple(one for one in asked if access.level((one,)))
            PROJECTS.set(asked)
        if is_unknown or not asked or access.level(asked) < Level.READ:
            raise Forbidden("This token does not give access to this project.")


def check(operation: Operation, scope: Scope, site: Site) -> None:
    """Raise TokenRequired or Forbidden if the request may not run the operation."""
    access: Access = scope[RIGHTS]
    if access.may(operation, site.asked()):
        return
    if access.is_anonymous:
        raise TokenRequired(f"{operation.id} needs the token, and the request has none.")
    raise Forbidden(f"This token does not give the right to {operation.id}.")


def refused(error: LoreError, status: int | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    more = {"WWW-Authenticate": 'Bearer realm="lore"'} if isinstance(error, TokenRequired) else {}
    more |= {"Retry-After": "60"} if isinstance(error, LimitReached) else {}
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
