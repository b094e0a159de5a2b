"""Carries memories to a server one after the other; each step is noted down before the next is taken."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lore_server.hook.episode import MARK_DIGITS, Episode, digest_of, parts, read_episode
from lore_server.hook.failures import Unreachable, UploadRefused
from lore_server.hook.folders import MemoryFile
from lore_server.hook.knowledge_server import KnowledgeServer
from lore_server.hook.plan import UnreadableMemory, content
from lore_server.hook.state import SyncState, UploadedFile
from lore_server.hook.tally import Tally

log = logging.getLogger(__name__)
MARKED = "mark:"
"""Begins what stands for the id of a memory whose server told none: by its mark it can be found again."""


class Courier:
    """Sends and removes. Every step may raise Unreachable, Unwilling and StorageError, and can be repeated then.

    With `everything`, what the server has is sent again, each content once.
    """

    def __init__(self, state: SyncState, tally: Tally, everything: bool = False) -> None:
        self._state, self._tally = state, tally
        known = () if everything else state.files.values()
        self._known = {entry.digest: entry for entry in known if entry.is_whole}

    async def send(self, server: KnowledgeServer, file: MemoryFile) -> None:
        """Send a file as it is now, and remove what it said before."""
        try:
            data = content(file)
        except UnreadableMemory as error:
            self.give_up(file, str(error))
            return
        reading, digest = read_episode(file, data), digest_of(file, data)
        if reading.episode is None:
            self._tally.skipped += 1  # it changed since it was looked at
            return
        if digest in self._known:
            await self.adopt(server, file, self._known[digest])
            return
        try:
            entry = await self._sent(server, file, digest, reading.episode)
        except UploadRefused as error:
            self.give_up(file, error.message)
            return
        self._known[digest] = entry
        self._tally.succeeded += 1
        for note in reading.notes:
            log.warning("%s: %s", file.label, note)
        log.info("sent %s in %d part%s", file.label, entry.parts, "s" * (entry.parts > 1))
        await self._clean(server, file.path)

    async def adopt(self, server: KnowledgeServer, file: MemoryFile, twin: UploadedFile) -> None:
        """The server has this content from another file: it is now this one's as well, or instead."""
        stale = self._left_behind(file.path, twin.ids)
        files = self._state.files
        for path in [path for path, entry in files.items() if entry.digest == twin.digest and entry.is_whole]:
            if path != file.path and not Path(path).exists():  # a whole folder may have moved, which nobody looks into
                stale = (*stale, *files.pop(path).stale)
        self._state.put(file.path, replace(twin, stale=stale, is_unsure=False, failure=""))
        self._tally.skipped += 1
        log.info("%s: the server has it", file.label)
        await self._clean(server, file.path)

    async def remove(self, server: KnowledgeServer, path: str) -> None:
        """Remove all that the server has of a file, and forget the file."""
        entry = self._state.files.get(path)
        if entry is None:
            return  # it moved
        next_one = [MARKED + _mark(entry)] if entry.is_unsure else []
        all_ids = (*entry.ids, *next_one, *entry.stale)
        self._state.put(path, replace(entry, ids=(), parts=0, stale=all_ids, is_unsure=False))
        await self._clean(server, path)
        self._state.drop(path)

    def give_up(self, file: MemoryFile, reason: str) -> None:
        """Count a file as failed; next time it is sent after all others."""
        self._tally.failed += 1
        log.warning("%s: %s", file.label, reason)
        entry = self._state.files.get(file.path)
        self._state.put(file.path, replace(entry or UploadedFile("", file.group), failure=reason))

    async def _sent(self, server: KnowledgeServer, file: MemoryFile, digest: str, episode: Episode) -> UploadedFile:
        """The file's entry after all of its parts have arrived."""
        pieces = parts(episode, *server.limits)
        entry = self._state.files.get(file.path)
        if entry is None or entry.is_whole or (entry.digest, entry.parts) != (digest, len(pieces)):
            stale = self._left_behind(file.path, ())
            kind = str(episode.metadata.get("capture_type", ""))
            entry = UploadedFile(digest, file.group, parts=len(pieces), stale=stale, capture_type=kind)
        for piece in pieces[len(entry.ids) :]:
            entry = await self._step(server, file.path, replace(entry, failure=""), piece)
        return entry

    async def _step(self, server: KnowledgeServer, path: str, entry: UploadedFile, piece: Episode) -> UploadedFile:
        """Send one part, unless it is there: whoever died on the way, or heard no answer, cannot know."""
        found, is_replaced, replaces = "", False, ""
        if entry.is_unsure or self._state.is_damaged:
            found = await server.find(piece.mark, piece.group_id, piece.name)
        if not found:
            self._state.put(path, replace(entry, is_unsure=True))
            unused = self._state.unused(entry.stale)
            replaces = unused[0] if len(unused) == 1 and not entry.ids else ""
            try:
                found, is_replaced = await server.add(piece, replaces)
            except Unreachable as error:
                self._state.put(path, replace(entry, is_unsure=error.is_unsure or entry.is_unsure))
                raise
            except UploadRefused:
                self._state.put(path, replace(entry, is_unsure=False))
                raise
        stale = tuple(one for one in entry.stale if not (is_replaced and one == replaces))
        self._tally.removed += is_replaced and found != replaces
        ids, now = (*entry.ids, found or MARKED + piece.mark), datetime.now(UTC).isoformat(timespec="seconds")
        entry = replace(entry, ids=ids, stale=stale, is_unsure=False, synced_at=now)
        self._state.files[path] = entry  # written with what is noted before the next part, or at the end
        return entry

    async def _clean(self, server: KnowledgeServer, path: str) -> None:
        """Remove what is left of earlier versions, unless another file says the same."""
        while (entry := self._state.files[path]).stale:
            first, *others = entry.stale
            if self._state.unused([first]):
                await self._delete(server, path, first, entry.group)
            self._state.put(path, replace(entry, stale=tuple(others)))

    async def _delete(self, server: KnowledgeServer, path: str, memory: str, group: str) -> None:
        self._known = {digest: entry for digest, entry in self._known.items() if memory not in entry.ids}
        if not server.can_delete:
            self._orphan(path, memory, "the server has no tool to delete it")
            return
        found = memory
        if memory.startswith(MARKED):
            mark = memory.removeprefix(MARKED)
            found = await server.find(mark, group, mark)
        if not found:
            self._orphan(path, memory, "the server told no id for it and does not find it")
            return
        try:
            await server.delete(found)
        except UploadRefused as error:
            self._orphan(path, memory, error.message)
        else:
            self._tally.removed += 1

    def _orphan(self, path: str, memory: str, reason: str) -> None:
        """Remember a memory that should go and stays; `put` comes after it."""
        self._state.orphans.append({"path": path, "id": memory, "reason": reason})
        log.warning("%s: an old version stays on the server (%s): %s", path, memory, reason)

    def _left_behind(self, path: str, kept: tuple[str, ...]) -> tuple[str, ...]:
        """What the server has of the file so far, but for what is kept."""
        entry = self._state.files.get(path)
        if entry is None:
            return ()
        maybe = [MARKED + _mark(entry)] if entry.is_unsure else []
        return tuple(one for one in dict.fromkeys((*entry.stale, *entry.ids, *maybe)) if one not in kept)


def _mark(entry: UploadedFile) -> str:
    """That of the part that was sent last."""
    mark = entry.digest[:MARK_DIGITS]
    return mark if entry.parts == 1 else f"{mark}-{len(entry.ids) + 1}"
