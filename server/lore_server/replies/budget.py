"""Limit the size of replies to a token budget, and encode cursors to the rest."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TypeVar, cast

from lore_etl.core.errors import InvalidArgument, StaleCursor
from lore_etl.core.json_types import JSON
from lore_etl.core.model import sha256
from lore_server.replies.reply_text import ReplyText

CHARACTERS_PER_TOKEN = 3  # cautious: English prose has 4 or more, code and JSON about 3
REPLY_TOKENS = 8_000  # the maximum of a reply whose operation has no max_tokens
REST = 170  # characters reserved for the line that reports omitted parts, and for the cursor
SHORT = 24  # characters of a title in the smallest budgets
TITLES = ("title", "heading")
_SPARED = ("why", "metadata", "more_metadata", "passages", "similar_sources", "relations")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = '"\\\n\r\t\b\f'
_INVALID = "This is not a valid cursor.", "Pass next_cursor unchanged, or omit cursor."
READS_TEXT = ContextVar("reads_text", default=False)  # whether the client of the current call reads only text
MOST_TOKENS = 1_000_000  # of max_tokens
REPEATS = 4
ENOUGH = 0.9  # of the budget
Row = TypeVar("Row")


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def room(max_tokens: int, reply: Mapping[str, object]) -> int:
    """Return the characters left in the budget after the reply so far and the line about omitted parts."""
    return max_tokens * CHARACTERS_PER_TOKEN - size(reply) - REST


def fitting(rows: Iterable[Row], characters: int) -> list[Row]:
    taken = []
    for row in rows:
        characters -= size(row) + 2
        if characters < 0:
            break
        taken.append(row)
    return taken


def some(rows: Sequence[Row], characters: int, label: str, max_tokens: int) -> list[Row]:
    """Return the first rows that fit, at least one. Raises InvalidArgument, with a sufficient budget, if none fits."""
    taken = fitting(rows, characters)
    if taken or not rows:
        return taken
    row = shortened(rows[0])
    check(size(row) + 2 - characters, label, max_tokens)
    return [row]


def shortened(row: Row, titles: Sequence[str] = TITLES) -> Row:
    """Return a row without its optional fields and with short titles, to leave more of the budget to its text."""
    if not isinstance(row, dict):
        return row
    kept = {name: value for name, value in row.items() if name not in _SPARED}
    return cast(Row, {name: clipped(value, SHORT) if name in titles else value for name, value in kept.items()})


def check(missing: int, label: str, max_tokens: int) -> None:
    """Raise InvalidArgument with a sufficient budget if characters are missing for the smallest possible reply."""
    if missing > 0:
        enough = max_tokens + -(-missing // CHARACTERS_PER_TOKEN) + 1
        hint = f"Set max_tokens to {enough} or more."
        raise InvalidArgument(f"{label} does not fit within {max_tokens:,} tokens.", hint)


def clipped(text: str, characters: int) -> str:
    """Return the text, or its beginning with `…` if it is longer than `characters` (as JSON, without quotes)."""
    if len(text) <= characters and size(text) <= characters + 2:
        return text
    return prefix(text, max(1, characters - 1)) + "…"


def prefix(text: str, characters: int) -> str:
    """Return the longest beginning of at most `characters` characters as JSON, without its quotes."""
    extra = 0
    for found in _ESCAPED.finditer(text, 0, max(0, characters)):
        more = 1 if found.group() in _SHORT_ESCAPES else 5
        if found.start() + 1 + extra + more > characters:
            return text[: min(found.start(), characters - extra)]
        extra += more
    return text[: max(0, characters - extra)]


def fitting_lines(text: str, characters: int) -> str:
    """Return the first whole lines that fit, or a part of the first line if it is too long."""
    cut = prefix(text, characters)
    if len(cut) == len(text):
        return text
    end = cut.rfind("\n") + 1
    return cut[:end] if end else cut


def mark_of(*parts: str | None) -> str:
    """Return an identifier of a result, derived from the request and the state of the index."""
    return sha256("\0".join(map(str, parts)))[:12]


def cursor(mark: str, *offsets: int) -> str:
    text = f"{'.'.join(map(str, offsets))}:{mark}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def offset_of(given: str | None, mark: str) -> int:
    """Return the offset that a cursor encodes; 0 without a cursor. Raises the errors of `offsets_of`."""
    return offsets_of(given, mark, 1)[0]


def offsets_of(given: str | None, mark: str, count: int) -> list[int]:
    """Return the offsets that a cursor encodes; zeros without a cursor. Raises InvalidArgument, StaleCursor."""
    if given is None:
        return [0] * count
    try:
        text = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
        numbers, _, was = text.partition(":")
        offsets = [int(number) for number in numbers.split(".")]
    except (ValueError, binascii.Error) as error:
        raise InvalidArgument(*_INVALID) from error
    if not was or min(offsets) < 0 or max(offsets) > 10**12:
        raise InvalidArgument(*_INVALID)
    if was != mark or len(offsets) != count:
        raise StaleCursor("The index or the query has changed since this cursor was issued.")
    return offsets


def rest(count: int, label: str) -> str:
    return f"{count:,} of the {label} omitted to stay within max_tokens: pass next_cursor as cursor."


def filled(
    ask: Callable[[JSON], JSON], again: Callable[[JSON], JSON], arguments: JSON, rendered: Callable[[JSON], ReplyText]
) -> JSON:
    """Return the longest reply that fits; if a model wrote none of it, ask `again` with a budget that uses the rest."""
    tokens: int = arguments["max_tokens"]
    room = tokens * CHARACTERS_PER_TOKEN - REST
    reply = ask(arguments)
    asked, used, too_many = tokens, len(rendered(reply).whole()), MOST_TOKENS
    for _ in range(REPEATS):
        if "truncated" not in reply or "model" in reply or used > ENOUGH * room:
            break
        larger = min(asked * room // used, (asked + too_many) // 2)
        longer = again({**arguments, "max_tokens": larger})
        size = len(rendered(longer).whole())
        if size > room:
            too_many = larger
        else:
            reply, asked, used = longer, larger, size
    return reply
