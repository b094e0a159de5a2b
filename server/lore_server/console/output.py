"""Print results: on a terminal the same text as in a pipe, with colours and links."""

from __future__ import annotations

import sys
from pathlib import Path

from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_server.console import terminal
from lore_server.execution.progress import ignore_text
from lore_server.replies.problem import problem


def line(text: str = "", root: Path | None = None) -> None:
    """Print a line to standard output, see `terminal.out`."""
    terminal.out(text + "\n", root)


def note(text: str) -> None:
    """Print a line to standard error."""
    terminal.err(text + "\n")


def print_result(operation: str, result: JSON, root: Path, printed: str = "") -> None:
    """Print a result as text: the body to standard output, its notes to standard error.

    If the body begins with the text already `printed`, only the rest follows.
    """
    from lore_server.operations.table import render

    text = render(operation, result)
    if text.body:
        line(text.body[len(printed) :] if text.body.startswith(printed) else f"\n\n{text.body}", root)
    for remark in text.notes:
        note(remark)


class StreamedAnswer:
    """An answer that a terminal shows while it is written; elsewhere only the finished reply is printed."""

    def __init__(self, as_json: bool) -> None:
        self.on_text = ignore_text if as_json or not sys.stdout.isatty() else self._print
        self._printed = ""

    def _print(self, text: str) -> None:
        self._printed += text
        terminal.out(text)
        sys.stdout.flush()

    def finish(self, operation: str, result: JSON, root: Path) -> None:
        """Print the rest of the reply; all of it if it does not continue the printed text."""
        print_result(operation, result, root, self._printed)


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
