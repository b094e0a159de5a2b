"""Show progress on standard error: a bar on a terminal, elsewhere a line at each stage and at each interval."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lore_etl.core.progress import Progress, time_left
from lore_server.console import output

LINE_SECONDS = 30.0
ESTIMATE_SECONDS = 4.0  # after the start of a stage
_Step = tuple[str, int, int]


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
        if elapsed >= self._estimate_seconds and self._estimated != stage and time_left(done, total, elapsed):
            self._estimated = stage  # early, because the user wants to know whether to wait
            if not self._quiet:
                output.note(f"{_place(self._step)}, {_pace(self._step, elapsed)}.")
        if is_new and stage.endswith("the model"):
            output.note(f"{stage.capitalize()}: this can take minutes.")
        elif is_new and not self._quiet:
            output.note(f"{_place(self._step)}.")

    def repeat(self, seconds: float, ended: threading.Event) -> None:
        """Write a line at each interval until the end."""
        while not ended.wait(seconds):
            with self._guard:
                step, elapsed = self._step, time.monotonic() - self._since
            if step[0]:
                output.note(f"{_place(step)}, {_pace(step, elapsed)}.")


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
    """Show progress, rate and remaining time: as a bar on a terminal's standard error, elsewhere as lines.

    `quiet` leaves only a line about each download, `seconds` is the interval between two lines of a stage.
    """
    if not quiet and sys.stderr.isatty():
        with _bar() as report:
            yield report
        return
    lines, ended = _Lines(quiet, min(ESTIMATE_SECONDS, seconds / 3)), threading.Event()
    repeating = threading.Thread(target=lines.repeat, args=(seconds, ended), name="progress", daemon=True)
    if not quiet:
        repeating.start()
    try:
        yield lines.report
    finally:
        ended.set()
        if not quiet:
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
