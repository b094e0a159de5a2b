"""Show progress on standard error: a bar on a terminal, otherwise a line for each slow stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lore_etl.core.progress import Progress
from lore_server.console import output


def _announcing() -> Progress:
    """Return a function that reports each stage that takes minutes or uses the network in one line."""
    announced: set[str] = set()

    def report(stage: str, done: int, total: int) -> None:
        if stage.endswith("the model") and stage not in announced:
            announced.add(stage)
            output.note(f"{stage.capitalize()}: this can take minutes.")

    return report


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Show progress, rate and remaining time on a terminal's standard error; elsewhere, only slow stages."""
    if quiet or not sys.stderr.isatty():
        yield _announcing()
        return
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
                tasks[stage] = (bar.add_task(stage, total=total, rate=""), time.monotonic())
            task, started = tasks[stage]
            rate = done / max(0.001, time.monotonic() - started)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s" if done else "")

        yield report
