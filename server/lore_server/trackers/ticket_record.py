"""A ticket as stored between pulls, and its Markdown file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from lore_etl.core.errors import ProviderUnavailable
from lore_etl.core.text import clip, encodable

MAX_TITLE = 300
MAX_BODY = 200_000  # characters of a body or a comment
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,109}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}")
_COMMENT_HEADING = re.compile(r"^(?=[ \t]{0,3}#{1,6}[ \t]+@)", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)


class UnsafeTicket(ProviderUnavailable):
    """A tracker gave a ticket a number that is none. The message is the number."""


@dataclass(frozen=True)
class TicketComment:
    """A comment; `created` is a time in ISO 8601."""

    author: str
    created: str
    body: str


@dataclass(frozen=True)
class TicketRecord:
    """A ticket, a pull request, a discussion or a release.

    `folder` and `name` are its place; `links` maps the names of related tickets to a description of the relation.
    """

    folder: str
    name: str
    title: str = ""
    state: str = ""
    author: str = ""
    created: str = ""
    updated: str = ""
    url: str = ""
    labels: tuple[str, ...] = ()
    body: str = ""
    comments: Mapping[str, TicketComment] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.md"

    @property
    def is_safe(self) -> bool:
        """Return whether the name is only that of a file. Earlier versions stored any."""
        return bool(_SAFE_NAME.fullmatch(self.name))


def ticket_number(value: object) -> str:
    """Return the number of a ticket, which becomes the name of its file. Raises UnsafeTicket."""
    if isinstance(value, bool) or not _NUMBER.fullmatch(str(value)):
        raise UnsafeTicket(clip(encodable(repr(value)), 60))
    return str(value)


def text_of(value: object) -> str:
    """Return a tracker's value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def ticket_of(
    folder: str, name: str, item: Mapping[str, Any], keys: Mapping[str, str], before: TicketRecord | None, **known: Any
) -> TicketRecord:
    """Return the ticket of a tracker's item. `keys` are the tracker's names of its texts.

    What arrives separately, its comments and links, stays as it was `before`.
    """
    kept = {"comments": before.comments, "links": before.links} if before else {}
    texts = {field: text_of(item.get(key)) for field, key in keys.items()}
    return TicketRecord(folder, name, **{**texts, "title": texts["title"] or f"#{name}", **kept, **known})


def release_of(folder: str, name: str, item: Mapping[str, Any], keys: Mapping[str, str], **known: Any) -> TicketRecord:
    """Return a release, whose title contains its tag."""
    tag = text_of(item.get("tag_name"))
    title = text_of(item.get(keys["title"])) or tag or name
    return ticket_of(folder, name, item, keys, None, title=title if tag in title else f"{tag}: {title}", **known)


def record_from(data: Mapping[str, Any]) -> TicketRecord:
    """Return the ticket from its JSON."""
    comments = {key: TicketComment(**value) for key, value in data["comments"].items()}
    return TicketRecord(**{**data, "labels": tuple(data["labels"]), "comments": comments})


def markdown(ticket: TicketRecord) -> str:
    """Return the Markdown file: front matter, body, related tickets and comments."""
    front = {
        "state": ticket.state, "author": ticket.author, "created": ticket.created, "updated": ticket.updated,
        "url": ticket.url, "labels": list(ticket.labels),
    }  # fmt: skip
    known = {key: value for key, value in front.items() if value}
    parts = [
        f"---\n{yaml.safe_dump(known, allow_unicode=True, sort_keys=False)}---",
        f"# {clip(ticket.title, MAX_TITLE)}",
    ]
    parts.append(_body(ticket.body))
    if ticket.links:
        rows = sorted(ticket.links.items(), key=lambda row: (len(row[0]), row[0]))
        parts.append("Linked: " + ", ".join(f"{_sign(relation)}{name} ({relation})" for name, relation in rows))
    for comment in sorted(ticket.comments.values(), key=lambda comment: comment.created):
        parts += [f"### @{comment.author or 'ghost'} - {comment.created}", _body(comment.body)]
    return encodable("\n\n".join(part for part in parts if part)) + "\n"


def _sign(relation: str) -> str:
    """Return the sign of a number; GitLab numbers merge requests separately from issues."""
    return "!" if relation.startswith("merge request") else "#"


def _body(text: str) -> str:
    """Return a text that can neither forge the heading of a comment nor hide the comments after it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > MAX_BODY:
        text = text[:MAX_BODY] + "\n…"
    text = _COMMENT_HEADING.sub("\\\\", text)
    return text + "".join(f"\n{fence}" for fence in _unclosed(text))


def _unclosed(text: str) -> list[str]:
    opened = ""
    for match in _FENCE.finditer(text):
        fence = match[1]
        if not opened:
            opened = fence
        elif fence.startswith(opened):
            opened = ""
    return [opened] if opened else []
