"""Upload and remove memories one by one, and record each step before the next."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from lore_etl.core.clock import timestamp
from lore_server.hook.episode import Episode, digest_of, read_episode, split_episode
from lore_server.hook.knowledge_server import KnowledgeServer, MemoryRefused
from lore_server.hook.memory_folders import MemoryFile, UnreadableMemory, read_memory_file
from lore_server.hook.upload_state import MARKED, PENDING, Tally, UploadedFile, UploadState, is_mark, mark_in

log = logging.getLogger(__name__)


class Uploader:
    """Repeatable steps that send and remove memories.

    Every step may raise ServerUnreachable, ServerUnusable and StorageError, and can then be repeated. With
    `everything`, files that the server already has are sent again, each content once.
    """

    def __init__(self, state: UploadState, tally: Tally, everything: bool = False) -> None:
        self._state, self._tally = state, tally
        known = () if everything else state.files.values()
        self._known = {entry.digest: entry for entry in known if entry.is_complete}
        self._sent = set[str]()

    async def send(self, server: KnowledgeServer, file: MemoryFile) -> None:
        """Send a file, or record that the server has its content; then remove its earlier versions."""
        try:
            data = read_memory_file(file)
        except UnreadableMemory as error:
            self.give_up(file, str(error))
            return
        reading, digest = read_episode(file, data), digest_of(file, data)
        if reading.episode is None:  # it was changed after the plan was made
            self._tally.skipped += 1
            return
        if (known := self._known.get(digest)) is not None:
            self._adopt(file, known)
        else:
            try:
                self._known[digest] = await self._send_parts(server, file, digest, reading.episode)
            except MemoryRefused as error:
                self.give_up(file, error.message)
                return
            self._sent.add(file.path)
            for note in reading.notes:
                log.warning("%s: %s", file.label, note)
            log.info("sent %s", file.label)
        await self._remove_stale(server, file.path)
        if file.path in self._sent:
            self._tally.succeeded += 1
        else:
            self._tally.skipped += 1

    async def remove(self, server: KnowledgeServer, path: str) -> None:
        """Remove all versions of a file from the server, and its record."""
        entry = self._state.files.get(path)
        if entry is None:
            return  # its content was adopted by another file
        stale = self._superseded(path)
        self._state.put(path, replace(entry, ids=(), parts=0, stale=stale))
        await self._remove_stale(server, path)
        self._state.drop(path)

    def give_up(self, file: MemoryFile, reason: str) -> None:
        """Count a file as failed; the next run sends it last."""
        self._tally.failed += 1
        log.warning("%s: %s", file.label, reason)
        entry = self._state.files.get(file.path)
        self._state.put(file.path, replace(entry or UploadedFile("", file.group), failure=reason))

    def _adopt(self, file: MemoryFile, known: UploadedFile) -> None:
        """Record a file whose content was uploaded from another path, and drop that path if it is gone."""
        stale, files = self._superseded(file.path, known.ids), self._state.files
        for path in [path for path, entry in files.items() if entry.digest == known.digest and entry.is_complete]:
            if path != file.path and not Path(path).exists():  # a moved folder is not searched for deleted files
                stale += files.pop(path).stale
        self._state.put(file.path, replace(known, stale=stale, failure=""))
        log.info("%s: its content is on the server already", file.label)

    async def _send_parts(
        self, server: KnowledgeServer, file: MemoryFile, digest: str, episode: Episode
    ) -> UploadedFile:
        """Send the parts that have not arrived yet. Raises MemoryRefused."""
        parts = split_episode(episode, *server.limits)
        entry = self._state.files.get(file.path)
        if entry is None or entry.is_complete or (entry.digest, entry.parts) != (digest, len(parts)):
            kind = str(episode.metadata.get("capture_type", ""))
            stale = await self._with_ids(server, file, {part.mark for part in parts})
            entry = UploadedFile(digest, file.group, parts=len(parts), stale=stale, capture_type=kind)
        for part in parts[len(entry.arrived) :]:
            entry = await self._send_part(server, file.path, replace(entry, failure=""), part)
        return entry

    async def _with_ids(self, server: KnowledgeServer, file: MemoryFile, marks: set[str]) -> tuple[str, ...]:
        """Return the superseded ids; marks that are sent again become ids, because later they find the new episodes."""
        stale, orphans = list[str](), list[tuple[str, str]]()
        for memory in self._superseded(file.path):
            found: tuple[str, ...] = (memory,)
            if is_mark(memory) and mark_in(memory) in marks:
                found = await server.find(mark_in(memory), file.group, mark_in(memory))
                if reason := "" if found else _not_found(server, memory):
                    orphans.append((memory, reason))
            stale += found
        for memory, reason in orphans:
            self._remains(file.path, memory, reason)
        return tuple(dict.fromkeys(stale))

    async def _send_part(self, server: KnowledgeServer, path: str, entry: UploadedFile, part: Episode) -> UploadedFile:
        """Send a part, unless an earlier attempt arrived without being confirmed."""
        memory, is_replaced = "", False
        old = [stale for stale in entry.stale if not self._state.is_used(stale)]
        replaces = old[0] if len(old) == 1 and not entry.arrived and not is_mark(old[0]) else ""
        if entry.is_pending or self._state.is_damaged:
            found = await server.find(part.mark, part.group_id, part.name)
            memory = next((new for new in found if new not in entry.stale), "")
        if not memory:
            self._state.put(path, replace(entry, ids=(*entry.arrived, PENDING + part.mark)))
            try:
                memory, is_replaced = await server.add(part, replaces)
            except MemoryRefused:
                self._state.put(path, replace(entry, ids=entry.arrived))
                raise
        stale = tuple(old for old in entry.stale if not (is_replaced and old == replaces))
        self._tally.removed += is_replaced and memory != replaces
        ids = (*entry.arrived, memory or MARKED + part.mark)
        entry = replace(entry, ids=ids, stale=stale, synced_at=timestamp())
        self._state.files[path] = entry  # saved with the next step
        return entry

    async def _remove_stale(self, server: KnowledgeServer, path: str) -> None:
        """Delete earlier versions of a file, except those that another file still has."""
        while (entry := self._state.files[path]).stale:
            memory, *others = entry.stale
            if not self._state.is_used(memory):
                self._known = {digest: known for digest, known in self._known.items() if memory not in known.ids}
                if reason := await self._delete(server, memory, entry.group):
                    self._remains(path, memory, reason)
            self._state.put(path, replace(entry, stale=tuple(others)))

    async def _delete(self, server: KnowledgeServer, memory: str, group: str) -> str:
        """Delete a memory; return why the server keeps it, or an empty string."""
        if not server.can_delete:
            return "the server has no tool to delete it"
        found = await server.find(mark_in(memory), group, mark_in(memory)) if is_mark(memory) else (memory,)
        if not found:
            return _not_found(server, memory)
        for each in found:
            try:
                await server.delete(each)
            except MemoryRefused as error:
                return error.message
            self._tally.removed += 1
        return ""

    def _remains(self, path: str, memory: str, reason: str) -> None:
        self._state.orphans.append({"path": path, "id": memory, "reason": reason})
        log.warning("%s: an old version may remain on the server (%s): %s", path, memory, reason)

    def _superseded(self, path: str, kept: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return all ids of the file so far, except those to keep."""
        entry = self._state.files.get(path)
        ids = dict.fromkeys((*entry.stale, *entry.ids)) if entry else ()
        return tuple(memory for memory in ids if memory not in kept)


def _not_found(server: KnowledgeServer, memory: str) -> str:
    """Return why a memory that is known only by its mark may remain; empty if it never arrived."""
    never_arrived = memory.startswith(PENDING) and server.can_find
    return "" if never_arrived else "the server returned no id for it and does not find it"
