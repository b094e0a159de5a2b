"""Provide the options, the project and the output that all shell commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lore_etl.config.project import Place, find_project, place_of, read_layers
from lore_etl.core.errors import LoreError, Unavailable, UsageError, from_record
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener, ignore
from lore_etl.stores.claim import has_index
from lore_server.console import output
from lore_server.owner import find
from lore_server.owner.line import LineSocket
from lore_server.owner.predecessor import stop_if_free

if TYPE_CHECKING:
    from lore_etl.config.settings import Settings
    from lore_server.app import App

LONGEST_WAIT = 86_400  # seconds: a shell waits for the end and shows progress
BUILDS = ("manage_knowledge_base", "init_project")
"""The operations that the configuration decides: they never run in an owner with another one."""


@dataclass
class Session:
    """The options that all commands share, and the project and settings they select."""

    project: Path | None = None
    config: Path | None = None
    as_json: bool = False
    verbose: bool = False
    no_daemon: bool = False
    on_text: Callable[[str], None] = ignore  # receives the text of an answer, or a build's plan, before the reply
    _answering: OwnerCalls | App | None = field(default=None, repr=False)

    @property
    def root(self) -> Path:
        """Return the project: `-C`, or the nearest folder with a `lore.toml` or `.git`, or the current folder."""
        if self.project is None:
            return find_project(Path.cwd())
        if not self.project.is_dir():
            raise UsageError(f"There is no folder {self.project}.", "Give an existing folder with -C.")
        return self.project.resolve()

    @property
    def settings(self) -> Settings:
        from lore_etl.config.settings import load_settings  # the client of an owner works without it

        return load_settings(self.root, self.config)

    def warn(self) -> None:
        """Warn on standard error about ignored project settings. Invalid settings are reported elsewhere."""
        with suppress(LoreError):
            if warning := read_layers(self.root, self.config).warning:
                output.note(warning)

    @property
    def config_file(self) -> Path | None:
        """Return the absolute path of `-c`, because the owner runs in another folder."""
        return self.config.resolve() if self.config is not None else None

    @property
    def place(self) -> Place:
        return place_of(self.root, self.config_file)

    @property
    def has_index(self) -> bool:
        return has_index(self.place.folder)

    def ask(self, operation: str, **arguments: object) -> JSON:
        """Run one operation, in the owner or in this process. Without an index, reading starts no owner."""
        self._answering = self._answering or self._found(operation)
        try:
            with output.progress_bar(self.as_json or self.on_text not in (ignore, output.note)) as progress:
                return self._answering.call(operation, arguments, Listener(progress, self.on_text))
        except KeyboardInterrupt:
            if not self.no_daemon:
                self.close()  # the connection is in the middle of a reply
            raise

    def hold_index(self) -> None:
        """Stop a background owner that is idle and has no clients, for a command that opens the index itself."""
        folder = self.place.folder
        note = find.holder(folder)
        if note is not None and note.kind == "background":
            with suppress(OSError):
                stop_if_free(folder, note)

    def open_app(self) -> App:
        from lore_server.app import App
        from lore_server.contract import load_contract

        return App(self.root, self.settings, load_contract())

    def close(self) -> None:
        if self._answering is not None:
            self._answering.close()
        self._answering = None

    def _found(self, operation: str) -> OwnerCalls | App:
        if self.no_daemon:
            self.hold_index()
        elif self.has_index:
            return OwnerCalls(self.place)
        else:
            from lore_server.contract import load_contract

            if load_contract()[operation].changes_state:
                return OwnerCalls(self.place)
        return self.open_app()

    def call(self, operation: str, **arguments: object) -> JSON:
        result = self.ask(operation, **{name: value for name, value in arguments.items() if value is not None})
        self.print_result(operation, result)
        return result

    def print_result(self, operation: str, result: JSON, printed: str = "") -> None:
        if self.as_json:
            output.print_json(result)
        else:
            output.print_result(operation, result, self.root, printed)

    def show(self, record: JSON, *lines: str, empty: str = "") -> None:
        """Print a record as JSON, else its lines, or to standard error that there are none."""
        if self.as_json:
            output.print_json(record)
        elif lines:
            output.line("\n".join(lines))
        elif empty:
            output.note(empty)

    def show_stage(self, stage: str) -> None:
        if not self.as_json:
            output.note(f"Reading {stage} …")

    def announce(self) -> None:
        if not self.as_json:
            self.on_text = output.note

    def sync(self) -> None:
        """Index the files that a command has copied, and print the result unless JSON was requested."""
        self.announce()
        done = self.ask("manage_knowledge_base", action="sync", wait_seconds=LONGEST_WAIT)
        if not self.as_json:
            self.print_result("manage_knowledge_base", done)


class OwnerCalls:
    """Operations in the owner of the index, which is started when it is first needed."""

    def __init__(self, where: Place) -> None:
        self._place = where
        self._line: LineSocket | None = None
        self._fits = False

    def call(self, operation: str, arguments: JSON, listener: Listener, times: str = "") -> JSON:
        """Run one operation. If the owner ends meanwhile, repeat it once if it is repeatable. Raises LoreError."""
        try:
            return self._call(operation, arguments, listener)
        except OSError as error:
            self.close()
            from lore_server.contract import load_contract

            if times or not load_contract()[operation].is_repeatable:
                raise Unavailable(f"The owner of the index exited{times} during this call.") from error
        return self.call(operation, arguments, listener, " twice")

    def _call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        must_fit = operation in BUILDS
        if must_fit and not self._fits:
            self.close()
        if self._line is None:
            self._line, _ = find.connect(self._place, {"want": "call"}, must_fit=must_fit)
            self._fits = must_fit
        is_followed = listener.text is not ignore
        self._line.send_message({"operation": operation, "arguments": arguments, "streams": is_followed})
        while True:
            reply = self._line.receive()
            if "progress" in reply:
                listener.progress(*reply["progress"])
            elif "text" in reply:
                listener.text(reply["text"])
            elif "problem" in reply:
                raise from_record(reply["problem"])
            elif "result" in reply:
                result: JSON = reply["result"]
                return result

    def close(self) -> None:
        if self._line is not None:
            with suppress(OSError):
                self._line.close()
        self._line = None
