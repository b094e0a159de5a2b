"""Divide a long result into pages: rows, or several parts in sequence. The pages contain everything exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

from lore_etl.core.json_types import JSON
from lore_server.replies import budget
from lore_server.replies.excerpt import Passage, fit_results

Reply = TypeVar("Reply", bound=Mapping[str, object])
Part = str | list[object]
MIN_TEXT = 20  # the minimum number of characters of a text in a page
SHORTEST_TITLE = 24  # characters
_TITLES = ("title", "heading", "name")
_SPARED = ("why", "metadata", "more_metadata", "passages", "similar_sources", "relations")


class Page(NamedTuple):
    """The position of the first result among all, and the mark of the listing that a cursor belongs to."""

    start: int
    total: int
    mark: str


def of_rows(reply: Reply, name: str, rows: Sequence[object], page: Page, max_tokens: int) -> Reply:
    """Return the reply, which does not contain any rows yet, with as many of the rows as fit.

    Raises InvalidArgument if the budget is too small for a single row.
    """
    taken = budget.some(rows, budget.room(max_tokens, reply), f"The next of the {name}", max_tokens)
    rest = page.total - page.start - len(taken)
    return with_rows(reply, name, taken, page, rest if len(taken) < len(rows) else 0)


def of_passages(
    reply: Reply, results: Sequence[Passage], texts: Sequence[str], words: Sequence[str], page: Page, max_tokens: int
) -> Reply:
    """Return the reply with as many of the results as fit, each with an excerpt of its text around the words.

    Raises InvalidArgument if the budget is too small for a single result.
    """
    shown, left = list(results), budget.room(max_tokens, {**reply, "results": []})
    fitting = fit_results(shown, texts, words, left)
    if shown and not fitting:
        shown = [_smallest(row) for row in shown[:1]]
        budget.check(budget.size(shown[0]) + 2 - left, "The next of the results", max_tokens)
        fitting = fit_results(shown, texts[:1], words, left)
    return with_rows(reply, "results", shown[:fitting], page, len(results) - fitting)


def with_rows(reply: Reply, name: str, shown: Sequence[object], page: Page, omitted: int) -> Reply:
    """Return the reply with the first rows of a page; `omitted` is the number of its other rows."""
    whole, end = {**reply, name: shown}, page.start + len(shown)
    if omitted:
        whole["truncated"] = budget.rest(omitted, name)
    if end < page.total:
        whole["next_cursor"] = budget.cursor(page.mark, end)
    return cast(Reply, whole)


def with_fields(reply: Reply, **fields: object) -> Reply:
    """Return the reply with those of these optional fields that have a value."""
    return cast(Reply, {**reply, **{name: value for name, value in fields.items() if value}})


def _smallest(result: Passage) -> Passage:
    """Return a result without its optional fields and with short names, to leave more of the budget to the passage."""
    spared = {name: value for name, value in result.items() if name not in _SPARED}
    short = {name: budget.clipped(str(spared[name]), SHORTEST_TITLE) for name in _TITLES if name in spared}
    return cast(Passage, {**spared, **short})


def of_parts(
    reply: Mapping[str, object], parts: Mapping[str, Part], at: Sequence[int], mark: str, max_tokens: int
) -> JSON:
    """Return the reply with as many of its parts as fit, in order from the cursor's position (part, offset) on.

    Raises:
        InvalidArgument: the budget is too small for the next line or row.
    """
    (number, offset), names = at, list(parts)
    reply = {**reply, **{name: part[:0] for name, part in parts.items()}}
    left = budget.room(max_tokens, reply)
    for index, name in enumerate(names[number:], start=number):
        part = parts[name][offset if index == number else 0 :]
        taken = reply[name] = _taken(part, left, name, max_tokens, is_first=index == number)
        left -= budget.size(taken) - 2
        if len(taken) < len(part):
            more = " and more" if any(parts[later] for later in names[index + 1 :]) else ""
            what = ("characters" if isinstance(part, str) else name) + more
            reply["truncated"] = budget.rest(len(part) - len(taken), what)
            reply["next_cursor"] = budget.cursor(mark, index, len(parts[name]) - len(part) + len(taken))
            break
    return reply


def _taken(part: Part, left: int, name: str, max_tokens: int, is_first: bool) -> Part:
    if isinstance(part, str):
        if is_first and part:
            budget.check(min(MIN_TEXT, len(part)) * 2 - left, f"The next of the {name}", max_tokens)
        return budget.fitting_lines(part, left)
    if is_first:
        return budget.some(part, left, f"The next of the {name}", max_tokens)
    return budget.fitting(part, left)
