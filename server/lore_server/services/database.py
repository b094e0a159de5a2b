"""Start and stop the vector database, in each of the configured modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore_etl.index import Index

if TYPE_CHECKING:
    from lore_server.replies.records import DatabaseStateRecord

_STOPPED = {
    "embedded": "Closed.",
    "server": "Chroma's server was stopped.",
    "http": "The connection was closed; the server keeps running because Lore did not start it.",
    "cloud": "The connection was closed; Chroma Cloud keeps running.",
}


class DatabaseService:
    """The vector database: files opened in this process, a server that Lore starts, or a connection to a server."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def manage(self, *, action: str) -> DatabaseStateRecord:
        """Start or stop the database.

        Raises:
            IndexMissing, IndexDamaged, DatabaseUnavailable, Busy: the database cannot be started.
        """
        return self._start() if action == "start" else self._stop()

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
