"""What a reply says of the index's state: whether files changed since it was built, and what is still missing."""

from __future__ import annotations

import threading
import time
from typing import Any

from etl.files import scan
from etl.index import Index
from etl.stores.catalogue import UNREAD

SHARE_OF_TIME = 0.1  # looking at the files takes at most a tenth of the time


class Freshness:
    """Compares the files' stamps with the catalogue's, as often as is cheap: a small project at every reply."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._guard = threading.Lock()
        self._changed = 0
        self._look_again_at = 0.0
        self._synced_at: str | None = None

    def record(self) -> dict[str, Any]:
        """The `freshness` of a reply."""
        catalogue = self._index.catalogue
        synced_at, pending = catalogue.meta("synced_at"), catalogue.waiting()
        changed = self._changed_files(synced_at)
        state = "partial" if pending or synced_at is None else ("stale" if changed else "fresh")
        return {"state": state, "synced_at": synced_at, "changed_files": changed, "pending_vectors": pending}

    def _changed_files(self, synced_at: str | None) -> int:
        with self._guard:
            started = time.monotonic()
            if started >= self._look_again_at or synced_at != self._synced_at:
                self._changed = _count_changed(self._index)
                now = time.monotonic()
                self._look_again_at = now + (now - started) / SHARE_OF_TIME
                self._synced_at = synced_at
            return self._changed


def _count_changed(index: Index) -> int:
    found = scan(index.root, index.settings.index.exclude, index.folder)
    known = {path: stamp.removeprefix(UNREAD) for path, stamp in index.catalogue.stamps().items()}
    stamps = {path: entry.stamp for path, entry in found.files.items()}
    added_or_changed = sum(1 for path, stamp in stamps.items() if known.get(path) != stamp and stamp)
    just_written = sum(1 for path, stamp in stamps.items() if not stamp and path not in known)
    return added_or_changed + just_written + sum(1 for path in known if path not in stamps)
