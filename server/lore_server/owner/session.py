"""What the commands of the shell share: the project they work on, how they print, how they fail."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lore_etl.config.layers import read_layers
from lore_etl.config.project import find_project, place_of
from lore_etl.config.settings import Settings, load_settings
from lore_etl.core.errors import LoreError, UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Progress
from lore_etl.stores.catalogue import CATALOGUE
from lore_etl.stores.claim import is_ours
from lore_server.console import output
from lore_server.console.progress_bar import progress_bar
from lore_server.execution.progress import Listener
from lore_server.owner.remote_calls import OwnerCalls, step_aside

log = logging.getLogger(__name__)


class Answering(Protocol):
    """What runs operations for the shell."""

    def call(self, operation: str, arguments: JSON, progress: Progress) -> JSON:
        """The result. Raises LoreError."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Direct:
    """The application in this process."""

    def __init__(self, root: Path, settings: Settings) -> None:
        from lore_server.app import App
        from lore_server.contract import load_contract

        self._app = App(root, settings, load_contract())

    def call(self, operation: str, arguments: JSON, progress: Progress) -> JSON:
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
                output.note(warning)

    @property
    def has_index(self) -> bool:
        """Whether something was synced. Raises ConfigError."""
        folder = place_of(self.root, self.config_file).folder
        return is_ours(folder) and (folder / CATALOGUE).exists()

    def ask(self, operation: str, **arguments: object) -> JSON:
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
        from lore_server.contract import load_contract

        where = place_of(self.root, self.config_file)
        if self.no_daemon or not (self.has_index or load_contract()[operation].changes_state):
            if self.no_daemon:
                self.hold_index()
            return Direct(self.root, self.settings)
        return OwnerCalls(where)

    def call(self, operation: str, **arguments: object) -> JSON:
        """Run one operation and print its result."""
        result = self.ask(operation, **arguments)
        self.tell(operation, result)
        return result

    def tell(self, operation: str, result: JSON) -> None:
        """Print a result: as text, or as data if that was asked for."""
        if self.as_json:
            output.print_json(result)
        else:
            output.tell(operation, result)

    @property
    def config_file(self) -> Path | None:
        """The file of `-c`, wherever the owner runs."""
        return self.config.resolve() if self.config is not None else None
