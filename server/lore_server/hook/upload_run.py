"""One run of the hook: plan, upload and record, under a lock, with retries if the server fails."""

import logging
import os
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
from filelock import FileLock, Timeout

from lore_etl.core.atomic import remove_temporary
from lore_etl.core.dates import timestamp
from lore_etl.core.errors import Busy, StorageError
from lore_etl.system.processes import born
from lore_server.hook.knowledge_server import KnowledgeServer, MemoryRefused, ServerUnreachable, ServerUnusable
from lore_server.hook.memory_files import (
    Episode,
    MemoryFile,
    UnreadableMemory,
    digest_of,
    read_episode,
    read_memory_file,
    skip_reason,
    split_episode,
)
from lore_server.hook.upload_state import (
    HINT,
    Tally,
    UploadedFile,
    UploadRequest,
    UploadState,
    make_folder,
    make_plan,
    read_state,
)

log = logging.getLogger(__name__)
Connect = Callable[[], AbstractAsyncContextManager[KnowledgeServer]]
LOCK_SECONDS = 120.0


class Task(NamedTuple):
    """A repeatable step, and the function to call if it is abandoned."""

    run: Callable[[KnowledgeServer], Awaitable[None]]
    give_up: Callable[[str], None]


@dataclass
class RetryPolicy:
    """Exponential backoff with jitter, so that hooks that failed together do not retry together."""

    attempts: int = 5
    first: float = 0.5
    longest: float = 8.0
    max_retry_after: float = 60.0
    jitter: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    _failures: int = 0

    def pause_after(self, failure: ServerUnreachable) -> float | None:
        """Return the seconds until the next attempt; None if there is no further attempt."""
        self._failures += 1
        if self._failures >= self.attempts or failure.retry_after > self.max_retry_after:
            return None
        pause: float = min(self.longest, self.first * 2 ** (self._failures - 1))
        return max(failure.retry_after, pause * (0.75 + self.jitter() / 2))

    def reset(self) -> None:
        self._failures = 0


async def upload(request: UploadRequest, connect: Connect, retries: RetryPolicy | None = None) -> Tally:
    """Update a server to match the memory files. Raises Busy, and StorageError: what cannot be recorded is not sent."""
    with _lock(request.state_file):
        remove_temporary(request.state_file)
        state = read_state(request.state_file)
        if state.is_damaged:
            log.warning("the sync state cannot be read and was renamed: every memory is searched for before it is sent")
            state.put_aside()
        plan = make_plan(request, state)
        tally = plan.tally
        for warning in plan.warnings:
            log.warning("%s", warning)
        for note in plan.notes:
            log.info("%s", note)
        state.server = request.server
        began = {"pid": os.getpid(), "born": born(os.getpid()) or "", "began": timestamp()}

        def record(**end: str | bool) -> None:
            state.last = {**began, **tally.as_dict(), **end}
            state.save()

        record()
        uploader = Uploader(state, tally)
        tasks = deque(Task(partial(uploader.send, file=file), partial(uploader.give_up, file)) for file in plan.send)
        tasks += [Task(partial(uploader.remove, path=path), partial(log.warning, "%s: %s", path)) for path in plan.gone]
        answered = await deliver(tasks, connect, retries or RetryPolicy(), record)
        tally.failed += tally.waiting - plan.waiting  # files not reached
        record(ended=timestamp(), answered=answered)
    return tally


