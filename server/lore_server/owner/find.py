"""Find the owner of an index, or start one. Standard library only, because the bridge imports it."""

import hashlib
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import lore_etl
import lore_server
from lore_etl.config.project import INDEX_NAME, Place, build_of, knowledge_home, place_of
from lore_etl.core.errors import Busy, InternalError, StorageError, from_record
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import LOCK, claim, is_in_use, is_ours, record_folder
from lore_etl.stores.owner_file import Note, living_note
from lore_etl.system.durable import replace
from lore_etl.system.nofollow import may_write, open_regular
from lore_etl.system.processes import cpu_seconds, detached, is_stopped
from lore_server.console import terminal
from lore_server.owner import predecessor
from lore_server.owner.line import LineSocket

START_SECONDS = 60.0
DIRECT_SECONDS = 5.0  # a command that holds the index itself may be about to end
LOG, LOG_BYTES = "owner.log", 1_000_000
REFUSED_SECONDS = 3.0  # an owner checks its socket every second
SILENT_SECONDS = 10.0  # the owner listens, but may be busy
WORKING_SHARE = 0.02  # of the time: a process that computes gets more, also on a busy machine, and an idle one less
NAMELESS_SECONDS = 5.0  # an owner checks its note every second
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL")
"""Variables from which an owner reads keys, and the addresses that receive them."""


def wanted(place: Place) -> predecessor.OwnerRequirements:
    folders = (Path(package.__path__[0]) for package in (lore_server, lore_etl))
    # an owner writes to the knowledge folder that its environment named
    home = hashlib.sha256(os.fsencode(knowledge_home(os.environ))).hexdigest()[:8]
    return predecessor.OwnerRequirements(build_of(*folders), f"{place.digest}-{home}", key_digests(os.environ))


def key_digests(environment: Mapping[str, str]) -> str:
    """Return a digest of each API key that is set, with spaces between them, to compare keys without storing them."""
    keys = (f"lore {name} {value}" for name in KEYS if (value := environment.get(name)))
    return " ".join(hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16] for key in keys)


def connect(place: Place, hello: JSON, may_replace: bool = True, must_fit: bool = False) -> tuple[LineSocket, JSON]:
    """Connect to a suitable owner; start it, or replace the running one once it is free. Raises LoreError.

    Until it is free, a client that `must_fit` waits; another one uses the running owner and says so.

    A client that returns after its owner ended (`may_replace` is False) must not replace an owner with another
    configuration, or two clients that differ would replace each other's owners forever. It accepts an owner with other
    keys and replaces an owner without keys, which can happen only once.
    """
    need, began, misfit = wanted(place), time.monotonic(), predecessor.Misfit(must_fit)
    reports: list[bytes] | None = None  # of the owner that this process has started
    silence, nameless_since = Silence(), 0.0
    while (now := time.monotonic()) < began + START_SECONDS:
        note = living_note(place.folder)
        if note is not None and note.address:
            if not need.is_met_by(note):
                place = place_of(place.root, place.config)  # it may have been edited meanwhile
                need = wanted(place)
            is_returning = not may_replace and need.is_same_program(note)
            will_do = need.is_met_by(note) or (is_returning and bool(note.key))
            try:
                # the folder was deleted while the owner ran, or a signal stopped the owner, which would never answer
                if not is_ours(place.folder) or is_stopped(note.pid):
                    predecessor.end(place.folder, note)
                elif will_do or misfit.is_usable(place, need, note, may_replace or is_returning):
                    return predecessor.introduce(note, {**hello, "follows": predecessor.configuration_of(place)})
                else:
                    began, silence = time.monotonic(), Silence()  # it answered
                continue
            except OSError as error:
                if silence.is_final(note, error, now):
                    predecessor.end(place.folder, note, may_answer=False)
                    silence = Silence()
        elif note is not None and note.kind == "direct" and now > began + DIRECT_SECONDS:
            raise Busy(f"Another process owns this index: `{note.command}` (pid {note.pid}) since {note.since}.")
        elif reports is None and note is None:
            reports = _start(place)
        elif reports:
            _check(reports[0])
            reports, nameless_since = None, nameless_since or now
            if note is None and now - nameless_since > NAMELESS_SECONDS and is_in_use(place.folder):
                raise nameless(place.folder)
        time.sleep(predecessor.PAUSE_SECONDS)
    hint = f"See {LOG} in {place.folder.name}/; `lore stop` stops it."
    raise Busy("The owner of this index does not respond.", hint)


