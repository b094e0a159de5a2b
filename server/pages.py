"""A page of something long: rows, or several parts one after the other, each reader getting all of it exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server import budget

JSON = dict[str, Any]
LEAST_TEXT = 20  # characters of a text that are worth a page


def of_rows(reply: JSON, name: str, rows: Sequence[Any], start: int, total: int, mark: str, max_tokens: int) -> JSON:
    """The reply with as many of the rows as fit; they are number `start` and the next of `total`.

    Raises:
        InvalidArgument: the budget is too small for one.
    """
    reply = {**reply, name: []}
    taken = budget.some(rows, budget.room(max_tokens, reply), f"The next of the {name}", max_tokens)
    reply[name] = taken
    end = start + len(taken)
    if len(taken) < len(rows):
        reply["truncated"] = budget.rest(total - end, name, max_tokens)
    if end < total:
        reply["next_cursor"] = budget.cursor(mark, end)
    return reply


def of_parts(
    reply: JSON, parts: Mapping[str, str | Sequence[Any]], at: Sequence[int], mark: str, max_tokens: int
) -> JSON:
    """The reply with its parts from the cursor's place (part, offset) on, as far as they fit, in their order.

    Raises:
        InvalidArgument: the budget is too small for the next line or row.
    """
    (number, offset), names = at, list(parts)
    reply = {**reply, **{name: "" if isinstance(part, str) else [] for name, part in parts.items()}}
    left = budget.room(max_tokens, reply)
    for index, name in enumerate(names[number:], start=number):
        part = parts[name][offset if index == number else 0 :]
        taken = reply[name] = _taken(part, left, name, max_tokens, is_first=index == number)
        left -= budget.size(taken) - 2
        if len(taken) < len(part):
            more = " and more" if any(parts[later] for later in names[index + 1 :]) else ""
            what = ("characters" if isinstance(part, str) else name) + more
            reply["truncated"] = budget.rest(len(part) - len(taken), what, max_tokens)
            reply["next_cursor"] = budget.cursor(mark, index, len(parts[name]) - len(part) + len(taken))
            break
    return reply


def _taken(part: str | Sequence[Any], left: int, name: str, max_tokens: int, is_first: bool) -> Any:
    if isinstance(part, str):
        if is_first and part:
            budget.check(min(LEAST_TEXT, len(part)) * 2 - left, f"The next of the {name}", max_tokens)
        return budget.fitting_lines(part, left)
    if is_first:
        return budget.some(part, left, f"The next of the {name}", max_tokens)
    return budget.fitting(part, left)
