"""One run of the hook: plan, upload and record, under a lock, with retries if the server fails."""

from __future__ import annotations

import logging
import os
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
from filelock import FileLock, Timeout

from lore_etl.core.clock import timestamp
from lore_etl.core.errors import Busy, StorageError
from lore_etl.system.processes import born
from lore_server.hook.knowledge_server import KnowledgeServer, ServerUnreachable, ServerUnusable
from lore_server.hook.upload_plan import UploadPlan, UploadRequest, make_plan
from lore_server.hook.upload_state import HINT, Tally, make_folder, read_state
from lore_server.hook.uploader import Uploader

log = logging.getLogger(__name__)
Connect = Callable[[], AbstractAsyncContextManager[KnowledgeServer]]
LOCK_SECONDS = 120.0


class Task(NamedTuple):
    """A repeatable step, and the function to call if it is abandoned."""

    run: Callable[[KnowledgeServer], Awaitable[None]]
    give_up: Callable[[str], None]


@dataclass
class RetryPolicy:
    """Exponential backoff with jitter, so that hooks which failed together do not retry together.

    A server's own `Retry-After` is obeyed up to `max_retry_after` seconds.
    """

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
        """Count failures from zero: an attempt succeeded."""
        self._failures = 0


async def upload(request: UploadRequest, connect: Connect, retries: RetryPolicy | None = None) -> Tally:
    """Update a server to match the memory files; the state has the progress.

    Raises:
        Busy: another run holds the lock for too long.
        StorageError: the state cannot be written, so nothing more is sent.
    """
    with _locked(request.state_file):
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

        def record() -> None:
            state.last = {**began, **tally.as_dict()}
            state.save()

        record()
        tasks = deque(_tasks(plan, Uploader(state, tally)))
        answered = await deliver(tasks, connect, retries or RetryPolicy(), record)
        tally.failed += tally.waiting - plan.waiting  # files not reached
        state.last = {**began, **tally.as_dict(), "ended": timestamp(), "answered": answered}
        state.save()
    return tally


async def deliver(tasks: deque[Task], connect: Connect, retries: RetryPolicy, done: Callable[[], None]) -> bool:
    """Run the tasks in order and call `done` after each; reconnect after a failure.

    A task that fails every attempt is abandoned so that it does not block the rest; if the next one fails as often, the
    run abandons the server. Return whether the server answered to the end; if not, the remaining tasks were not
    attempted.
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


def _tasks(plan: UploadPlan, uploader: Uploader) -> Iterator[Task]:
    for file in plan.send:
        yield Task(partial(uploader.send, file=file), partial(uploader.give_up, file))
    for path in plan.gone:
        yield Task(partial(uploader.remove, path=path), partial(log.warning, "%s: %s", path))


@contextmanager
def _locked(state_file: Path) -> Iterator[None]:
    """Hold the lock of this server's state. Raises Busy, StorageError."""
    try:
        make_folder(state_file.parent)
        with FileLock(state_file.with_name(f"{state_file.name}.lock"), mode=0o600).acquire(timeout=LOCK_SECONDS):
            yield
    except Timeout as error:
        raise Busy("Another run of the hook is still running.", "`--status` shows its progress.") from error
    except OSError as error:
        raise StorageError(f"Cannot write the sync state: {error.strerror}.", HINT) from error