class Silence:
    """The time for which an owner has not answered, and what it did meanwhile."""

    def __init__(self) -> None:
        self._since = self._computed = 0.0
        self._was_reported = False

    def is_final(self, note: Note, error: OSError, now: float) -> bool:
        """Return, after an attempt that began now, whether the owner hangs: one that computes may still answer."""
        is_first, is_refused = not self._since, isinstance(error, ConnectionRefusedError)
        if is_first:
            self._since, self._computed = now, cpu_seconds(note.pid)
        seconds = time.monotonic() - self._since
        if isinstance(error, TimeoutError) and not self._was_reported:
            terminal.err(f"The owner of this index (pid {note.pid}) has not answered for {seconds:.0f} s: waiting.\n")
            self._was_reported = True
        if is_first or seconds <= (REFUSED_SECONDS if is_refused else SILENT_SECONDS):
            return False
        return is_refused or cpu_seconds(note.pid) - self._computed < WORKING_SHARE * seconds


def holder(folder: Path) -> Note | None:
    """Return the note of the process that holds an index. Wait for a missing note, and for an owner to listen."""
    began = time.monotonic()
    while True:
        note = living_note(folder)
        is_settled = note.kind == "direct" or bool(note.address) if note else not is_in_use(folder)
        if is_settled or time.monotonic() > began + (START_SECONDS if note is not None else NAMELESS_SECONDS):
            return note
        time.sleep(predecessor.PAUSE_SECONDS)


def make_way(place: Place, seconds: float = math.inf) -> None:
    """Stop a background owner once it is free; its clients will connect to the coming server. Raises Busy."""
    note = holder(place.folder)
    if note is None or not note.address:
        return
    if note.is_server:
        raise Busy(f"`lore serve` (pid {note.pid}) already serves this index at {note.web}.", "`lore stop` stops it.")
    last = time.monotonic() + seconds
    wait = f"The owner of this index (pid {note.pid}) is in use: waiting until it is free. `lore stop` ends it.\n"
    try:
        while note.is_alive and not predecessor.stop_if_free(place.folder, note, predecessor.configuration_of(place)):
            if time.monotonic() > last:
                raise Busy(f"Another owner (pid {note.pid}) uses this index.", "`lore stop` in the project ends it.")
            terminal.err(wait)
            wait = ""
            time.sleep(predecessor.LONG_PAUSE_SECONDS)
    except OSError:
        predecessor.end(place.folder, note)


def _start(place: Place) -> list[bytes]:
    """Start an owner in the background; the list receives its report, a line: it is ready, or why it failed."""
    # `-P` prevents imports from the current folder
    command = [sys.executable, "-P", "-m", "lore_server.owner.owner_main", str(place.root), str(place.config or "")]
    try:
        if notice := claim(place.folder):
            terminal.err(f"{notice}\n")
        with open_log((place.folder if may_write(place.folder) else record_folder(place.folder)) / LOG) as errors:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, **detached(),
                cwd=place.root.anchor, env={**os.environ, "LORE_HOME": str(knowledge_home(os.environ))},
            )  # fmt: skip
    except OSError as error:
        message = f"Cannot write to the index folder {place.folder.name}/: {error.strerror}."
        raise StorageError(message, "Check its permissions and the free space.") from error
    reports: list[bytes] = []

    def listen() -> None:
        assert child.stdout is not None
        with child.stdout as output:
            reports.append(output.readline())
        child.wait()  # it forks and ends immediately; on Windows it is the owner itself

    threading.Thread(target=listen, daemon=True).start()
    return reports


def _check(report: bytes) -> None:
    """Raise LoreError if an owner failed to start, unless another owner was faster."""
    try:
        reply: JSON = json.loads(report)
    except ValueError as error:
        raise InternalError("The owner exited during startup.", f"See {LOG} in the index folder.") from error
    if "problem" in reply and not isinstance(failure := from_record(reply["problem"]), Busy):
        raise failure


def open_log(file: Path) -> BinaryIO:
    """Open a log for appending and reading. Raises OSError if it is a symlink or not a regular file."""
    if os.path.lexists(file) and file.lstat().st_size > LOG_BYTES:
        replace(file, file.with_suffix(".log.1"))
    return open(open_regular(file, os.O_RDWR | os.O_APPEND | os.O_CREAT), "a+b")


def nameless(folder: Path) -> Busy:
    hint = f"`fuser {INDEX_NAME}/{LOCK}` shows it, unless it runs in another container. End it, then try again."
    return Busy("An unidentified process holds this index.", hint)
