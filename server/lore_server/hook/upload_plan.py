"""Compare the memory files with the state of the last sync, and decide what to upload."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path, PurePath

from lore_server.hook.episode import digest_of, skip_reason
from lore_server.hook.memory_folders import (
    FoundFiles,
    MemoryFile,
    UnreadableMemory,
    find_memory_files,
    read_memory_file,
)
from lore_server.hook.upload_state import Tally, UploadedFile, UploadState

GUARDED = 10  # if this many files of a folder disappear together, the disk is probably not mounted


@dataclass(frozen=True)
class UploadRequest:
    """The options of one run; a limit of 0 files means no limit."""

    folders: Sequence[Path]
    state_file: Path
    server: str
    everything: bool = False
    limit: int = 0


@dataclass
class UploadPlan:
    """The files to `send`, in order; `moved` files, whose content the server has; paths of deleted files (`gone`).

    The tally counts the files that need no upload. `waiting` is the number of files above the limit.
    """

    tally: Tally
    warnings: list[str]
    send: list[MemoryFile] = field(default_factory=list)
    moved: list[MemoryFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: int = 0

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to do on the server."""
        return not (self.send or self.moved or self.gone)


def make_plan(request: UploadRequest, state: UploadState) -> UploadPlan:
    """Find the files and compare them with the state."""
    return plan_for(find_memory_files(request.folders), state, request.everything, request.limit)


def plan_for(found: FoundFiles, state: UploadState, everything: bool = False, limit: int = 0) -> UploadPlan:
    """Compare the files with the state. With `everything`, unchanged files are sent again."""
    plan = UploadPlan(Tally(len(found.files)), list(found.problems))
    known = () if everything else state.files.values()
    digests = {entry.digest for entry in known if entry.is_complete}
    for file in found.files.values():
        try:
            _classify(file, plan, state.files.get(file.path), digests)
        except UnreadableMemory as error:
            plan.tally.failed += 1
            plan.warnings.append(f"{file.label}: {error}")
    plan.gone += _gone(found, state, everything, plan)
    ordered = in_turns(plan.send, {path for path, entry in state.files.items() if entry.failure})
    plan.send = ordered[: limit or None]
    plan.waiting = len(ordered) - len(plan.send)
    return plan


def in_turns(files: Sequence[MemoryFile], failed: set[str]) -> list[MemoryFile]:
    """Return the files sorted: sources take turns, newest files first; files that failed before come last."""
    newest = sorted(files, key=lambda file: (-file.modified_ns, file.path))
    fresh = [file for file in newest if file.path not in failed]
    again = [file for file in newest if file.path in failed]
    return [*_turns(fresh), *_turns(again)]


def _turns(files: Sequence[MemoryFile]) -> Iterator[MemoryFile]:
    sources = defaultdict[str, list[MemoryFile]](list)
    for file in files:
        sources[file.source].append(file)
    for turn in zip_longest(*sources.values()):
        yield from (file for file in turn if file is not None)


def _classify(file: MemoryFile, plan: UploadPlan, entry: UploadedFile | None, digests: set[str]) -> None:
    """Add one file to the plan. Raises UnreadableMemory."""
    data = read_memory_file(file)
    digest = digest_of(file, data)
    is_same = entry is not None and entry.digest == digest
    if entry and is_same and digest in digests and entry.is_complete and not entry.stale:
        plan.tally.skipped += 1
    elif reason := skip_reason(data):
        plan.tally.skipped += 1
        plan.notes.append(f"{file.label} is skipped: {reason}")
        plan.gone += [file.path] if entry else []  # an earlier version was sent
    elif digest in digests and not is_same:
        plan.moved.append(file)
    else:
        plan.send.append(file)


def _gone(found: FoundFiles, state: UploadState, everything: bool, plan: UploadPlan) -> Iterator[str]:
    """Yield the paths of deleted files, except those of a folder in which all of at least GUARDED files disappeared."""
    for folder in dict.fromkeys(found.complete):
        known = [path for path in state.files if path.startswith(folder.rstrip(os.sep) + os.sep)]
        gone = [path for path in known if path not in found.files]
        if len(gone) == len(known) >= GUARDED and not everything:
            plan.warnings.append(
                f"{PurePath(folder).name}: all its {len(gone)} memory files are gone; "
                "use --all to remove them from the server"
            )
        else:
            yield from gone
