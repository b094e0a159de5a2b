"""What the commands of the shell share: the project they work on, how they print, how they fail."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from etl.errors import LoreError, UsageError
from etl.layers import read_layers
from etl.model import Progress
from etl.project import find_project, place_of
from etl.settings import Settings, load_settings
from etl.stores.catalogue import CATALOGUE
from etl.stores.claim import is_ours
from server import show, terminal
from server.listener import Listener
from server.owner.remote import Remote, step_aside
from server.problem import problem

log = logging.getLogger(__name__)


class Answering(Protocol):
    """What runs operations for the shell."""

    def call(self, operation: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """The result. Raises LoreError."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Direct:
    """The application in this process."""

    def __init__(self, root: Path, settings: Settings) -> None:
        from server.app import App
        from server.contract import load_contract

        self._app = App(root, settings, load_contract())

    def call(self, operation: str, arguments: dict[str, Any], progress: Progress) -> dict[str, Any]:
        """The result. Raises LoreError."""
        return self._app.call(operation, arguments, Listener(progress))

    def close(self) -> None:
        """Close the index."""
        self._app.close()


@dataclass
class Session:
    """The options that every command has, and what follows from them."""

    project: Path | None = None
    config: Path | None = None
    as_json: bool = False
    verbose: bool = False
    no_daemon: bool = False
    _answering: Answering | None = field(default=None, repr=False)

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

    def warn(self) -> None:
        """Say on standard error what of the project's configuration is ignored. A wrong one is reported elsewhere."""
        with suppress(LoreError):
            if warning := read_layers(self.root, self.config).warning:
                show.note(warning)

    @property
    def has_index(self) -> bool:
        """Whether something was synced. Raises ConfigError."""
        folder = place_of(self.root, self.config_file).folder
        return is_ours(folder) and (folder / CATALOGUE).exists()

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Run one operation: through the owner of the index, or in this process with `--no-daemon`.

        Where there is no index and nothing to be built, no owner is started either: looking leaves no trace.
        """
        self._answering = self._answering or self._found(operation)
        try:
            with progress_bar(self.as_json) as progress:
                return self._answering.call(operation, arguments, progress)
        except KeyboardInterrupt:
            if not self.no_daemon:
                self.close()  # the line is in the middle of a reply
            raise

    def hold_index(self) -> None:
        """For a command that opens the index itself: a background owner that nobody uses steps aside."""
        step_aside(place_of(self.root, self.config_file))

    def close(self) -> None:
        """Let go of the owner, or of the index."""
        if self._answering is not None:
            self._answering.close()
        self._answering = None

    def _found(self, operation: str) -> Answering:
        from server.contract import load_contract

        where = place_of(self.root, self.config_file)
        if self.no_daemon or not (self.has_index or load_contract()[operation].changes_state):
            if self.no_daemon:
                self.hold_index()
            return Direct(self.root, self.settings)
        return Remote(where)

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Run one operation and print its result."""
        result = self.ask(operation, **arguments)
        self.tell(operation, result)
        return result

    def tell(self, operation: str, result: dict[str, Any]) -> None:
        """Print a result: as text, or as data if that was asked for."""
        if self.as_json:
            print_json(result)
        else:
            show.tell(operation, result)

    @property
    def config_file(self) -> Path | None:
        """The file of `-c`, wherever the owner runs."""
        return self.config.resolve() if self.config is not None else None


def print_json(value: object) -> None:
    """Data goes to standard output."""
    terminal.out_json(value)


def fail(error: BaseException, as_json: bool) -> int:
    """Tell an error on standard error, or as JSON on standard output; returns the exit code."""
    record = problem(error)
    if as_json:
        print_json(record)
    else:
        terminal.err(f"{record['message']}\n{record['hint']}\n")
    return error.exit_code if isinstance(error, LoreError) else 70


def _announcing() -> Progress:
    """One line on standard error for each stage that takes minutes or uses the network."""
    told: set[str] = set()

    def report(stage: str, done: int, total: int) -> None:
        if stage.endswith("the model") and stage not in told:
            told.add(stage)
            show.note(f"{stage.capitalize()}: this can take minutes.")

    return report


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress]:
    """Progress with rate and time left on a terminal's standard error; elsewhere only what takes minutes."""
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
