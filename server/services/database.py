"""Opening and closing the vector database on request."""

from __future__ import annotations

from typing import Any

from etl.index import Index


class DatabaseService:
    """Embedded Chroma: start opens its files in this process, stop lets go of them."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def start(self) -> dict[str, Any]:
        """Open it. Raises IndexMissing, IndexDamaged, Busy."""
        self._index.require()
        if self._index.has_open_vectors():
            return _state("already_running", "The database is open in this process.")
        count = self._index.vectors.count()
        return _state("started", f"Opened with {count} vectors.")

    def stop(self) -> dict[str, Any]:
        """Close it; the next search opens it again."""
        if self._index.release_vectors():
            return _state("stopped", "Closed. The next search opens it again.")
        return _state("not_running", "The database was not open in this process.")


def _state(status: str, detail: str) -> dict[str, Any]:
    return {"status": status, "mode": "embedded", "detail": detail}
