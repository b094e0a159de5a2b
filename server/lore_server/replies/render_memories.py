"""Render the results of the toolset `memories` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore_server.replies.reply_text import ReplyText, excerpt, noted, notes, nothing, outdated

if TYPE_CHECKING:
    from lore_server.replies import records


def added(result: records.MemoryAddedRecord) -> ReplyText:
    done = "Already saved" if result["duplicate"] else "Remembered"
    replaced = (f"replaced: {result['replaced']}",) if result["replaced"] else ()
    return ReplyText(f"{done}: {result['name']}\nid: {result['id']}", (*replaced, *noted(result)))


def matches(result: records.MemoryMatchesRecord) -> ReplyText:
    rows = [line for number, match in enumerate(result["results"], start=1) for line in _match(number, match)]
    body = "\n".join(rows) or nothing(result)
    return ReplyText(body, (*noted(result), *notes(result)), is_enough="truncated" not in result)


def _match(number: int, match: records.MemoryMatchRecord) -> Iterator[str]:
    place = f"id: {match['id']}" if match["id"] else match["path"]
    group = f"  [{match['group_id']}]" if match.get("group_id") else ""
    changed = "  (changed since it was indexed)" if match.get("changed") else ""
    yield f"{number}. {match['name']}{group}  {match['score']:.1f}{changed}{outdated(match)}"
    yield f"   {'  '.join(filter(None, (place, match.get('source'), match.get('created'))))}"
    yield from excerpt(match)
    if match.get("cut") or match.get("parts", 1) > 1:
        yield f"   (whole: get_source {match['path']})"


def deleted(result: records.MemoryDeletedRecord) -> ReplyText:
    return ReplyText(f"Deleted: {result['name']}\nid: {result['id']}")
