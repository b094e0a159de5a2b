"""Print results on a terminal: plain text, the same as in a pipe."""

from __future__ import annotations

from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_server.console import terminal
from lore_server.replies.problem import problem


def line(text: str = "") -> None:
    """Print a line to standard output."""
    terminal.out(text + "\n")


def note(text: str) -> None:
    """Print a line to standard error."""
    terminal.err(text + "\n")


def print_result(operation: str, result: JSON) -> None:
    """Print a result as text: the body to standard output, its notes to standard error."""
    from lore_server.operations.table import render

    text = render(operation, result)
    if text.body:
        line(text.body)
    for remark in text.notes:
        note(remark)


def print_json(value: object) -> None:
    terminal.out_json(value)


def fail(error: BaseException, as_json: bool) -> int:
    """Print an error to standard error, or as JSON to standard output, and return the exit code."""
    record = problem(error)
    if as_json:
        print_json(record)
    else:
        terminal.err(f"{record['message']}\n{record['hint']}\n")
    return error.exit_code if isinstance(error, LoreError) else 70
