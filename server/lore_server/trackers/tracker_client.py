"""Read a tracker over HTTP: pages by `Link`, conditional requests, limits, and no host but the user's."""

import datetime
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urljoin

import httpx

from lore_etl.config.settings import is_this_machine
from lore_etl.core.errors import Busy, NotFound, ProviderUnavailable, UsageError
from lore_etl.system.request_limits import limit_requests
from lore_server import __version__
from lore_server.execution.foreign_reply import LONGEST_PAUSE, READ_SECONDS, ReplyRefused, content_of, retry_seconds
from lore_server.trackers.tickets import Item, TicketStore

ATTEMPTS = 4
TIMEOUT_SECONDS = 30.0
MAX_REDIRECTS = 3
MAX_BYTES = 50_000_000  # of a reply
MAX_REQUESTS = 10_000  # of a pull
_UNAVAILABLE = frozenset({500, 502, 503, 504})
OVERLAP = datetime.timedelta(seconds=1)  # trackers differ on whether `since` is inclusive


class TrackerReply(NamedTuple):
    """A reply: its data, or None if nothing has changed since the tag; the address of the next page; and its tag."""

    data: Any
    next: str | None = None
    tag: str | None = None


class TrackerClient:
    """Requests to one tracker. `patience` is the maximum number of seconds to wait at its request."""

    def __init__(
        self, address: str, headers: Mapping[str, str], patience: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        origin, is_local = httpx.URL(address), is_this_machine(address)
        if origin.scheme != "https" and not (origin.scheme == "http" and is_local):
            hint = "Lore does not send a token over an unencrypted connection."
            raise UsageError(f"{address} is not an https address.", hint)
        self._address = address.rstrip("/") + "/"
        self._origin = (origin.scheme, origin.host, origin.port)
        self._patience, self._sleep = patience, sleep
        agent = {"User-Agent": f"lore/{__version__}", "Accept-Encoding": "gzip", **headers}
        self._http = httpx.Client(headers=agent, timeout=TIMEOUT_SECONDS, trust_env=not is_local)
        limit_requests(self._http, lambda: TIMEOUT_SECONDS + READ_SECONDS, MAX_BYTES + 1_000_000)
        self.requests = 0

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, parameters: Mapping[str, str] | None = None, tag: str | None = None) -> TrackerReply:
        """Return a page. Raises Busy (rate limit), NotFound, UsageError (token), ProviderUnavailable."""
        headers = {"If-None-Match": tag} if tag else None
        address = urljoin(self._address, path)
        return self._send(self._http.build_request("GET", address, params=parameters, headers=headers))

    def pages(self, path: str, parameters: Mapping[str, str], tag: str | None = None) -> Iterator[TrackerReply]:
        """Yield a page of 100 items, and those that follow it. Raises the same errors as `get`."""
        reply, seen = self.get(path, {**parameters, "per_page": "100"}, tag), set[str]()
        yield reply
        while reply.next:
            if reply.next in seen:
                raise endless_pages()
            seen.add(reply.next)
            reply = self.get(reply.next)
            yield reply

    def post(self, path: str, body: object) -> Any:
        """Return the data of the reply to a query. Raises the same errors as `get`."""
        return self._send(self._http.build_request("POST", urljoin(self._address, path), json=body)).data

    def _send(self, request: httpx.Request) -> TrackerReply:
        failures = redirects = 0
        while True:
            self._check(request.url)
            self.requests += 1
            found, content, asked = None, b"", None
            try:
                with closing(self._http.send(request, stream=True)) as found:
                    if found.status_code == 200:
                        content = content_of(found, MAX_BYTES)
            except httpx.HTTPError as error:
                found, reason = None, f"{type(error).__name__}: {error}"
            except ReplyRefused as error:
                raise ProviderUnavailable(f"The tracker's reply is {error}.", "Check the address.") from error
            if found is not None and found.next_request is not None and redirects < MAX_REDIRECTS:
                request, redirects = found.next_request, redirects + 1
                continue
            if found is not None:
                asked, reason = _pause(found), f"status {found.status_code}"
                if asked is None and found.status_code not in _UNAVAILABLE:
                    return _reply(found, content)
            failures += 1
            pause = max(asked or 0.0, 2.0**failures / 4)
            if asked is not None and (pause > self._patience or failures == ATTEMPTS):
                then = time.strftime("%H:%M", time.localtime(time.time() + pause))
                hint = f"Run the command again after {then}; it continues. A token in the environment raises the limit."
                raise Busy("The tracker's rate limit is reached. All pages so far are saved.", hint)
            if failures == ATTEMPTS:
                raise ProviderUnavailable(f"The tracker does not respond ({reason}).", "Run the command again later.")
            self._sleep(pause)

    def _check(self, address: httpx.URL) -> None:
        if self.requests >= MAX_REQUESTS:
            hint = "Run the command again; it continues."
            raise Busy(f"A pull makes at most {MAX_REQUESTS:,} requests. All pages so far are saved.", hint)
        if (address.scheme, address.host, address.port) != self._origin:
            message = f"The tracker refers to another host ({address.host}), which Lore does not contact."
            raise ProviderUnavailable(message, "If the project has moved there, give its address with --url.")


