"""A result as text, and the functions that make it, by operation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """What was asked for, and what a reader must know about it."""

    body: str
    notes: tuple[str, ...] = ()
    cursor: str | None = None

    def whole(self) -> str:
        """All of it, for an agent: it can go on with the cursor."""
        cursor = f"next_cursor: {self.cursor}" if self.cursor else ""
        return "\n".join(filter(None, (self.body, *self.notes, cursor)))


RENDERERS: dict[str, Callable[[JSON], Text]] = {}


def renders(*operations: str) -> Callable[[Callable[[JSON], Text]], Callable[[JSON], Text]]:
    """Register a function as the renderer of these operations."""

    def register(function: Callable[[JSON], Text]) -> Callable[[JSON], Text]:
        RENDERERS.update(dict.fromkeys(operations, function))
        return function

    return register
