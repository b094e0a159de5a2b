"""The streams of a GitLab project: issues and merge requests with their notes, and releases."""

from functools import partial
from urllib.parse import quote

from lore_etl.core.text import clip, encodable
from lore_server.trackers import tickets
from lore_server.trackers.github import file_name
from lore_server.trackers.tracker_client import Stream, TrackerClient

ADDRESS = "https://gitlab.com"
ADDRESS_VARIABLE = "LORE_GITLAB_URL"
TOKEN_VARIABLES = ("GITLAB_TOKEN",)
REQUESTS = "merge_requests"
_KEYS = {"title": "title", "created": "created_at", "updated": "updated_at", "url": "web_url", "body": "description"}
_RELEASE_KEYS = {**_KEYS, "title": "name", "updated": "released_at"}
_BY_CHANGE = {"order_by": "updated_at", "sort": "asc", "scope": "all", "state": "all"}
_STATES = {"opened": "open"}


def headers(token: str | None) -> dict[str, str]:
    return {"PRIVATE-TOKEN": token} if token else {}


def streams(project: str, client: TrackerClient) -> list[Stream]:
    """Return the streams of a project `GROUP/PROJECT`."""
    base = f"api/v4/projects/{quote(project, safe='')}"
    return [
        Stream(kind, f"{base}/{kind}", partial(_ticket, kind, base, client), _BY_CHANGE, "updated_after")
        for kind in (tickets.ISSUES, REQUESTS)
    ] + [Stream("releases", f"{base}/releases", _release)]


def _ticket(kind: str, base: str, client: TrackerClient, store: tickets.TicketStore, item: tickets.Item) -> None:
    """Store a ticket with its notes, which GitLab lists only by ticket."""
    number = tickets.ticket_number(item["iid"])
    key, updated = f"{kind}-{number}", tickets.text_of(item.get("updated_at"))
    before = store.get(key)
    if before and before.title and before.updated == updated:
        return
    state = tickets.text_of(item.get("state"))
    notes = _notes(client, f"{base}/{kind}/{number}/notes") if item.get("user_notes_count") else {}
    labels = [label for label in item.get("labels") or () if isinstance(label, str)]
    known = {"state": _STATES.get(state, state), "author": _author(item), "comments": notes}
    ticket = tickets.ticket_of(kind, number, item, _KEYS, before, labels=labels, **known)
    store.put(key, ticket)
    if kind == REQUESTS:
        store.link_closed(f"{tickets.ISSUES}-", ticket, before, "merge request")


def _notes(client: TrackerClient, path: str) -> dict[str, tickets.TicketComment]:
    found: dict[str, tickets.TicketComment] = {}
    for page in client.pages(path, {"sort": "asc"}):
        for note in page.data or ():
            if not note.get("system"):
                found[str(note["id"])] = tickets.comment_of(_author(note), note)
    return found


def _release(store: tickets.TicketStore, item: tickets.Item) -> None:
    tag = tickets.text_of(item.get("tag_name"))
    name = file_name(tag)
    if not name:
        raise tickets.UnsafeTicket(clip(encodable(repr(tag)), 60))
    release = tickets.release_of(name, item, _RELEASE_KEYS, state="released", author=_author(item))
    store.put(f"release-{name}", release)


def _author(item: tickets.Item) -> str:
    return tickets.user_name(item.get("author"), "username")
