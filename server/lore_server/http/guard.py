"""Check every request: origin, host name and token; and add the headers of every response."""

import math
import random
import re
import time
from collections.abc import Callable, Collection, Iterable
from functools import partial
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lore_etl.core.errors import Forbidden, InvalidArgument, LimitReached, LoreError, TokenRequired
from lore_server.contract import Operation
from lore_server.execution.threads import CLIENT, PROJECTS
from lore_server.http.access import ACCESS, Level, Limits
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
WEBHOOK = "/webhook"  # its deliveries are signed
LIST = "/projects"
_OWN = re.compile(f"(?:{PROJECT}[^/,]+)?/|(?:{PROJECT}[^/]+)?{WEBHOOK}")  # pages and deliveries
MCP = "/mcp/"  # precedes the name of one of many projects, as `PROJECT` does
METADATA = "/.well-known/oauth-protected-resource"
Headers = Iterable[tuple[bytes, bytes]]
RENEW = "lore.renew"  # in the scope of a request: what reads its rights again
WINDOW_SECONDS = 5.0
LONGEST_SECONDS = 60


class Crowd:
    """The requests that were answered and refused in the last seconds; older ones count exponentially less.

    It tells refused clients when to return, so that a crowd does not spend the server's time on further refusals.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, chance: random.Random | None = None) -> None:
        self._now = now
        self._chance = chance or random.Random()
        self._answered = self._refused = 0.0
        self._at = now()

    def count_answer(self) -> None:
        self._fade()
        self._answered += 1

    def count_refusal(self) -> int:
        """Return the seconds for `Retry-After`: the time to answer all refused, varied so that they return apart."""
        self._fade()
        self._refused += 1
        seconds = WINDOW_SECONDS * self._refused / max(1.0, self._answered)
        return min(LONGEST_SECONDS, max(1, round(seconds * self._chance.uniform(0.5, 1.5))))

    def _fade(self) -> None:
        now = self._now()
        share = math.exp((self._at - now) / WINDOW_SECONDS)
        self._answered, self._refused, self._at = self._answered * share, self._refused * share, now


class Guard:
    """A filter that rejects requests that a foreign web page could have caused, and remote requests without a token.

    It serves `/mcp/<project>` and `/projects/<project>/…` like a single project; commas separate several, none is all.
    """

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
                message = {**message, "headers": self._headers(message["status"], message.get("headers", ()))}
            await send(message)

        address = scope["path"]
        if self._site.many:
            names, path = chosen(address, self._site.many)
            PROJECTS.set(names)
            scope = {**scope, "path": path}
        await (await self._refusal(scope, address) or self._app)(scope, receive, send_guarded)

    def _headers(self, status: int, given: Headers) -> list[tuple[bytes, bytes]]:
        """Return the headers of a response, and count it."""
        headers = with_our_headers(given)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            headers.append((b"retry-after", b"%d" % self._crowd.count_refusal()))
        else:
            self._crowd.count_answer()
        if status == HTTPStatus.UNAUTHORIZED:
            issuer = self._site.issuer
            more = f', resource_metadata="{issuer.metadata_url}"' if issuer is not None else ""
            headers.append((b"www-authenticate", f'Bearer realm="lore"{more}'.encode()))
        return headers

    async def _refusal(self, scope: Scope, address: str) -> JSONResponse | None:
        host, origin = _header(scope, b"host"), _header(scope, b"origin")
        name = _parsed(f"//{host}") if host else None
        if name is None or name.username is not None or (name.hostname or "") not in self._site.hosts:
            hint = f"Allowed hosts: {', '.join(sorted(self._site.hosts))}; add others with server.allowed_hosts."
            return refused(InvalidArgument("Requests with this Host are refused.", hint), 421)
        if origin is not None and not _is_same(_parsed(origin), name):
            hint = "In a browser, only this server's own page may call it."
            return refused(InvalidArgument("Requests with this Origin are refused.", hint), 403)
        if scope["method"] == "OPTIONS":
            hint = "Call it from outside a browser, without a preflight request."
            return refused(InvalidArgument("Other origins are not allowed.", hint), 405, {"Allow": "GET, POST"})
        # a browser opens a page without a token; the whole address decides, so those of unknown projects are the same
        end = _OWN.fullmatch(address) if scope["path"] != LIST else None
        takes_deliveries, is_anonymous = self._site.webhook_secret, _header(scope, b"authorization") is None
        is_own = end and (takes_deliveries if address.endswith(WEBHOOK) else is_anonymous)
        is_free = is_own or address == LIVE or address.startswith((ASSETS, METADATA))
        try:
            await self._admit(scope, name.hostname)
        except LoreError as error:
            return None if is_free else refused(error)
        return None

    async def _admit(self, scope: Scope, name: str | None) -> None:
        """Determine the rights of a request, and limit one about all projects to those that it may read.

        Raises TokenRequired, ProviderUnavailable, LimitReached; Forbidden, also if there is no such project.
        """
        renew = partial(self._site.access, _header(scope, b"authorization"), name)
        access = await renew()
        scope[RENEW] = renew
        ACCESS.set(access)
        CLIENT.set(access.author or (scope.get("client") or ("",))[0])
        if not self._limits.admit(access):
            raise LimitReached(f"The limit of {access.per_minute} requests in a minute is reached.")
        if access.everywhere >= Level.READ:
            return
        is_unknown = scope["path"].startswith((PROJECT, MCP)) and scope["path"] != MCP  # else `chosen` changed it
        asked = self._site.asked()
        if self._site.many and not PROJECTS.get():
            asked = tuple(one for one in asked if access.level((one,)))
            PROJECTS.set(asked)
        if is_unknown or not asked or access.level(asked) < Level.READ:
            raise Forbidden("This token does not give access to this project.")


def chosen(path: str, known: Collection[str]) -> tuple[tuple[str, ...], str]:
    """Return the projects that a path names, and the path of the route within a project."""
    if path == "/":
        return (), LIST
    for start in (PROJECT, MCP):
        name, _, below = path.removeprefix(start).partition("/")
        names = (name,) if name in known else tuple(dict.fromkeys(name.split(",")))
        if path.startswith(start) and all(one in known for one in names):
            if start == PROJECT:
                return names, f"/{below}"
            if not below:
                return names, MCP.rstrip("/")
    return (), path


def check(operation: Operation, site: Site) -> None:
    """Raise TokenRequired or Forbidden if the current request may not run the operation."""
    access = ACCESS.get()
    if access.may(operation, site.asked()):
        return
    if not access.author:
        raise TokenRequired(f"{operation.id} needs the token, and the request has none.")
    raise Forbidden(f"This token does not give the right to {operation.id}.")


def refused(error: LoreError, status: int | None = None, headers: dict[str, str] | None = None) -> JSONResponse:
    more = {"Retry-After": "60"} if isinstance(error, LimitReached) else {}
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
    if origin is None or origin.scheme not in PORTS or origin.username is not None:
        return False
    usual = PORTS[origin.scheme]
    return (origin.hostname, origin.port or usual) == (host.hostname, host.port or usual)


def with_our_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    given = list(headers)
    names = {name.lower() for name, _ in given}
    ours = [*HEADERS, (b"cache-control", b"no-store")]
    return [*given, *((name, value) for name, value in ours if name not in names)]
