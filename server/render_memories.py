"""Results of the toolset `memories` as text."""

from __future__ import annotations

from typing import Any

from server.text import Text, renders

JSON = dict[str, Any]


@renders("add_memory")
def _added(result: JSON) -> Text:
    done = "Known already" if result["duplicate"] else "Remembered"
    replaced = (f"replaced: {result['replaced']}",) if result["replaced"] else ()
    note = (result["note"],) if "note" in result else ()
    return Text(f"{done}: {result['name']}", (f"id: {result['id']}", *replaced, *note))


@renders("delete_memory")
def _deleted(result: JSON) -> Text:
    return Text(f"Forgotten: {result['name']}", (f"id: {result['id']}",))
