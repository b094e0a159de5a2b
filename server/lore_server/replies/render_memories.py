"""Render the results of the toolset `memories` as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore_server.replies.reply_text import ReplyText, notes, outdated

if TYPE_CHECKING:
    from lore_server.replies.records import (
        MemoryAddedRecord,
        MemoryDeletedRecord,
        MemoryMatchesRecord,
        MemoryMatchRecord,
    )


def added(result: MemoryAddedRecord) -> ReplyText:
    done = "Already saved" if result["duplicate"] else "Remembered"
    replaced = (f"replaced: {result['replaced']}",) if result["replaced"] else ()
    note = (result["note"],) if "note" in result else ()
    return ReplyText(f"{done}: {result['name']}\nid: {result['id']}", (*replaced, *note))


def matches(result: MemoryMatchesRecord) -> ReplyText:
    rows = [line for number, one in enumerate(result["results"], start=1) for line in _match(number, one)]
    note = (result["note"],) if "note" in result else ()
    return ReplyText("\n".join(rows) or "Nothing found.", (*note, *notes(result)))


def _match(number: int, one: MemoryMatchRecord) -> Iterator[str]:
    place = f"id: {one['id']}" if one["id"] else one["path"]
    group = f"  [{one['group_id']}]" if one.get("group_id") else ""
    changed = "  (changed since it was indexed)" if one.get("changed") else ""
    yield f"{number}. {one['name']}{group}  {one['score']:.1f}{changed}{outdated(one)}"
    yield f"   {'  '.join(filter(None, (place, one.get('source'), one.get('created'))))}"
    for line in one["excerpt"].split("\n"):
        yield f"   {line}".rstrip()
    if one.get("cut") or one.get("parts", 1) > 1:
        yield f"   (whole: get_source {one['path']})"


def deleted(result: MemoryDeletedRecord) -> ReplyText:
    return ReplyText(f"Deleted: {result['name']}\nid: {result['id']}")
