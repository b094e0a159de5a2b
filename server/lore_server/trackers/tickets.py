"""Pulled tickets: their records, which SQLite keeps between pulls, and a Markdown file for each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from lore_etl.core.errors import ProviderUnavailable
from lore_etl.core.text import clip, encodable
from lore_etl.stores.sqlite_file import Records
from lore_etl.system.durable import sync_all_files
from lore_server.changes.ticket_names import closed_by
from lore_server.knowledge.safe_files import Files

MAX_TITLE = 300
MAX_BODY = 200_000  # characters of a body or a comment
ISSUES, RELEASES = "issues", "releases"  # folders of all trackers
HIDDEN = ".lore-pull"  # the folder of the records; a sync skips hidden folders
_TABLES = """
CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, data TEXT NOT NULL, is_written INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS position (stream TEXT PRIMARY KEY, data TEXT NOT NULL);
"""
_FRONT = ("state", "author", "created", "updated", "url", "labels")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,109}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}")
_COMMENT_HEADING = re.compile(r"^(?=[ \t]{0,3}#{1,6}[ \t]+@)", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)


class UnsafeTicket(ProviderUnavailable):
    """A tracker gave a ticket a number that is none. The message is the number."""


Item = Mapping[str, Any]  # a tracker's record of a ticket, a comment or a release
TicketComment = dict[str, str]  # a comment: its `author`, `created` (a time in ISO 8601) and `body`


@dataclass(frozen=True)
class TicketRecord:
    """A ticket, pull request, discussion or release; `links` maps names of related tickets to the relation."""

    folder: str
    name: str
    title: str = ""
    state: str = ""
    author: str = ""
    created: str = ""
    updated: str = ""
    url: str = ""
    labels: list[str] = field(default_factory=list)
    body: str = ""
    comments: Mapping[str, TicketComment] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.md"


def ticket_number(value: object) -> str:
    """Return the number of a ticket, which becomes the name of its file. Raises UnsafeTicket."""
    if isinstance(value, bool) or not _NUMBER.fullmatch(str(value)):
        raise UnsafeTicket(clip(encodable(repr(value)), 60))
    return str(value)


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def user_name(user: object, key: str) -> str:
    """Return the value of this key of a tracker's user, who may have been deleted."""
    return text_of(user.get(key)) if isinstance(user, dict) else ""


def comment_of(author: str, item: Item, created: str = "created_at") -> TicketComment:
    """Return the comment of a tracker's item; `created` is the tracker's name of its time."""
    return {"author": author, "created": text_of(item.get(created)), "body": text_of(item.get("body"))}


def ticket_of(
    folder: str, name: str, item: Item, keys: Mapping[str, str], before: TicketRecord | None, **known: Any
) -> TicketRecord:
    """Return the ticket of an item, read by the tracker's `keys`; comments and links stay as `before`."""
    kept = {"comments": before.comments, "links": before.links} if before else {}
    texts = {field: text_of(item.get(key)) for field, key in keys.items()}
    return TicketRecord(folder, name, **{**texts, "title": texts["title"] or f"#{name}", **kept, **known})


def release_of(name: str, item: Item, keys: Mapping[str, str], **known: Any) -> TicketRecord:
    """Return a release, whose title contains its tag."""
    tag = text_of(item.get("tag_name"))
    title = text_of(item.get(keys["title"])) or tag or name
    return ticket_of(RELEASES, name, item, keys, None, title=title if tag in title else f"{tag}: {title}", **known)


def markdown(ticket: TicketRecord) -> str:
    """Return the Markdown file: front matter, body, related tickets and comments."""
    front = {name: value for name in _FRONT if (value := getattr(ticket, name))}
    block = yaml.safe_dump(front, allow_unicode=True, sort_keys=False)
    parts = [f"---\n{block}---", f"# {clip(ticket.title, MAX_TITLE)}", _body(ticket.body)]
    if ticket.links:
        linked = []
        for name, relation in sorted(ticket.links.items(), key=lambda row: (len(row[0]), row[0])):
            sign = "!" if relation.startswith("merge request") else "#"  # GitLab numbers them separately from issues
            linked.append(f"{sign}{name} ({relation})")
        parts.append(f"Linked: {', '.join(linked)}")
    for comment in sorted(ticket.comments.values(), key=lambda comment: comment["created"]):
        parts += [f"### @{comment['author'] or 'ghost'} - {comment['created']}", _body(comment["body"])]
    return encodable("\n\n".join(part for part in parts if part)) + "\n"


