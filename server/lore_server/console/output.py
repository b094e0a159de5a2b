"""Print results and progress: on a terminal the same results as in a pipe, with colours and links."""

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lore_etl.core.errors import InternalError, LoreError, StorageError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Progress, ignore, time_left
from lore_server.console import terminal
from lore_server.replies.problem import problem

LINE_SECONDS = 30.0  # between two lines about the progress of a stage
ESTIMATE_SECONDS = 4.0  # after the start of a stage
_Step = tuple[str, int, int]
print_json = terminal.out_json


def line(text: str = "", root: Path | None = None) -> None:
    terminal.out(text + "\n", root)


def note(text: str) -> None:
    terminal.err(text + "\n")


def print_result(operation: str, result: JSON, root: Path, printed: str = "") -> None:
    """Print what the body of a result adds to a `printed` text, else all of it, and its notes to standard error."""
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
    (r"pass next_cursor as cursor", "use a larger `--max-tokens`"),
    (r"\bget_job \(id=(\w+)\)", r"`lore call get_job id=\1`"),
    (r"`?\blist_documents\b`? with type=(\w+)", r"`lore docs -t \1`"),
    (r"`?\blist_documents\b`?", "`lore docs`"),
    (r"`?\bquery_documents\b`?", "`lore search`"),
    (r"`?\bsearch_memories\b`?", "`lore memory search`"),
    (r"`?\badd_memory\b`?", "`lore memory add`"),
    (r"(?<!lore call )`?\b((?:get|list|cancel|update)_\w+|knowledge_search)\b`?", r"`lore call \1`"),
)
"""What a message to an agent names, and what a person types."""


class StreamedAnswer:
    """An answer that a terminal shows while it is written, without a bar, which would break it."""

    def __init__(self, as_json: bool) -> None:
        self.on_text = ignore if as_json or not sys.stdout.isatty() else self._print
        self.printed = ""

    def _print(self, text: str) -> None:
        self.printed += text
        terminal.out(text)
        sys.stdout.flush()


def fail(error: BaseException, as_json: bool) -> int:
    """Print an error to standard error, or as JSON to standard output, and return the exit code."""
    record = problem(error)
    if as_json:
        print_json(record)
    else:
        terminal.err(f"{record['message']}\n{in_shell(record['hint'])}\n")
    unforeseen = StorageError if isinstance(error, OSError) else InternalError
    return error.exit_code if isinstance(error, LoreError) else unforeseen.exit_code


class _Lines:
    """The progress as lines: one when a stage begins, and one about the last step at each interval."""

    def __init__(self, quiet: bool, estimate_seconds: float) -> None:
        self._quiet, self._estimate_seconds, self._estimated = quiet, estimate_seconds, ""
        self._guard = threading.Lock()
        self._step: _Step = ("", 0, 0)
        self._since = 0.0

    def report(self, stage: str, done: int, total: int) -> None:
        with self._guard:
            is_new, self._step = stage != self._step[0], (stage, done, total)
            if is_new:
                self._since = time.monotonic()
            elapsed = time.monotonic() - self._since
        is_due = elapsed >= self._estimate_seconds and self._estimated != stage and not self._quiet
        if is_due and time_left(done, total, elapsed):
            self._estimated = stage  # early, because the user wants to know whether to wait
            note(f"{_place(self._step)}, {_pace(self._step, elapsed)}.")
        if is_new and stage.endswith("the model"):
            note(f"{stage.capitalize()}: this can take minutes.")
        elif is_new and not self._quiet:
            note(f"{_place(self._step)}.")

    def repeat(self, seconds: float, ended: threading.Event) -> None:
        while not self._quiet and not ended.wait(seconds):
            with self._guard:
                step, elapsed = self._step, time.monotonic() - self._since
            if step[0]:
                note(f"{_place(step)}, {_pace(step, elapsed)}.")


def _place(step: _Step) -> str:
    stage, done, total = step
    return f"{stage.capitalize()}: {done:,} of {total:,}" if total else stage.capitalize()


def _pace(step: _Step, elapsed: float) -> str:
    _, done, total = step
    if not (done and total):
        return f"for {elapsed:.0f} s"
    return ", ".join(filter(None, (f"{done / max(0.001, elapsed):,.1f}/s", time_left(done, total, elapsed))))


@contextmanager
def progress_bar(quiet: bool, seconds: float = LINE_SECONDS) -> Iterator[Progress]:
    """Show progress as a bar on a screen, else as a line per `seconds` of a stage; `quiet` shows only downloads."""
    if not quiet and terminal.is_screen(sys.stderr):
        with _bar() as report:
            yield report
        return
    lines, ended = _Lines(quiet, min(ESTIMATE_SECONDS, seconds / 3)), threading.Event()
    repeating = threading.Thread(target=lines.repeat, args=(seconds, ended), name="progress", daemon=True)
    repeating.start()
    try:
        yield lines.report
    finally:
        ended.set()
        repeating.join()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description:>14}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, tuple[Any, float]] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = (bar.add_task(stage, total=total or None, rate=""), time.monotonic())
            task, started = tasks[stage]
            rate = done / max(0.001, time.monotonic() - started)
            bar.update(task, completed=done, total=total or None, rate=f"{rate:,.0f}/s" if done else "")

        yield report
