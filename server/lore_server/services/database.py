"""Start and stop the vector database, in each of the configured modes, and verify the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_etl.index import Index
from lore_server.execution.progress import NOBODY, Listener

if TYPE_CHECKING:
    from lore_server.replies.records import DatabaseStateRecord
    from lore_server.services.verification import Verifier

_STOPPED = {
    "embedded": "Closed.",
    "server": "Chroma's server was stopped.",
    "http": "The connection was closed; the server keeps running because Lore did not start it.",
    "cloud": "The connection was closed; Chroma Cloud keeps running.",
}


class DatabaseService:
    """The vector database: files opened in this process, a server that Lore starts, or a connection to a server."""

    def __init__(self, index: Index, verifier: Verifier) -> None:
        self._index = index
        self._verifier = verifier

    def manage(self, *, action: str, listener: Listener = NOBODY) -> DatabaseStateRecord:
        """Start or stop the database, or compare the whole content of the index.

        Raises:
            IndexMissing, IndexDamaged, DatabaseUnavailable, Busy: the database cannot be started.
        """
        if action == "verify":
            return self._verify(listener)
        return self._start() if action == "start" else self._stop()

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

    def _start(self) -> DatabaseStateRecord:
        self._index.require()
        was_open = self._index.has_open_vectors()
        store = self._index.vectors
        count = store.count()
        return self._state("already_running" if was_open else "started", f"{count} vectors, {store.where()}.")

    def _stop(self) -> DatabaseStateRecord:
        was_open = self._index.has_open_vectors()
        self._index.release_vectors()
        if was_open:
            return self._state("stopped", f"{_STOPPED[self._mode]} The next search opens it again.")
        return self._state("not_running", "The database was not open in this process.")

    @property
    def _mode(self) -> str:
        return self._index.settings.database.mode

    def _state(self, status: str, detail: str) -> DatabaseStateRecord:
        return {"status": status, "mode": self._mode, "detail": detail}
