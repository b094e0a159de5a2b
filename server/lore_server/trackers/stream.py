"""Read the streams of a tracker in the order of their changes, so that a pull can be continued at any page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lore_etl.core.errors import ProviderUnavailable
from lore_server.trackers.ticket_record import UnsafeTicket
from lore_server.trackers.ticket_store import TicketStore
from lore_server.trackers.tracker_client import TrackerClient

OVERLAP = datetime.timedelta(seconds=1)  # trackers differ on whether `since` is inclusive
PER_PAGE = 100
Item = Mapping[str, Any]


@dataclass(frozen=True)
class Stream:
    """Items of one kind. `since` is the parameter for the time of the last change; without it, all are read again."""

    name: str
    path: str
    store: Callable[[TicketStore, Item], None]
    parameters: Mapping[str, str] = field(default_factory=dict)
    since: str | None = None


def pull_stream(client: TrackerClient, store: TicketStore, stream: Stream) -> None:
    """Store all items that changed since the last pull.

    Each page is stored before the position moves on, so a killed pull repeats one page at most. Pages are requested by
    the time of the last item, because an item that changes during the pull moves to the end and would shift numbered
    pages. An unchanged stream costs one request, because the tag of the last reply is still valid.
    """
    position = store.position(stream.name)
    since, tag = position.get("since", ""), position.get("tag")
    while True:
        asked = {stream.since: since} if stream.since and since else {}
        pages = client.pages(stream.path, {**stream.parameters, "per_page": str(PER_PAGE), **asked}, tag)
        tag, reached = None, ""
        for number, page in enumerate(pages):
            if page.data is None:
                return
            tag, reached = tag if number else page.tag, max(reached, _stored(store, stream, page.data))
            if stream.since and reached > since:  # otherwise more items of the same second than on a page
                break
        if not stream.since or reached <= since:
            store.move_to(stream.name, {"since": since, "tag": tag or ""})
            return
        since, tag = reached, None
        store.move_to(stream.name, {"since": since})


def _stored(store: TicketStore, stream: Stream, data: object) -> str:
    """Store the items of a page, and return the time from which to continue."""
    items = _items(data)
    for item in items:
        try:
            stream.store(store, item)
        except UnsafeTicket as error:
            store.refused.add(str(error))
    return max((_earlier(str(item.get("updated_at") or "")) for item in items), default="")


def _items(data: object) -> list[Item]:
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ProviderUnavailable("The tracker's reply is not a list.", "Check the address.")
    return data


def _earlier(time: str) -> str:
    """Return a time in ISO 8601 a second earlier, in UTC."""
    try:
        moment = datetime.datetime.fromisoformat(time)
    except ValueError:
        return ""
    return (moment.astimezone(datetime.UTC) - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")