def _body(text: str) -> str:
    """Return a text that can neither forge the heading of a comment nor hide the comments after it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > MAX_BODY:
        text = text[:MAX_BODY] + "\n…"
    text, opened = _COMMENT_HEADING.sub("\\\\", text), ""
    for match in _FENCE.finditer(text):
        if not opened:
            opened = match[1]
        elif match[1].startswith(opened):
            opened = ""
    return f"{text}\n{opened}" if opened else text


class TicketStore:
    """The tickets of one project, below `home`. A pull can be killed at any time: the next one writes missing files."""

    def __init__(self, home: Path, below: str = "") -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._files = Files(home)
        self._below = f"{below}/" if below else ""
        self.hidden = home / below / HIDDEN
        self.changed: set[str] = set()
        self.refused: set[str] = set()
        self._files.write(f"{self._below}{HIDDEN}/.gitignore", b"*\n")  # creates the folder without following symlinks
        file = self.hidden / "records.sqlite"
        self._rows = Records(file, _TABLES, "Delete it; the next pull reads all tickets again.")

    def close(self) -> None:
        """Discard the records of an incomplete page, and close the store."""
        self._rows.close()

    def take(self, items: Iterable[Item], store_item: Callable[[TicketStore, Item], None]) -> None:
        """Store items; those without a valid number are only noted as refused."""
        for item in items:
            try:
                store_item(self, item)
            except UnsafeTicket as error:
                self.refused.add(str(error))

    def position(self, stream: str) -> dict[str, str]:
        rows = self._rows.execute("SELECT data FROM position WHERE stream = ?", (stream,))
        return dict(json.loads(rows[0][0])) if rows else {}

    def move_to(self, stream: str, position: dict[str, str]) -> None:
        """Store the pending tickets and the position up to which the stream was read, in one transaction."""
        self._rows.execute("INSERT OR REPLACE INTO position VALUES (?, ?)", (stream, json.dumps(position)))
        self._rows.commit()

    def get(self, key: str) -> TicketRecord | None:
        rows = self._rows.execute("SELECT data FROM record WHERE key = ?", (key,))
        return TicketRecord(**json.loads(rows[0][0])) if rows else None

    def put(self, key: str, ticket: TicketRecord) -> None:
        if self.get(key) != ticket:
            self._rows.execute("INSERT OR REPLACE INTO record VALUES (?, ?, 0)", (key, json.dumps(asdict(ticket))))

    def link_closed(self, prefix: str, request: TicketRecord, before: TicketRecord | None, kind: str) -> None:
        """Name a request in the issues that it closes, which may arrive later, and not in those it closed before."""
        now, earlier = (closed_by(f"{one.title}\n{one.body}") if one else [] for one in (request, before))
        for number in {*now, *earlier}:
            issue = self.get(prefix + number) or TicketRecord(ISSUES, number)
            links = {**issue.links, request.name: f"{kind}, {request.state}"}
            if number not in now or prefix + number == request.name:
                del links[request.name]
            self.put(prefix + number, replace(issue, links=links))

    def write_files(self) -> None:
        """Write the files of all tickets that changed, and record that they are written."""
        self._rows.rollback()
        keys = []
        for key, data in self._rows.execute("SELECT key, data FROM record WHERE NOT is_written"):
            ticket = TicketRecord(**json.loads(data))
            keys.append((key,))
            # without a title, only a comment or a link has arrived; earlier versions stored any name
            if ticket.title and _SAFE_NAME.fullmatch(ticket.name):
                self._files.write(self._below + ticket.path, markdown(ticket).encode(), is_durable=False)
                self.changed.add(ticket.path)
        if keys:
            sync_all_files()
            self._rows.executemany("UPDATE record SET is_written = 1 WHERE key = ?", keys)
            self._rows.commit()
