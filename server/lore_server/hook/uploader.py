"""Upload and remove memories one by one, and record each step before the next."""

from __future__ import annotations

import logging
from dataclasses import replace

from lore_etl.core.clock import timestamp
from lore_server.hook.episode import Episode, digest_of, read_episode, split_episode
from lore_server.hook.knowledge_server import KnowledgeServer, MemoryRefused
from lore_server.hook.memory_folders import MemoryFile, UnreadableMemory, read_memory_file
from lore_server.hook.upload_state import Tally, UploadedFile, UploadState

log = logging.getLogger(__name__)


class Uploader:
    """Sends files, replaces their earlier copies, and removes those of deleted files.

    A step may raise ServerUnreachable, ServerUnusable and StorageError, and can then be repeated.
    """

    def __init__(self, state: UploadState, tally: Tally) -> None:
        self._state, self._tally = state, tally
        self._sent = set[str]()

    async def send(self, server: KnowledgeServer, file: MemoryFile) -> None:
        """Send a file, unless its content was just sent from another path; then remove its earlier copies."""
        try:
            data = read_memory_file(file)
        except UnreadableMemory as error:
            self.give_up(file, str(error))
            return
        reading, digest = read_episode(file, data), digest_of(file, data)
        if reading.episode is None or digest in self._sent:  # None: it was changed after the plan was made
            self._tally.skipped += 1
            return
        try:
            await self._replace(server, file, digest, reading.episode)
        except MemoryRefused as error:
            self.give_up(file, error.message)
            return
        self._sent.add(digest)
        self._tally.succeeded += 1
        for note in reading.notes:
            log.warning("%s: %s", file.label, note)
        log.info("sent %s", file.label)

    async def remove(self, server: KnowledgeServer, path: str) -> None:
        """Delete the copies of a file from the server, and its record."""
        entry = self._state.files[path]
        stale = await self._copies(server, path, entry)
        self._state.put(path, replace(entry, ids=(), parts=0, stale=stale))
        await self._delete(server, path, stale)
        del self._state.files[path]
        self._state.save()

    def give_up(self, file: MemoryFile, reason: str) -> None:
        """Count a file as failed; the next run sends it last."""
        self._tally.failed += 1
        log.warning("%s: %s", file.label, reason)
        entry = self._state.files.get(file.path)
        self._state.put(file.path, replace(entry or UploadedFile("", file.group), failure=reason))

    async def _replace(self, server: KnowledgeServer, file: MemoryFile, digest: str, episode: Episode) -> None:
        """Send all parts, then delete the copies that the server had before. Raises MemoryRefused."""
        parts = split_episode(episode, *server.limits)
        kind = str(episode.metadata.get("capture_type", ""))
        entry = UploadedFile(digest, file.group, parts=len(parts), capture_type=kind)
        entry = replace(entry, stale=await self._copies(server, file.path, entry))
        only = entry.stale[0] if len(entry.stale) == len(parts) == 1 and not self._state.is_used(entry.stale[0]) else ""
        for part in parts:
            self._state.put(file.path, entry)  # if the reply is lost, the next attempt looks for the copy
            memory, is_replaced = await server.add(part, only)
            self._tally.removed += is_replaced and memory != only
            gone = {only, memory} if is_replaced else {memory}
            entry = replace(entry, ids=(*entry.ids, memory), stale=tuple(id_ for id_ in entry.stale if id_ not in gone))
        self._state.put(file.path, entry)
        await self._delete(server, file.label, entry.stale)
        self._state.put(file.path, replace(entry, stale=(), synced_at=timestamp()))

    async def _copies(self, server: KnowledgeServer, path: str, new: UploadedFile) -> tuple[str, ...]:
        """Return the ids of the file's copies on the server; those without a recorded id are found by their marks."""
        entry = self._state.files.get(path)
        if entry is None:
            return await server.find(new.marks, new.group) if self._state.is_damaged else ()
        known = [*entry.stale, *filter(None, entry.ids)]
        if "" in entry.ids or len(entry.ids) < entry.parts:  # it returned no id, or no reply
            known += await server.find(entry.marks, entry.group)
        return tuple(dict.fromkeys(known))

    async def _delete(self, server: KnowledgeServer, label: str, stale: tuple[str, ...]) -> None:
        """Delete earlier copies, except those that another file has. One that the server keeps is only reported."""
        for memory in stale:
            if self._state.is_used(memory):
                continue
            try:
                await server.delete(memory)
                self._tally.removed += 1
            except MemoryRefused as error:
                log.warning("%s: an old copy stays on the server (%s): %s", label, memory, error.message)
