"""Fill the budget with the text of a reply, for a client whose model reads nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from lore_etl.core.json_types import JSON
from lore_server.replies.budget import CHARACTERS_PER_TOKEN, REST
from lore_server.replies.reply_text import ReplyText

READS_TEXT = ContextVar("reads_text", default=False)  # whether the client of the current call reads only text
MOST_TOKENS = 1_000_000  # of max_tokens
REPEATS = 4
ENOUGH = 0.9  # of the budget


def filled(
    ask: Callable[[JSON], JSON],
    again: Callable[[JSON], JSON],
    arguments: JSON,
    rendered: Callable[[JSON], ReplyText],
) -> JSON:
    """Return the longest reply whose text fits; the service limits its data, which is up to three times as long.

    A truncated reply is asked for `again` with a larger budget, in proportion to the unused part, if no model wrote it.
    """
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
