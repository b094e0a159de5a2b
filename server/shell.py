"""What the commands of the shell share: the project they work on, how they print, how they fail."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etl.errors import LoreError, UsageError
from etl.model import Progress, silent
from etl.settings import Settings, find_project, load_settings
from server.listener import Listener

if TYPE_CHECKING:
    from server.app import App

log = logging.getLogger(__name__)


@dataclass
class Session:
    """The options that every command has, and what follows from them."""

    project: Path | None = None
    config: Path | None = None
    as_json: bool = False
    verbose: bool = False
    _root: Path | None = field(default=None, repr=False)

    @property
    def root(self) -> Path:
        """The project: `-C`, else the nearest folder with a `lore.toml` or `.git`, else the current one."""
        if self.project is None:
            return find_project(Path.cwd())
        if not self.project.is_dir():
            raise UsageError(f"There is no folder {self.project}.", "Give an existing folder with -C.")
        return self.project.resolve()

    @property
    def settings(self) -> Settings:
        """The configuration. Raises ConfigError."""
        return load_settings(self.root, self.config)

    @contextmanager
    def app(self) -> Iterator[App]:
        """The application, closed at the end."""
        from server.app import App
        from server.contract import load_contract

        app = App(self.root, self.settings, load_contract())
        try:
            yield app
        finally:
            app.close()

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Run one operation and print its result as JSON if that was asked for."""
        with self.app() as app, progress_bar(self.as_json) as progress:
            result = app.call(operation, arguments, Listener(progress))
        if self.as_json:
            print_json(result)
        return result


def print_json(value: object) -> None:
    """Data goes to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def configure_logging(verbose: bool) -> None:
    """Logs go to standard error; libraries are heard only when they warn."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s", force=True
    )
    for name in ("etl", "server"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)


def fail(error: BaseException, as_json: bool) -> int:
    """Tell an error on standard error, or as JSON on standard output; returns the exit code."""
    from server.app import problem

    record = problem(error)
    if as_json:
        print_json(record)
    else:
        sys.stderr.write(f"{record['message']}\n{record['hint']}\n")
    return error.exit_code if isinstance(error, LoreError) else 70


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Progress with rate and time left on a terminal's standard error; elsewhere nothing."""
    if quiet or not sys.stderr.isatty():
        yield silent
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
