"""Read one documentation site: only its own host, slowly, within limits, and as its robots.txt allows."""

import codecs
import ipaddress
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass
from urllib.robotparser import RobotFileParser

import httpx

from lore_etl.core.errors import Busy, NotFound, ProviderUnavailable, UsageError
from lore_etl.core.text import encodable
from lore_etl.system.request_limits import limit_requests
from lore_server import __version__
from lore_server.execution.foreign_reply import READ_SECONDS, ReplyRefused, content_of, retry_seconds
from lore_server.library_docs.site_paths import normalised, origin_of

AGENT = "lore-add-docs"
ATTEMPTS = 3
PAUSE_SECONDS = 0.2  # between two requests, unless robots.txt asks for more
LONGEST_DELAY = 30.0  # of robots.txt; a site that asks for more is not read
TIMEOUT_SECONDS = 20.0
RUN_SECONDS = 1800.0
MAX_REDIRECTS = 5
MAX_PAGE_BYTES = 5_000_000
MAX_ROBOTS_BYTES = 500_000
_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape"})  # those of Python's own
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True)
class SiteReply:
    """A reply. `problem` is the reason why there is no text; status 0 means that there was no reply."""

    status: int
    text: str = ""
    kind: str = ""
    etag: str = ""
    modified: str = ""
    url: str = ""
    problem: str = ""
    following: str = ""  # the target of a redirect
    pause: float | None = None  # seconds to wait, if the site asks for a pause

    @property
    def is_html(self) -> bool:
        return "html" in self.kind or self.text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))


