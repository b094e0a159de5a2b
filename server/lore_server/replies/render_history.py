"""Render the commits that changed a file, and the tickets that they name, as short text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore_server.replies.reply_text import ReplyText, notes, shown, span

if TYPE_CHECKING:
    from lore_server.replies import records


def source(result: records.SourceTextRecord) -> ReplyText:
    """Render a file or some of its lines, with their history before them if it was requested."""
    kind = ", ".join(filter(None, (result["type"], shown(result["origin"], result["type"]))))
    blocks = ["\n".join([_head(result, kind), *_changes(result), "", result["text"]])]
    blocks += [f"{_head(other, other['type'])}\n\n{other['text']}" for other in result.get("others", ())]
    return ReplyText("\n\n".join(blocks), notes(result))


def _head(part: records.SourceTextRecord | records.SourceTextOthersRecord, kind: str) -> str:
    changed = "  (changed since the last sync)" if part.get("changed") else ""
    return f"{part['source']}:{span(part['lines'])}  [{kind}]{changed}"


def history(result: records.SourceTextRecord) -> ReplyText:
    """Render only the history of a file."""
    return ReplyText("\n".join([f"{result['source']}:{span(result['lines'])}", *_changes(result)]))


def _changes(result: records.SourceTextRecord) -> Iterator[str]:
    for change in result.get("history", ()):
        yield f"{change['commit']}  {change['date']}  {change['subject']}  ({change['author']})"
        if "body" in change:
            yield f"   {change['body']}"
        for ticket in change["tickets"]:
            yield f"   {_ticket(ticket)}"
    if "history_note" in result:
        yield f"note: {result['history_note']}"


def _ticket(ticket: records.NamedTicketRecord) -> str:
    verb = "closes" if "closes" in ticket else "names"
    via = f" by pull request {ticket['via']}" if "via" in ticket else ""
    state = f" ({ticket['state']})" if "state" in ticket else ""
    title = f": {ticket['title']}  {ticket['source']}" if "source" in ticket else ""
    return f"{verb} {ticket['name']}{via}{state}{title}"
