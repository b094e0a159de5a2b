"""Finding the owner of an index, and starting one if there is none. Standard library only: the bridge stands on it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from etl.project import Place, build_of, knowledge_home
from etl.stores.note import Note, living_note, remove_note
from server.owner.line import Line, dial

START_SECONDS = 60.0
DIRECT_SECONDS = 5.0  # a command that holds the index itself may be about to end
STOP_SECONDS = 30.0
PAUSE_SECONDS = 0.02
LOG, LOG_BYTES = "owner.log", 1_000_000
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
JSON = dict[str, Any]


class Refused(Exception):
    """No owner can be had; `problem` is the error record and `exit_code` what a command ends with."""

    def __init__(self, problem: JSON, exit_code: int) -> None:
        super().__init__(problem["message"])
        self.problem = problem
        self.exit_code = exit_code


class Wanted(NamedTuple):
    """What an owner must be: of this build of Lore, this configuration and knowledge folder, with this key if any."""

    build: str
    config: str
    key: str

    def is_met_by(self, note: Note) -> bool:
        """Whether that owner will do. One with a key does for who has none."""
        return self.is_same_program(note) and (not self.key or note.key == self.key)

    def is_same_program(self, note: Note) -> bool:
        """Whether at most the key differs."""
        return (note.build, note.config) == (self.build, self.config)


def wanted(place: Place) -> Wanted:
    """What the owner of this place must be, as of now."""
    server = Path(__file__).parents[1]
    return Wanted(build_of(server, server.parent / "etl"), f"{place.digest}-{home_digest()}", key_digest())


def home_digest() -> str:
    """Tells knowledge folders apart: an owner writes to the one that its environment named."""
    return hashlib.sha256(os.fsencode(knowledge_home(os.environ))).hexdigest()[:8]


def key_digest() -> str:
    """Tells keys apart without holding one."""
    key = next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
    return hashlib.sha256(f"lore {key}".encode()).hexdigest()[:16] if key else ""


def connect(place: Place, hello: JSON, may_replace: bool = True) -> tuple[Line, JSON]:
    """A line to an owner of the index that is as it must be; started, or replaced if it may be.

    Who comes back after an owner's death may not replace one of another configuration, else two that differ would do so
    for ever. It takes one with another key, and replaces one without: that can happen only once.

    Raises:
        Refused: somebody else holds the index, or an owner cannot start.
    """
    need, now = wanted(place), time.monotonic()
    deadline, busy_until, starting = now + START_SECONDS, now + DIRECT_SECONDS, None
    while time.monotonic() < deadline:
        note = living_note(place.folder)
        is_returning = note is not None and not may_replace and need.is_same_program(note)
        if note is not None and note.address and (need.is_met_by(note) or (is_returning and note.key)):
            with contextlib.suppress(OSError):
                line, reply = dial(note.address, {**hello, "token": note.token})
                if reply.get("ok"):
                    return line, reply
                line.close()
                if "problem" in reply:
                    raise Refused(reply["problem"], reply["exit_code"])
        elif note is not None and note.address:
            _replace(place.folder, note, may_replace or is_returning)
            continue
        elif note is not None and note.kind == "direct" and time.monotonic() > busy_until:
            raise Refused(_busy(note), 75)
        if starting is None and (note is None or note.address):
            starting = Starting(place)
        elif starting is not None and starting.is_over:
            starting.check()
            starting = None
        time.sleep(PAUSE_SECONDS)
    raise Refused(_silent(place.folder), 75)


def ask(note: Note, want: str) -> JSON | None:
    """One question to a running owner; None if it does not answer."""
    try:
        line, reply = dial(note.address, {"want": want, "token": note.token})
    except OSError:
        return None
    line.close()
    return reply


def stop(folder: Path, note: Note) -> bool:
    """Ask an owner to end and wait until it has; False if it is still there after half a minute."""
    ask(note, "stop")
    deadline = time.monotonic() + STOP_SECONDS
    while note.is_alive:
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    with contextlib.suppress(OSError):
        remove_note(folder, note)
    return True


def _replace(folder: Path, note: Note, may_replace: bool) -> None:
    if note.kind == "serve" or not may_replace:
        message = (
            f"The owner of this index (`{note.command}`, pid {note.pid}) runs with another configuration or version."
        )
        raise Refused(problem(message, "Stop it with `lore stop`: the next call starts the right one."), 75)
    if not stop(folder, note):
        raise Refused(problem(f"The owner (pid {note.pid}) does not stop.", "Run `lore stop`, then try again."), 75)


class Starting:
    """An owner that is being started in the background, its errors in the log.

    It says on its output when it answers, or why it does not; a thread waits for that.
    """

    def __init__(self, place: Place) -> None:
        self._said = b""
        self._child = _spawned(place)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it answers, or has given up."""
        return not self._thread.is_alive()

    def check(self) -> None:
        """Raises Refused where it gave up for another reason than that somebody was quicker."""
        try:
            said: JSON = json.loads(self._said)
        except ValueError:
            said = {
                "problem": problem("The owner ended while it started.", f"See {LOG} in the index folder."),
                "exit_code": 70,
            }
        if "problem" in said and said["exit_code"] != 75:
            raise Refused(said["problem"], said["exit_code"])

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as output:
            self._said = output.readline()
        self._child.wait()  # of the two it forks into, the one that we started ends at once


def _spawned(place: Place) -> subprocess.Popen[bytes]:
    """`-P`: nothing in the folder we are run in may be imported."""
    command = [sys.executable, "-P", "-m", "server.owner.main", str(place.root), str(place.config or "")]
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        log = place.folder / LOG
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        with open(log, "ab") as errors:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                cwd=place.root.anchor, env={**os.environ, "LORE_HOME": str(knowledge_home(os.environ))},
            )  # fmt: skip
    except OSError as error:
        message = f"Cannot write to the index folder {place.folder.name}/: {error.strerror}."
        hint = "Check its permissions and the free space."
        raise Refused({**problem(message, hint), "code": "STORAGE_ERROR"}, 74) from error


def _busy(note: Note) -> JSON:
    message = f"Another process owns this index: `{note.command}` (pid {note.pid}) since {note.since}."
    return problem(message, "Wait for it to finish and try again.")


def _silent(folder: Path) -> JSON:
    return problem("The owner of this index does not answer.", f"See {LOG} in {folder.name}/; `lore stop` ends it.")


def problem(message: str, hint: str) -> JSON:
    """An error record, as the contract has it."""
    return {"error": True, "code": "BUSY", "message": message, "hint": hint, "trace_id": ""}
