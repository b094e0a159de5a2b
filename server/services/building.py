"""Building the index on request, one build at a time."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Any

from etl.errors import Busy, ConfirmationRequired, IndexMissing
from etl.index import Index
from etl.model import Progress, SyncReport
from etl.stores.chunkfile import CHUNKS
from etl.sync import create_only, delete_all, embed_only, sync

MOST_ROWS = 1000


class BuildService:
    """Runs the pipeline for `manage_knowledge_base`."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._running = threading.Lock()
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End a running build at its next step; what it did stays, the next one goes on from there."""
        self._stopping.set()

    def run(self, action: str, confirm: bool, allow_mass_delete: bool, progress: Progress) -> dict[str, Any]:
        """One action; its report as the contract has it.

        Raises:
            ConfirmationRequired: `delete` without `confirm`.
            Busy: another build is running here, or another process owns the index.
        """
        if action == "delete" and not confirm:
            raise ConfirmationRequired("Deleting the index needs a confirmation.")
        if not self._running.acquire(blocking=False):
            raise Busy("A build of this index is already running.")
        try:
            return _record(action, self._act(action, allow_mass_delete, self._stoppable(progress)))
        finally:
            self._running.release()

    def _stoppable(self, progress: Progress) -> Progress:
        def report(stage: str, done: int, total: int) -> None:
            if self._stopping.is_set():
                raise Busy("The server is stopping.", "Start it again and sync: it goes on where it was.")
            progress(stage, done, total)

        return report

    def _act(self, action: str, allow_mass_delete: bool, progress: Progress) -> SyncReport:
        if action == "sync":
            return sync(self._index, progress, allow_mass_delete)
        if action == "create":
            return create_only(self._index, progress, allow_mass_delete)
        if action == "embed":
            if not (self._index.folder / CHUNKS).exists():
                raise IndexMissing("There is no chunks.jsonl to embed.", "Run the action `create` or `sync` first.")
            return embed_only(self._index, progress)
        self._index.require()
        return delete_all(self._index)


def _record(action: str, report: SyncReport) -> dict[str, Any]:
    record = asdict(report)
    for name in ("failed", "skipped", "warnings"):
        record[name] = record[name][:MOST_ROWS]
    return {"action": action, **record}
