"""The size of replies: how much fits a budget of tokens, and the cursor that brings the rest."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from etl.errors import InvalidArgument

CHARACTERS_PER_TOKEN = 3  # cautious: English prose has 4 or more, code and JSON about 3
ENVELOPE = 400  # characters for what a reply says beside its rows


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def fitting(rows: Sequence[Any], max_tokens: int, taken: int = ENVELOPE) -> int:
    """How many of the rows fit beside `taken` characters; at least one, or a reader would never get on."""
    left = max_tokens * CHARACTERS_PER_TOKEN - taken
    for number, row in enumerate(rows):
        left -= size(row) + 2
        if left < 0:
            return max(1, number)
    return len(rows)


def fitting_lines(text: str, max_tokens: int, taken: int = ENVELOPE) -> str:
    """The first whole lines that fit; a part of the first, where that alone is too long."""
    room = max(1, max_tokens * CHARACTERS_PER_TOKEN - taken)
    if size(text) <= room:
        return text
    cut = text[:room]
    while size(cut) > room:  # what JSON escapes takes more than it has
        cut = cut[: max(1, len(cut) - (size(cut) - room))]
        if len(cut) == 1:
            break
    end = cut.rfind("\n") + 1
    return cut[:end] if end else cut


def cursor(offset: int, mark: str) -> str:
    """A cursor to an offset in something that `mark` identifies."""
    return base64.urlsafe_b64encode(f"{offset}:{mark}".encode()).decode().rstrip("=")


def offset_of(given: str | None, mark: str) -> int:
    """The offset that a cursor stands for; 0 without one.

    Raises:
        InvalidArgument: it is no cursor of ours, or the index changed since it was given.
    """
    if given is None:
        return 0
    try:
        text = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
        offset, _, was = text.partition(":")
        number = int(offset)
    except (ValueError, binascii.Error) as error:
        raise InvalidArgument("This is no cursor of a reply.", "Give next_cursor as it was, or none.") from error
    if number < 0 or was != mark:
        raise InvalidArgument("The index or the question changed since this cursor was given.", "Ask without cursor.")
    return number


def left_out(count: int, what: str, max_tokens: int) -> str:
    """The line that says what was cut."""
    return f"{count:,} more {what} did not fit into {max_tokens:,} tokens; give next_cursor as cursor for the rest."
