"""Read a tracker over HTTP: pages by `Link`, conditional requests, rate limits, and no host but the user's."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from lore_etl.config.settings import is_this_machine
from lore_etl.core.errors import Busy, NotFound, ProviderUnavailable, UsageError
from lore_server import __version__

ATTEMPTS = 4
TIMEOUT_SECONDS = 30.0
MAX_REDIRECTS = 3
MAX_BYTES = 50_000_000  # of a reply
_REDIRECTS = frozenset({301, 302, 307, 308})
_UNAVAILABLE = frozenset({500, 502, 503, 504})


@dataclass(frozen=True)
class TrackerReply:
    """A reply: its data, or None if nothing has changed since the tag; the address of the next page; and its tag."""

    data: Any
    next: str | None = None
    tag: str | None = None


class TrackerClient:
    """Requests to one tracker. `patience` is the maximum number of seconds to wait for its rate limit."""

    def __init__(
        self,
        address: str,
        headers: Mapping[str, str],
        patience: float,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(address)
        is_local = is_this_machine(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise UsageError(
                f"{address} is not an https address.", "Lore does not send a token over an unencrypted connection."
            )
        self._address = address.rstrip("/") + "/"
        self._origin = (parts.scheme, parts.hostname, parts.port)
        self._patience, self._sleep, self._now = patience, sleep, now
        agent = {"User-Agent": f"lore/{__version__}", **headers}
        self._http = httpx.Client(headers=agent, timeout=TIMEOUT_SECONDS, trust_env=not is_local)
        self.requests = 0

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, parameters: Mapping[str, str] | None = None, tag: str | None = None) -> TrackerReply:
        """Return a page. `path` is relative, or the address of a next page.

        Raises:
            Busy: the rate limit lasts longer than the patience.
            NotFound, UsageError: there is no such project, or the token is not valid.
            ProviderUnavailable: the tracker does not respond, or not as expected.
        """
        address = urljoin(self._address, path)
        return self._reply(self._send("GET", address, parameters, {"If-None-Match": tag} if tag else {}))

    def post(self, path: str, body: object) -> Any:
        """Return the data of the reply to a query. Raises the same errors as `get`."""
        return self._reply(self._send("POST", urljoin(self._address, path), None, {}, json.dumps(body))).data

    def _send(
        self,
        method: str,
        address: str,
        parameters: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: str | None = None,
    ) -> httpx.Response:
        failures = redirects = 0
        while True:
            self._check(address)
            self.requests += 1
            try:
                found = self._http.request(method, address, params=parameters, headers=headers, content=body)
            except httpx.HTTPError as error:
                found, reason = None, f"{type(error).__name__}: {error}"
            if found is not None and found.status_code in _REDIRECTS and redirects < MAX_REDIRECTS:
                address = urljoin(address, found.headers.get("location", ""))
                parameters, redirects = None, redirects + 1
            elif found is not None and (pause := self._pause(found)) is not None:
                self._wait(pause)
            elif found is not None and found.status_code not in _UNAVAILABLE:
                return found
            else:
                failures += 1
                if failures == ATTEMPTS:
                    reason = reason if found is None else f"status {found.status_code}"
                    raise ProviderUnavailable(
                        f"The tracker does not respond ({reason}).", "Run the command again later."
                    )
                self._sleep(2.0**failures / 4)

    def _check(self, address: str) -> None:
        parts = urlsplit(address)
        if (parts.scheme, parts.hostname, parts.port) != self._origin:
            raise ProviderUnavailable(
                f"The tracker refers to another host ({parts.hostname}), which Lore does not contact.",
                "If the project has moved there, give its address with --url.",
            )

    def _pause(self, reply: httpx.Response) -> float | None:
        """Return the number of seconds to wait at the tracker's request; None if it sets no limit."""
        if reply.status_code not in (403, 429):
            return None
        headers = reply.headers
        if (seconds := _number(headers.get("retry-after"))) is not None:
            return seconds
        if headers.get("x-ratelimit-remaining") == "0" or headers.get("ratelimit-remaining") == "0":
            reset = _number(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset"))
            return max(0.0, reset - self._now() + 1) if reset is not None else 60.0
        return 60.0 if reply.status_code == 429 else None

    def _wait(self, seconds: float) -> None:
        if seconds > self._patience:
            until = time.strftime("%H:%M", time.localtime(self._now() + seconds))
            raise Busy(
                f"The tracker's rate limit is reached until {until}. All pages so far are saved.",
                "Run the command again then; it continues. With a token in the environment, the limit is higher.",
            )
        self._sleep(seconds)

    def _reply(self, found: httpx.Response) -> TrackerReply:
        if found.status_code == 304:
            return TrackerReply(None)
        if found.status_code == 401:
            raise UsageError("The tracker does not accept the token.", "Check the token in the environment.")
        if found.status_code in (403, 404, 410):
            raise NotFound(
                f"The tracker has no such project, or does not show it (status {found.status_code}).",
                "Check its name. A private project needs a token in the environment.",
            )
        if found.status_code != 200 or len(found.content) > MAX_BYTES:
            raise ProviderUnavailable(f"The tracker replied with status {found.status_code}.", "Check the address.")
        try:
            data = found.json()
        except ValueError as error:
            raise ProviderUnavailable("The tracker's reply is not JSON.", "Check the address.") from error
        return TrackerReply(data, found.links.get("next", {}).get("url"), found.headers.get("etag"))


def _number(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
