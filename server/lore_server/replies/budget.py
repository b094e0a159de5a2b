"""The size of replies: how much fits a budget of tokens, and the cursor that brings the rest."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from lore_etl.core.errors import InvalidArgument

CHARACTERS_PER_TOKEN = 3  # cautious: English prose has 4 or more, code and JSON about 3
REPLY_TOKENS = 8_000  # most of a reply whose call takes no max_tokens
REST = 170  # characters for the line that says what was cut, and for the cursor
SHORT = 40  # characters of a title where every character counts
_SHORTENED = ("title", "heading")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = '"\\\n\r\t\b\f'
Row = TypeVar("Row")


def size(value: object) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def room(max_tokens: int, reply: Mapping[str, object]) -> int:
    """Characters that are left beside what a reply says already and what it may have to say of the rest."""
    return max_tokens * CHARACTERS_PER_TOKEN - size(reply) - REST


def fitting(rows: Iterable[Row], characters: int) -> list[Row]:
    """The first rows that fit."""
    taken = []
    for row in rows:
        characters -= size(row) + 2
        if characters < 0:
            break
        taken.append(row)
    return taken


def some(rows: Sequence[Row], characters: int, what: str, max_tokens: int) -> list[Row]:
    """The first rows that fit, or the first alone with a shorter title: a reader has to get on.

    Raises:
        InvalidArgument: not even that fits; the hint names a budget that does.
    """
    taken = fitting(rows, characters)
    if taken or not rows:
        return taken
    row = shortened(rows[0])
    check(size(row) + 2 - characters, what, max_tokens)
    return [row]


def shortened(row: Row) -> Row:
    """A row with a short title, where it has one."""
    if not isinstance(row, dict):
        return row
    return cast(Row, {name: clipped(value, SHORT) if name in _SHORTENED else value for name, value in row.items()})


def check(missing: int, what: str, max_tokens: int) -> None:
    """Raises InvalidArgument with a budget that suffices, where characters are missing for the least of a reply."""
    if missing > 0:
        enough = max_tokens + -(-missing // CHARACTERS_PER_TOKEN) + 1
        raise InvalidArgument(
            f"{what} does not fit within {max_tokens:,} tokens.", f"Set max_tokens to {enough} or more."
        )


def clipped(text: str, characters: int) -> str:
    """The text, or its beginning with `…` where it is longer as JSON."""
    if len(text) <= characters and size(text) <= characters + 2:
        return text
    return prefix(text, max(1, characters - 1)) + "…"


def prefix(text: str, characters: int) -> str:
    """The longest beginning that takes at most so many characters as JSON, without its quotes."""
    extra = 0
    for found in _ESCAPED.finditer(text, 0, max(0, characters)):
        more = 1 if found.group() in _SHORT_ESCAPES else 5
        if found.start() + 1 + extra + more > characters:
            return text[: min(found.start(), characters - extra)]
        extra += more
    return text[: max(0, characters - extra)]


def fitting_lines(text: str, characters: int) -> str:
    """The first whole lines that fit; a part of the first, where that alone is too long."""
    cut = prefix(text, characters)
    if len(cut) == len(text):
        return text
    end = cut.rfind("\n") + 1
    return cut[:end] if end else cut


def cursor(mark: str, *offsets: int) -> str:
    """A cursor to offsets in something that `mark` identifies."""
    text = f"{'.'.join(map(str, offsets))}:{mark}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def offset_of(given: str | None, mark: str) -> int:
    """The offset that a cursor stands for; 0 without one. Raises InvalidArgument."""
    return offsets_of(given, mark, 1)[0]


def offsets_of(given: str | None, mark: str, count: int) -> list[int]:
    """The offsets that a cursor stands for; zeros without one.

    Raises:
        InvalidArgument: it is no cursor of ours, or the index changed since it was given.
    """
    if given is None:
        return [0] * count
    try:
        text = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
        numbers, _, was = text.partition(":")
        offsets = [int(one) for one in numbers.split(".")]
    except (ValueError, binascii.Error) as error:
        raise InvalidArgument("This is not a valid cursor.", "Pass next_cursor unchanged, or omit cursor.") from error
    if was != mark or len(offsets) != count or min(offsets) < 0 or max(offsets) > 10**12:
        raise InvalidArgument(
            "The index or the query has changed since this cursor was issued.", "Call again without cursor."
        )
    return offsets


def rest(count: int, what: str, max_tokens: int) -> str:
    """The line that says what was cut."""
    return f"{count:,} {what} omitted to stay within {max_tokens:,} tokens: pass next_cursor as cursor."
