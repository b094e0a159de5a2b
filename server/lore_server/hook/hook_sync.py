"""One run of the hook: find, compare, deliver, note down; under a lock, so that of two runs each sends what is left."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
from filelock import FileLock, Timeout

from lore_etl.core.errors import Busy, StorageError
from lore_etl.system.processes import born
from lore_server.hook.courier import Courier
from lore_server.hook.delivery import Connect, Sleep, Task, deliver
from lore_server.hook.folders import find
from lore_server.hook.patience import Patience
from lore_server.hook.plan import UploadPlan, made_plan
from lore_server.hook.state import HINT, make_folder, read_state
from lore_server.hook.tally import Tally
from lore_server.hook.wanted import UploadRequest

log = logging.getLogger(__name__)
LOCK_SECONDS = 120.0


async def sync(
    wanted: UploadRequest,
    connect: Connect,
    tell: Callable[[Tally], None],
    patience: Patience | None = None,
    sleep: Sleep = anyio.sleep,
) -> Tally:
    """Bring a server up to date with the memory files; `tell` hears how far it is.

    Raises:
        Busy: another run holds the lock for long.
        StorageError: the state cannot be written; then nothing more is sent.
    """
    with _locked(wanted.state):
        state = read_state(wanted.state)
        if state.is_damaged:
            log.warning("the sync state was damaged and is put aside: every memory is looked for before it is sent")
            state.put_aside()
        plan = made_plan(find(wanted.folders), state, wanted.everything, wanted.most)
        tally = plan.tally
        for one in plan.complaints:
            log.warning("%s", one)
        for left in plan.left_out:
            log.info("%s is left out: %s", left.source, left.reason)
        state.server, state.last = wanted.server, {"pid": os.getpid(), "born": born(os.getpid()) or "", "began": _now()}
        state.save()
        tasks = deque(_tasks(plan, Courier(state, tally, wanted.everything)))
        is_up = await deliver(tasks, connect, patience or Patience(), sleep, lambda: tell(tally))
        tally.failed += tally.waiting - plan.waiting  # who was not reached
        state.last |= {"ended": _now(), "answered": is_up, **tally.told()}
        state.save()
    tell(tally)
    return tally


def _tasks(plan: UploadPlan, courier: Courier) -> Iterator[Task]:
    """Moves come first: what a moved file says must not go with its old place."""
    for file, twin in plan.moved:
        yield Task(partial(courier.adopt, file=file, twin=twin), partial(courier.give_up, file))
    for file in plan.send:
        yield Task(partial(courier.send, file=file), partial(courier.give_up, file))
    for path in plan.gone:
        yield Task(partial(courier.remove, path=path), partial(log.warning, "%s: %s", path))


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    """The only run for this server. Raises Busy, StorageError."""
    try:
        make_folder(state.parent)
        lock = FileLock(state.with_name(f"{state.name}.lock"), mode=0o600)
        with lock.acquire(timeout=LOCK_SECONDS):
            yield
    except Timeout as error:
        raise Busy(
            "Another run of the hook goes on.", "It does what is to be done; `--status` shows how far."
        ) from error
    except OSError as error:
        raise StorageError(f"The sync state cannot be written: {error.strerror}.", HINT) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
