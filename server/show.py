"""How results look on a terminal: plain text, the same in a pipe."""

from __future__ import annotations

from typing import Any

from server import terminal
from server.render import render

JSON = dict[str, Any]


def line(text: str = "") -> None:
    """One line on standard output."""
    terminal.out(text + "\n")


def note(text: str) -> None:
    """One line on standard error."""
    terminal.err(text + "\n")


def tell(operation: str, result: JSON) -> None:
    """A result as text: the body on standard output, what a reader must know about it on standard error."""
    text = render(operation, result)
    if text.body:
        line(text.body)
    for one in text.notes:
        note(one)