def _pause(reply: httpx.Response) -> float | None:
    """Return the number of seconds to wait at the tracker's request; None if it sets no limit."""
    if reply.status_code not in (403, 429):
        return None
    headers = reply.headers
    if "retry-after" in headers:
        seconds = retry_seconds(headers["retry-after"], time.time())
        return 60.0 if seconds is None else seconds
    if headers.get("x-ratelimit-remaining") == "0" or headers.get("ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset") or ""
        return min(LONGEST_PAUSE, max(0.0, float(reset) - time.time() + 1)) if reset.isdecimal() else 60.0
    return 60.0 if reply.status_code == 429 else None


def _reply(found: httpx.Response, content: bytes) -> TrackerReply:
    if found.status_code == 304:
        return TrackerReply(None)
    if found.status_code == 401:
        raise UsageError("The tracker requires a valid token.", "Set one in the environment, or check the one there.")
    if found.status_code in (403, 404, 410):
        raise NotFound(
            f"The tracker does not show {found.url.path} (status {found.status_code}).",
            "Check the project's name, and whether it has this list. Private projects need a token in the environment.",
        )
    if found.status_code != 200:
        raise ProviderUnavailable(f"The tracker replied with status {found.status_code}.", "Check the address.")
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderUnavailable("The tracker's reply is not JSON.", "Check the address.") from error
    return TrackerReply(data, found.links.get("next", {}).get("url"), found.headers.get("etag"))


def endless_pages() -> ProviderUnavailable:
    return ProviderUnavailable("The tracker's pages refer to themselves.", "Check the address.")


@dataclass(frozen=True)
class Stream:
    """Items of one kind. `since` is the parameter for the time of the last change; without it, all are read again."""

    name: str
    path: str
    store: Callable[[TicketStore, Item], None]
    parameters: Mapping[str, str] = field(default_factory=dict)
    since: str | None = None


def pull_stream(client: TrackerClient, store: TicketStore, stream: Stream) -> None:
    """Store all items that changed since the last pull; a killed pull repeats one page at most."""
    # pages are requested by time, because an item that changes meanwhile moves to the end and shifts numbered pages
    position = store.position(stream.name)
    since, tag = position.get("since", ""), position.get("tag")
    while True:
        asked = {stream.since: since} if stream.since and since else {}
        pages = client.pages(stream.path, {**stream.parameters, **asked}, tag)
        tag, reached = None, ""
        for number, page in enumerate(pages):
            if page.data is None:  # unchanged, which costs one request
                return
            if not isinstance(page.data, list) or not all(isinstance(item, dict) for item in page.data):
                raise ProviderUnavailable("The tracker's reply is not a list.", "Check the address.")
            store.take(page.data, stream.store)
            tag = tag if number else page.tag
            reached = max([reached, *(_earlier(str(item.get("updated_at") or "")) for item in page.data)])
            if stream.since and reached > since:  # otherwise more items of the same second than on a page
                break
        if not stream.since or reached <= since:
            store.move_to(stream.name, {"since": since, "tag": tag or ""})
            return
        since, tag = reached, None
        store.move_to(stream.name, {"since": since})


def _earlier(time: str) -> str:
    """Return a time in ISO 8601 a second earlier, in UTC."""
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError:
        return ""
    return (moment.astimezone(datetime.UTC) - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")
