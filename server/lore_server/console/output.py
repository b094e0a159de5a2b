"""Print results: on a terminal the same text as in a pipe, with colours and links."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_server.console import terminal
from lore_server.execution.progress import ignore_text
from lore_server.replies.problem import problem

print_json = terminal.out_json


def line(text: str = "", root: Path | None = None) -> None:
    """Print a line to standard output, see `terminal.out`."""
    terminal.out(text + "\n", root)


def note(text: str) -> None:
    terminal.err(text + "\n")


def print_result(operation: str, result: JSON, root: Path, printed: str = "") -> None:
    """Print a result as text: the body to standard output, its notes to standard error.

    If the body begins with the text already `printed`, only the rest follows.
    """
    from lore_server.operations.table import render

    named = ("suggestion", "answer") if result.get("found") is False and not printed else ("suggestion",)
    advice = {name: in_shell(result[name]) for name in named if name in result}
    text = render(operation, {**result, **advice})
    if text.body and printed:
        line(text.body[len(printed) :] if text.body.startswith(printed) else f"\n\n{text.body}", root)
    elif text.body:
        terminal.page(f"{text.body}\n", root)
    for remark in text.notes:
        note(in_shell(remark))


def in_shell(text: str) -> str:
    """Return advice with the names of commands instead of tools."""
    for tool, command in () if text.startswith("Operations:") else _COMMANDS:
        text = re.sub(tool, command, text)
    return text


_COMMANDS = (
    (r",? or (call )?manage_knowledge_base with action=sync", ""),
    (r" \(healthcheck\)", ""),
    (r"\bget_job \(id=(\w+)\)", r"`lore call get_job id=\1`"),
    (r"`?\blist_documents\b`? with type=(\w+)", r"`lore docs -t \1`"),
    (r"`?\blist_documents\b`?", "`lore docs`"),
    (r"`?\bquery_documents\b`?", "`lore search`"),
    (r"`?\bsearch_memories\b`?", "`lore memory search`"),
    (r"(?<!lore call )`?\b((?:get|list|cancel)_\w+|knowledge_search)\b`?", r"`lore call \1`"),
)
"""What a message to an agent names, and what a person types."""


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


def fail(error: BaseException, as_json: bool) -> int:
    """Print an error to standard error, or as JSON to standard output, and return the exit code."""
    record = problem(error)
    if as_json:
        print_json(record)
    else:
        terminal.err(f"{record['message']}\n{in_shell(record['hint'])}\n")
    return error.exit_code if isinstance(error, LoreError) else 70
