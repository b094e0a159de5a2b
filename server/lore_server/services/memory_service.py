"""Add and delete memories, and return the results as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lore_etl.core.model import Value
from lore_server.knowledge.memory_store import Added, MemoryStore, new_memory
from lore_server.knowledge.writer import WriteRequest
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import noted

if TYPE_CHECKING:
    from lore_server.replies.records import MemoryAddedRecord, MemoryDeletedRecord


class MemoryService:
    """The operations that add and delete memories of this project."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def add(
        self,
        *,
        name: str,
        body: str,
        group_id: str,
        source: str,
        metadata: Mapping[str, Value],
        request: WriteRequest,
        replaces: str | None = None,
    ) -> MemoryAddedRecord:
        """Store a text as a memory, unless its group already has the same text."""
        store = self._library.store
        new = new_memory(name, group_id, body, source, metadata, store.now())
        done = MemoryStore(store).add(self._library.current, new, request.by, replaces)
        memory = done.stored.memory
        note = " ".join([*_remarks(done, new.secrets), self._library.note() or ""]).strip()
        return {
            "id": done.stored.id,
            "name": memory.name,
            "group_id": memory.group_id,
            "sha256": memory.sha256,
            "parts": len(done.stored.paths),
            "path": done.stored.paths[0],
            "duplicate": done.is_duplicate,
            "replaced": done.replaced,
            "commit": done.commit,
            **noted(note),
        }

    def delete(self, *, id: str, request: WriteRequest) -> MemoryDeletedRecord:
        """Delete a memory; its history is kept."""
        stored, commit = MemoryStore(self._library.store).delete(self._library.current, id, request.by)
        return {
            "id": stored.id,
            "name": stored.memory.name,
            "group_id": stored.memory.group_id,
            "parts": len(stored.paths),
            "commit": commit,
        }


def _remarks(done: Added, secrets: int) -> Iterator[str]:
    """Yield a sentence for each change that was made to the given memory."""
    if len(done.stored.paths) > 1:
        yield f"The body is stored in {len(done.stored.paths)} linked parts."
    if done.stored.memory.full_name:
        yield "The name was shortened; the first part contains it in full."
    if secrets:
        yield f"Secrets were removed: {secrets}."
