"""Deal with an owner that does not suit a client: it makes way, or the client waits for it or uses it as it is.

An owner makes way once it is free: nothing runs in it, and all its clients would follow to the next owner, because
they read the same configuration files. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.layers import user_config
from lore_etl.config.project import Place, knowledge_home
from lore_etl.core.errors import Busy
from lore_etl.stores.owner_file import Note
from lore_server import __version__
from lore_server.console import terminal
from lore_server.owner.ending import end, stop_if_free

GRACE_SECONDS = 1.0  # a short command or an automatic sync may be about to end
PAUSE_SECONDS = 0.1
STOP_IT = "Stop it with `lore stop`; the next call starts a matching owner."


class OwnerRequirements(NamedTuple):
    """The required build of Lore, configuration with knowledge folder, and API keys (if any) of an owner."""

    build: str
    config: str
    key: str

    def is_met_by(self, note: Note) -> bool:
        """Return whether the owner is suitable. An owner with more keys also suits a client with fewer."""
        return self.is_same_program(note) and {*self.key.split()} <= {*note.key.split()}

    def is_same_program(self, note: Note) -> bool:
        """Return whether the owner differs at most in its keys."""
        return (note.build, note.config) == (self.build, self.config)

    def is_same_store(self, note: Note) -> bool:
        """Return whether the owner has the client's knowledge folder and understands its calls."""
        return (note.version, _folder(note.config)) == (__version__, _folder(self.config))

    def difference(self, note: Note) -> str:
        """Return the first difference of an unsuitable owner, as the end of a sentence about it."""
        if note.version != __version__ or note.build != self.build:
            return "runs another version of Lore"
        if _folder(note.config) != _folder(self.config):
            return "uses another knowledge folder"
        return "has another configuration" if note.config != self.config else "has other API keys"


def _folder(config: str) -> str:
    return config.rpartition("-")[2]


class Misfit:
    """The decision about unsuitable owners during one attempt to connect.

    A client that `must_fit` waits without a limit; another one waits for a moment, then uses the present owner.
    """

    def __init__(self, must_fit: bool) -> None:
        self._must_fit = must_fit
        self._since = 0.0
        self._said = ""

    def is_usable(self, place: Place, need: OwnerRequirements, note: Note, may_replace: bool) -> bool:
        """Return whether the client uses the owner as it is. Otherwise stop the owner, or wait if it is not free.

        Raises:
            Busy: the owner stays, and the client cannot use it.
            OSError: the owner does not respond.
        """
        can_change = may_replace and not note.is_server
        if can_change and stop_if_free(place.folder, note, configuration_of(place)):
            return False
        self._since = self._since or time.monotonic()
        owner = f"The owner of this index (`{note.command}`, pid {note.pid}) {need.difference(note)}"
        if can_change and self._must_fit:
            self._say(f"{owner} and is in use: waiting until it is free. `lore stop` ends it.")
        elif not can_change or time.monotonic() > self._since + GRACE_SECONDS:
            if self._must_fit or not need.is_same_store(note):
                raise Busy(f"{owner}.", STOP_IT)
            self._say(f"{owner}{' and is in use' if can_change else ''}: this command uses it as it is.")
            return True
        time.sleep(PAUSE_SECONDS)
        return False

    def _say(self, text: str) -> None:
        if text != self._said:
            terminal.err(f"{text}\n")
        self._said = text


def wait_until_free(place: Place, note: Note, seconds: float) -> None:
    """Stop an owner as soon as it is free, or if it does not respond. Raises Busy if it is not free in time."""
    last = time.monotonic() + seconds
    wait = f"The owner of this index (pid {note.pid}) is in use: waiting until it is free. `lore stop` ends it.\n"
    try:
        while note.is_alive and not stop_if_free(place.folder, note, configuration_of(place)):
            if time.monotonic() > last:
                raise Busy(f"Another owner (pid {note.pid}) uses this index.", "`lore stop` in the project ends it.")
            terminal.err(wait)
            wait = ""
            time.sleep(PAUSE_SECONDS)
    except OSError:
        end(place.folder, note)


def configuration_of(place: Place) -> str:
    """Return a digest of the files and folders that a configuration comes from, not of their content."""
    config = place.config and place.config.resolve()
    sources: list[Path | None] = [place.root, config, user_config(os.environ), knowledge_home(os.environ)]
    return hashlib.sha256(json.dumps([str(source) for source in sources]).encode()).hexdigest()[:16]
