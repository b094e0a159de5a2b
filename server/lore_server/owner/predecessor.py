"""Deal with an owner that runs already: ask, stop or use it. Standard library only.

An owner makes way once nothing runs in it, and all its clients read the same configuration as the next owner.
"""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.project import Place, knowledge_home, user_config
from lore_etl.core.errors import Busy, from_record
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import is_in_use
from lore_etl.stores.owner_file import SERVE_MANY, Note, read_note, remove_note
from lore_etl.system.processes import is_stopped, kill, terminate
from lore_server import __version__
from lore_server.console import terminal
from lore_server.owner.line import LineSocket, dial

STOP_SECONDS = 30.0
KILL_SECONDS = 5.0
PAUSE_SECONDS = 0.02
LONG_PAUSE_SECONDS = 0.1
GRACE_SECONDS = 1.0  # a short command or an automatic sync may be about to end
STOP_IT = "Stop it with `lore stop`; the next call starts a matching owner."


def ask(note: Note, want: str) -> JSON | None:
    """Send one request to a running owner and return its reply; None if it does not respond."""
    if is_stopped(note.pid):
        return None
    try:
        return _reply(note, want)
    except OSError:
        return None


def _reply(note: Note, want: str, **more: object) -> JSON:
    line, reply = introduce(note, {"want": want, **more})
    line.close()
    return reply


def introduce(note: Note, hello: JSON) -> tuple[LineSocket, JSON]:
    """Connect to this owner. Raises OSError if it is unavailable now, LoreError if it will stay so."""
    line, reply = dial(note.address, {**hello, "token": note.token})
    if reply.get("ok"):
        return line, reply
    line.close()
    if "problem" in reply:
        raise from_record(reply["problem"])
    raise ConnectionError("the owner rejected its token")


def stop(folder: Path, note: Note, may_answer: bool = True) -> bool:
    """Ask an owner to stop, else signal it, and wait; return False if it still runs after 30 seconds."""
    return _has_ended(folder, note, is_asked=may_answer and ask(note, "stop") is not None)


def stop_if_free(folder: Path, note: Note, follows: str = "") -> bool:
    """Stop an owner unless it works or has clients that do not follow this configuration. Raises Busy, OSError."""
    if _reply(note, "stop", if_free=True, follows=follows).get("stays"):
        return False
    if not _has_ended(folder, note, is_asked=True):
        raise _unstoppable(note)
    return True


def end(folder: Path, note: Note, may_answer: bool = True) -> None:
    """Stop an owner in any state, unless a user started it; one known not to answer receives signals. Raises Busy."""
    if note.is_server:
        raise Busy(f"The owner of this index (`{note.command}`, pid {note.pid}) does not respond.", STOP_IT)
    if not stop(folder, note, may_answer):
        raise _unstoppable(note)


def _unstoppable(note: Note) -> Busy:
    return Busy(f"The owner of this index (pid {note.pid}) does not stop.", "Run `lore stop`, then try again.")


def _has_ended(folder: Path, note: Note, is_asked: bool) -> bool:
    """Wait for the end of an owner, or until a process that owns several indexes has closed this one."""
    began = time.monotonic()
    kill_seconds = 0.0 if is_stopped(note.pid) else KILL_SECONDS
    signals = [] if is_asked else [(0.0, terminate), (kill_seconds, kill)]
    while note.is_alive and not (note.kind == SERVE_MANY and read_note(folder) is None and not is_in_use(folder)):
        seconds = time.monotonic() - began
        if seconds > STOP_SECONDS:
            return False
        if signals and seconds >= signals[0][0]:
            signals.pop(0)[1](note.pid)
        time.sleep(PAUSE_SECONDS)
    with contextlib.suppress(OSError):
        remove_note(folder, note)
    return True


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
        return note.version == __version__ and self._has_knowledge_of(note)

    def difference(self, note: Note) -> str:
        """Return the first difference of an unsuitable owner, as the end of a sentence about it."""
        if note.version != __version__ or note.build != self.build:
            return "runs another version of Lore"
        if not self._has_knowledge_of(note):
            return "uses another knowledge folder"
        return "has another configuration" if note.config != self.config else "has other API keys"

    def _has_knowledge_of(self, note: Note) -> bool:
        return note.config.rpartition("-")[2] == self.config.rpartition("-")[2]


class Misfit:
    """The decision about unsuitable owners. A client that `must_fit` waits without limit, another one for a moment."""

    def __init__(self, must_fit: bool) -> None:
        self._must_fit = must_fit
        self._since = 0.0
        self._said = ""

    def is_usable(self, place: Place, need: OwnerRequirements, note: Note, may_replace: bool) -> bool:
        """Return whether the client uses the owner as it is; else stop it, or wait for it. Raises Busy, OSError."""
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
        time.sleep(LONG_PAUSE_SECONDS)
        return False

    def _say(self, text: str) -> None:
        if text != self._said:
            terminal.err(f"{text}\n")
        self._said = text


def configuration_of(place: Place) -> str:
    """Return a digest of the files and folders that a configuration comes from, not of their content."""
    config = place.config and place.config.resolve()
    sources: list[Path | None] = [place.root, config, user_config(os.environ), knowledge_home(os.environ)]
    return hashlib.sha256(json.dumps([str(source) for source in sources]).encode()).hexdigest()[:16]