class SiteClient:
    """Requests to the origin of one address, which the user named. The site may ask to wait for `patience` seconds."""

    def __init__(
        self,
        start: str,
        patience: float = 60.0,
        is_private_allowed: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._origin, self._patience, self._sleep = origin_of(start), patience, sleep
        self._host = urlsplit(start).netloc
        self._address, is_local = _address_of(start, is_private_allowed)
        self._pause = 0.0 if is_local else PAUSE_SECONDS
        direct = {} if self._address is None else {"http://": None, "https://": None}  # no proxy
        self._http = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=not is_local, mounts=direct)
        limit_requests(self._http, lambda: TIMEOUT_SECONDS + READ_SECONDS, MAX_PAGE_BYTES + 1_000_000)
        self._end, self._last = time.monotonic() + RUN_SECONDS, 0.0
        self._robots = RobotFileParser()
        self._robots.parse([])  # nothing is forbidden until it is read
        self.requests = 0

    def close(self) -> None:
        self._http.close()

    def read_robots(self) -> list[str]:
        """Read robots.txt, and return its sitemaps. Raises ProviderUnavailable without it: no page may be read then."""
        reply = self.get(urljoin(f"{self._origin[0]}://{self._host}/", "robots.txt"), limit=MAX_ROBOTS_BYTES)
        if reply.status >= 500 or reply.problem:
            hint = "Try again later."
            raise ProviderUnavailable(f"The site's robots.txt cannot be read ({reply.problem or reply.status}).", hint)
        if reply.status == 200 and not reply.is_html:
            try:
                self._robots.parse(reply.text.splitlines())
            except ValueError as error:  # of a delay such as `²`
                raise ProviderUnavailable("The site's robots.txt is not valid.", "Tell its owner.") from error
        delay = float(self._robots.crawl_delay(AGENT) or 0)
        if delay > LONGEST_DELAY:
            hint = f"Lore waits for at most {LONGEST_DELAY:.0f}. Download its pages yourself, and add them with --from."
            raise UsageError(f"The site's robots.txt asks for {delay:,.0f} seconds between two requests.", hint)
        self._pause = max(self._pause, delay)
        return list(self._robots.site_maps() or ())

    def allows(self, url: str) -> bool:
        return self._robots.can_fetch(AGENT, url)

    def get(self, url: str, etag: str = "", modified: str = "", limit: int | None = None) -> SiteReply:
        """Return a page; status 304 if it has not changed since. Raises Busy if it is to rest, ProviderUnavailable."""
        known = {"If-None-Match": etag, "If-Modified-Since": modified}
        headers = {name: value for name, value in known.items() if value}
        failures = redirects = 0
        while True:
            if origin_of(url) != self._origin:
                return SiteReply(0, problem=f"it leads to another host ({urlsplit(url).hostname})")
            if not self.allows(url):
                return SiteReply(0, problem="robots.txt forbids it")
            self._wait_for_turn()
            try:
                reply = self._request(url, headers, limit or MAX_PAGE_BYTES)
            except httpx.HTTPError as error:
                reply = SiteReply(0, problem=type(error).__name__)
            if reply.following and redirects < MAX_REDIRECTS:
                url, redirects = reply.following, redirects + 1
                continue
            if reply.pause is None and 0 < reply.status < 500:
                return reply
            failures += 1
            if reply.pause is not None:
                self._rest(reply.pause, failures)
            elif failures < ATTEMPTS:
                self._sleep(2.0**failures / 8)
            elif reply.status:
                return reply
            else:
                hint = "Run the command again later."
                raise ProviderUnavailable(f"{self._host} does not answer ({reply.problem}).", hint)

    def _request(self, url: str, headers: dict[str, str], limit: int) -> SiteReply:
        target, extensions = httpx.URL(url), {}
        if self._address is not None:
            extensions = {"sni_hostname": target.host}
            target = target.copy_with(host=self._address)
        headers = {"User-Agent": f"{AGENT}/{__version__}", "Host": self._host, "Accept-Encoding": "identity", **headers}
        self.requests += 1
        with self._http.stream("GET", target, headers=headers, extensions=extensions) as found:
            status, given = found.status_code, found.headers
            if status in _REDIRECTS:
                return SiteReply(status, following=normalised(given.get("location", ""), url) or "")
            if status == 429 or (status == 503 and "retry-after" in given):
                return SiteReply(status, pause=_pause(given.get("retry-after")))
            if status != 200:
                return SiteReply(status, url=url)
            try:
                data = content_of(found, limit)
            except ReplyRefused as error:
                return SiteReply(status, url=url, problem=str(error))
            text = _decoded(data, found.charset_encoding or "utf-8")
            kind = given.get("content-type", "").partition(";")[0].strip().lower()
            known = given.get("etag", ""), given.get("last-modified", "")
            return SiteReply(status, text, kind, *known, url)

    def _wait_for_turn(self) -> None:
        if self.requests:
            self._sleep(max(0.0, self._last + self._pause - time.monotonic()))
        self._last = time.monotonic()
        if self._last > self._end:
            hint = "Run the command again; it continues."
            raise Busy("The time limit of this run has been reached. All pages read so far are saved.", hint)

    def _rest(self, seconds: float, failures: int) -> None:
        if seconds > self._patience or failures == ATTEMPTS:
            hint = f"Run the command again after {seconds:.0f} seconds; it continues."
            raise Busy("The site asks for a pause. All pages read so far are saved.", hint)
        self._sleep(seconds)


def _address_of(start: str, is_private_allowed: bool) -> tuple[str | None, bool]:
    """Return the address to connect to, None for the name, and whether it is local. Raises UsageError, NotFound."""
    scheme, host, port = origin_of(start)
    host = host or ""
    if host == "localhost" or host.endswith(".localhost"):
        return None, True
    try:
        return None, ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    if is_private_allowed or (scheme in getproxies() and not proxy_bypass(host)):
        return None, False
    try:
        # looked up once, so that it cannot lead to another address later
        found = [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise NotFound(f"There is no host {host}.", "Check the address and the network.") from error
    if not all(map(_is_public, found)):
        hint = "If that is the site you want, repeat the command with --private."
        raise UsageError(f"{host} is in a private network.", hint)
    return min(found, key=lambda address: ":" in address), False


def _is_public(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_global


def _pause(header: str | None) -> float:
    seconds = retry_seconds(header, time.time())
    return 30.0 if seconds is None else max(1.0, seconds)


def _decoded(data: bytes, charset: str) -> str:
    """Return a text in the encoding that the site names, or in UTF-8 if that is none of pages."""
    with suppress(LookupError, ValueError):
        if codecs.lookup(charset).name not in _NO_CHARSETS:
            return encodable(data.decode(charset, "replace"))
    return data.decode("utf-8", "replace")