async def deliver(tasks: deque[Task], connect: Connect, retries: RetryPolicy, done: Callable[[], None]) -> bool:
    """Run the tasks in order, reconnect after failures, and return whether the server answered to the end.

    A task that fails every attempt is abandoned, so as not to block the rest; if the next fails too, the run ends.
    """
    gave_up = False
    while tasks:
        is_connected = False
        try:
            async with connect() as server:
                is_connected = True
                while tasks:
                    await tasks[0].run(server)
                    tasks.popleft()
                    retries.reset()
                    gave_up = False
                    done()
        except ServerUnusable as error:
            log.warning("%s %s", error.message, error.hint)
            return False
        except ServerUnreachable as error:
            if (pause := retries.pause_after(error)) is not None:
                log.info("request failed: %s; retrying in %.1f s", error.message, pause)
                await retries.sleep(pause)
            elif is_connected and not gave_up:
                tasks.popleft().give_up(f"not sent: {error.message}")
                retries.reset()
                gave_up = True
            else:
                log.warning("MCP server offline after retries: %s", error.message)
                return False
    return True


@contextmanager
def _lock(state_file: Path) -> Iterator[None]:
    try:
        make_folder(state_file.parent)
        with FileLock(state_file.with_name(f"{state_file.name}.lock"), mode=0o600).acquire(timeout=LOCK_SECONDS):
            yield
    except Timeout as error:
        raise Busy("Another run of the hook is still running.", "`--status` shows its progress.") from error
    except OSError as error:
        raise StorageError(f"Cannot write the sync state: {error.strerror}.", HINT) from error


class Uploader:
    """Sends files and deletes obsolete copies. Steps that raise ServerUnreachable or StorageError can be repeated."""

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
        digest = digest_of(file, data)
        if skip_reason(data) or digest in self._sent:  # it may have been changed after the plan was made
            self._tally.skipped += 1
            return
        try:
            episode, notes = read_episode(file, data)
            await self._replace(server, file, digest, episode)
        except MemoryRefused as error:
            self.give_up(file, error.message)
            return
        self._sent.add(digest)
        self._tally.succeeded += 1
        for note in notes:
            log.warning("%s: %s", file.label, note)
        log.info("sent %s", file.label)

    async def remove(self, server: KnowledgeServer, path: str) -> None:
        entry = self._state.files[path]
        copies = await self._copies(server, path)
        self._state.put(path, replace(entry, ids=copies, is_complete=False))
        await self._delete(server, path, path, copies)
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
        kind = str(episode.metadata.get("capture_type", ""))
        entry = UploadedFile(digest, file.group, capture_type=kind)
        earlier = await self._copies(server, file.path, entry)
        own = [memory for memory in earlier if not self._state.is_shared(memory, file.path)] if server.replaces else []
        sent = list[str]()
        for part in split_episode(episode, *server.limits):
            self._state.put(file.path, replace(entry, ids=(*earlier, *sent)))  # if the reply is lost, it is looked for
            sent.append(await server.add(part, own[0] if own and not sent else ""))
        self._state.put(file.path, replace(entry, ids=(*earlier, *sent)))
        self._tally.removed += len({*own[:1]} - {*sent})
        await self._delete(server, file.path, file.label, [each for each in earlier if each not in {*sent, *own[:1]}])
        self._state.put(file.path, replace(entry, ids=tuple(sent), is_complete=True, synced_at=timestamp()))

    async def _copies(self, server: KnowledgeServer, path: str, new: UploadedFile | None = None) -> tuple[str, ...]:
        """Return the ids of the file's copies on the server; those without a recorded id are found by their mark."""
        entry = self._state.files.get(path)
        if entry is None and new is not None and self._state.is_damaged:
            entry = new
        if entry is None:
            return ()
        is_known = entry.is_complete and "" not in entry.ids
        found = [] if is_known else await server.find(entry.digest, entry.group)
        return tuple(dict.fromkeys([*filter(None, entry.ids), *found]))

    async def _delete(self, server: KnowledgeServer, path: str, label: str, copies: Sequence[str]) -> None:
        """Delete copies of a file, except those that another file has. One that the server keeps is only reported."""
        for memory in copies:
            if self._state.is_shared(memory, path):
                continue
            try:
                await server.delete(memory)
                self._tally.removed += 1
            except MemoryRefused as error:
                log.warning("%s: an old copy stays on the server (%s): %s", label, memory, error.message)
