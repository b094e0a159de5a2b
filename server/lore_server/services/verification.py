"""Start and stop the vector database, and verify the index: on request, and slowly while nobody asks."""

import json
import logging
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from lore_etl.core.atomic import write_atomically
from lore_etl.core.dates import seconds_since, timestamp
from lore_etl.core.errors import Busy, Cancelled, LoreError
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.index import Index
from lore_etl.pipeline.verify import Verification
from lore_etl.system.nofollow import read_regular
from lore_server.replies.records import DatabaseStateRecord, VerificationRecord

RESULT = "verified.json"  # in the index folder
LONGEST = 20_000  # bytes of the file
LONGEST_NOTE = 300
BY_OWNER = "background"
STEP_SECONDS = 0.1
_STOPPED = {
    "embedded": "Closed.",
    "server": "Chroma's server was stopped.",
    "http": "The connection was closed; the server keeps running because Lore did not start it.",
    "cloud": "The connection was closed; Chroma Cloud keeps running.",
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """The pace of a pass in the background."""

    quiet_seconds: float = 20.0  # since the last call and job, before a pass and before each of its portions
    look_seconds: float = 5.0
    share: float = 0.05  # of the time that a pass may work
    portion: int = 10  # chunks: some 20 ms
    again_seconds: float = 86_400.0


class Verifier:
    """The verifications of an index, one at a time. `job` returns the id of the running job: a sync comes first."""

    def __init__(self, index: Index, job: Callable[[], str | None], pace: Pace | None = None) -> None:
        self._index = index
        self.running_job = job
        self._pace = pace or Pace()
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._ending = threading.Event()  # of the pass in the background
        self._thread: threading.Thread | None = None

    def verify(self, listener: Listener) -> VerificationRecord:
        """Compare everything; a pass in the background makes way. Raises IndexMissing, Busy, Cancelled."""

        def pause(done: int, total: int) -> None:
            while self.running_job() is not None and not self._stopping.wait(STEP_SECONDS):
                pass
            if self._stopping.is_set():
                raise Cancelled("The process is stopping.", "Call again.")
            listener.progress("verifying", done, total)

        self._ending.set()
        has_turn = self._turn.acquire(timeout=self._pace.look_seconds)
        try:
            if not has_turn:
                raise Busy("The index is already being verified.")
            run = Verification(self._index, pause)
            run.run()
            return self._record(run, "verify")
        finally:
            if has_turn:
                self._turn.release()
            if not self._stopping.is_set():
                self._ending.clear()

    def last(self) -> VerificationRecord | None:
        """Return the last result; None if there is none that Lore wrote."""
        try:
            record = json.loads(read_regular(self._index.folder / RESULT, LONGEST))
            found = [{name: row[name] for name in ("store", "items", "damaged", "note")} for row in record["stores"]]
            known = {"at": str(record["at"]), "by": str(record["by"]), "whole": record["whole"] is True}
            return cast("VerificationRecord", {**known, "stores": found})
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def state(self) -> tuple[bool, str]:
        """Return whether no store is marked as damaged, and a description that includes the last result."""
        last = self.last()
        if marked := sorted(mark.stem for mark in self._index.folder.glob("*.suspect")):
            found = f" by the verification of {last['at']}" if last and _is_damaged(last) else ""
            return False, f"Damage was found{found} in: {', '.join(marked)}."
        if last is None:
            return True, "Not verified yet; `lore verify` compares the whole content."
        how = "in the background" if last["by"] == BY_OWNER else "by `lore verify`"
        result = "the damage it found has been rebuilt since" if _is_damaged(last) else "no damage"
        counts = ", ".join(f"{row['items']:,} {row['store']}" for row in last["stores"])
        extent = "everything" if last["whole"] else "a part"
        return True, f"{last['at']} {how}, {extent}: {result} ({counts})."

    def begin(self, quiet_seconds: Callable[[], float]) -> None:
        """Verify the index in the background, once a day, whenever nobody has called for a while."""
        self._thread = threading.Thread(target=self._attend, args=(quiet_seconds,), name="verifying", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End a running verification at its next portion."""
        self._stopping.set()
        self._ending.set()
        if self._thread is not None:
            self._thread.join(self._pace.look_seconds)

    def _attend(self, quiet_seconds: Callable[[], float]) -> None:
        while not self._stopping.wait(self._pace.look_seconds):
            try:
                if self._is_due() and self._is_quiet(quiet_seconds) and self._turn.acquire(blocking=False):
                    try:
                        self._pass(quiet_seconds)
                    finally:
                        self._turn.release()
            except LoreError as error:
                log.info("the index is not verified now: %s", error.message)

    def _is_due(self) -> bool:
        """Return whether the last complete result is old. A pass opens no store, and sends nothing to a server."""
        if self._index.settings.database.mode in ("http", "cloud") or not self._index.has_open_vectors():
            return False
        last = self.last()
        age = seconds_since(last["at"]) if last and last["whole"] else None
        return age is None or age >= self._pace.again_seconds

    def _is_quiet(self, quiet_seconds: Callable[[], float]) -> bool:
        return self.running_job() is None and quiet_seconds() >= self._pace.quiet_seconds

    def _pass(self, quiet_seconds: Callable[[], float]) -> None:
        """Verify in small portions, with pauses. It begins at a random place, because owners may end before it does."""
        began = time.monotonic()

        def pause(done: int, total: int) -> None:
            nonlocal began
            rested = time.monotonic() + (time.monotonic() - began) * (1 / self._pace.share - 1)
            while time.monotonic() < rested or not self._is_quiet(quiet_seconds):
                if self._ending.wait(STEP_SECONDS):
                    break
            if self._ending.is_set() or not self._index.has_open_vectors():
                raise Cancelled("The verification has been ended.")
            began = time.monotonic()

        run = Verification(self._index, pause, self._pace.portion, until_damage=True)
        try:
            run.run(random.randrange(self._index.catalogue.total() or 1))
        finally:
            if run.is_damaged or run.is_whole or not (last := self.last()) or not last["whole"]:
                self._record(run, BY_OWNER)

    def _record(self, run: Verification, by: str) -> VerificationRecord:
        record: VerificationRecord = {
            "at": timestamp(),
            "by": by,
            "whole": run.is_whole,
            "stores": [
                {"store": name, "items": its.items, "damaged": its.damaged, "note": its.note[:LONGEST_NOTE]}
                for name, its in run.found.items()
            ],
        }
        with suppress(LoreError):  # an index that cannot be written can still be verified
            write_atomically(self._index.folder / RESULT, (json.dumps(record),))
        return record


def _is_damaged(record: VerificationRecord) -> bool:
    return any(row["damaged"] for row in record["stores"])


class DatabaseService:
    """The vector database: files opened in this process, a server that Lore starts, or a connection to a server."""

    def __init__(self, index: Index, verifier: Verifier) -> None:
        self._index = index
        self._verifier = verifier

    def manage(self, *, action: str, listener: Listener = NOBODY) -> DatabaseStateRecord:
        """Start, stop or verify the database. Raises IndexMissing, IndexDamaged, DatabaseUnavailable, Busy."""
        if action == "verify":
            return self._verify(listener)
        was_open = self._index.has_open_vectors()
        if action == "start":
            self._index.require()
            store = self._index.vectors
            detail = f"{store.count()} vectors, {store.where()}."
            return self._state("already_running" if was_open else "started", detail)
        if (job := self._verifier.running_job()) is not None:
            raise Busy(f"Job {job} is running, and needs the database.", "Wait for it, or cancel it with cancel_job.")
        self._index.release_vectors()
        if not was_open:
            return self._state("not_running", "The database was not open in this process.")
        mode = self._index.settings.database.mode
        return self._state("stopped", f"{_STOPPED[mode]} The next search opens it again.")

    def _verify(self, listener: Listener) -> DatabaseStateRecord:
        record = self._verifier.verify(listener)
        damaged = [row["store"] for row in record["stores"] if row["damaged"]]
        if damaged:
            state = self._state("damaged", f"Damaged: {', '.join(damaged)}. Run `lore sync`, which repairs it.")
        elif record["whole"]:
            state = self._state("verified", "Everything was compared; there is no damage.")
        else:
            state = self._state("incomplete", "There is no damage in what was compared.")
        return {**state, "verification": record}

    def _state(self, status: str, detail: str) -> DatabaseStateRecord:
        return {"status": status, "mode": self._index.settings.database.mode, "detail": detail}
