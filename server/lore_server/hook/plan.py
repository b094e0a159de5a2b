"""What is to be done: the memory files as they are, against the state of the last sync."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePath

from lore_etl.core.model import Problem
from lore_server.hook.episode import digest_of, why_left_out
from lore_server.hook.folders import FoundFiles, MemoryFile
from lore_server.hook.state import SyncState, UploadedFile
from lore_server.hook.tally import Tally

LARGEST_FILE = 20_000_000  # bytes
GUARDED = 10  # files of one folder: that all of them are gone at once looks like a disk that is not there


class UnreadableMemory(Exception):
    """A memory file that cannot be read; the message says why."""


@dataclass
class UploadPlan:
    """`send` in the order of sending, `moved` files whose content the server has, `gone` paths of the state.

    `left_out` need not be sent, `failed` cannot be read, `waiting` are over the limit of one run, `problems` are of
    whole folders.
    """

    send: list[MemoryFile] = field(default_factory=list)
    moved: list[tuple[MemoryFile, UploadedFile]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0
    left_out: list[Problem] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    waiting: int = 0
    problems: list[Problem] = field(default_factory=list)
    found: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the server need not be asked."""
        return not (self.send or self.moved or self.gone)

    @property
    def complaints(self) -> list[str]:
        """What is wrong with folders and files, a line each."""
        return [f"{one.source}: {one.reason}" for one in (*self.problems, *self.failed)]

    @property
    def tally(self) -> Tally:
        """What is settled before the server is asked."""
        return Tally(self.found, failed=len(self.failed), skipped=self.unchanged + len(self.left_out))


def made_plan(found: FoundFiles, state: SyncState, everything: bool = False, most: int = 0) -> UploadPlan:
    """Compare. With `everything`, what did not change is sent again; `most` files are sent, 0 is all of them."""
    plan = UploadPlan(problems=list(found.problems), found=len(found.files))
    known = {entry.digest: entry for entry in state.files.values() if entry.is_whole}
    for file in found.files.values():
        try:
            _judge(file, plan, state.files.get(file.path), {} if everything else known)
        except UnreadableMemory as error:
            plan.failed.append(Problem(file.label, str(error)))
    plan.gone += _gone(found, state, everything, plan)
    ordered = in_turns(plan.send, {path for path, entry in state.files.items() if entry.failure})
    plan.send = ordered[: most or None]
    plan.waiting = len(ordered) - len(plan.send)
    return plan


def content(file: MemoryFile) -> bytes:
    """What the file holds now. Raises Unreadable."""
    try:
        # a link or a FIFO may have been put there since it was found
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UnreadableMemory(f"cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_FILE:
        raise UnreadableMemory(f"has over {LARGEST_FILE:,} bytes")
    return data


def in_turns(files: Sequence[MemoryFile], failed: set[str]) -> list[MemoryFile]:
    """The sources take turns, each with its newest file; what failed before comes after all others."""
    newest = sorted(files, key=lambda one: (-one.modified_ns, one.path))
    fresh, again = ([one for one in newest if (one.path in failed) is late] for late in (False, True))
    return [*_turns(fresh), *_turns(again)]


def _turns(files: Sequence[MemoryFile]) -> Iterator[MemoryFile]:
    sources = defaultdict[str, list[MemoryFile]](list)
    for file in files:
        sources[file.source].append(file)
    for turn in zip_longest(*sources.values()):
        yield from (one for one in turn if one is not None)


def _judge(file: MemoryFile, plan: UploadPlan, entry: UploadedFile | None, known: dict[str, UploadedFile]) -> None:
    """What is to be done about one file. Raises Unreadable."""
    data = content(file)
    digest = digest_of(file, data)
    is_same = entry is not None and entry.digest == digest
    if entry and is_same and digest in known and entry.is_whole and not entry.stale:
        plan.unchanged += 1
        return
    if reason := why_left_out(data):
        plan.left_out.append(Problem(file.label, reason))
        plan.gone += [file.path] if entry else []  # it said something when it was sent
    elif digest in known and not is_same:
        plan.moved.append((file, known[digest]))
    else:
        plan.send.append(file)


def _gone(found: FoundFiles, state: SyncState, everything: bool, plan: UploadPlan) -> Iterator[str]:
    """Paths that are no more, of folders that were seen whole; not all of many at once."""
    for folder in dict.fromkeys(found.whole):
        known = [path for path in state.files if PurePath(path).is_relative_to(folder)]
        gone = [path for path in known if path not in found.files]
        if len(gone) == len(known) >= GUARDED and not everything:
            said = f"all its {len(gone)} memories are gone: nothing is removed from the server without --all"
            plan.problems.append(Problem(PurePath(folder).name, said))
        else:
            yield from gone
