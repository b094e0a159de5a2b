"""Compare the memory files with the state of the last sync, and decide what to upload."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from lore_server.hook.episode import digest_of, skip_reason
from lore_server.hook.memory_folders import (
    FoundFiles,
    MemoryFile,
    UnreadableMemory,
    find_memory_files,
    read_memory_file,
)
from lore_server.hook.upload_state import Tally, UploadState

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
    """The files to `send`, in order; paths of deleted files (`gone`).

    The tally counts the files that need no upload. `waiting` is the number of files above the limit.
    """

    tally: Tally
    warnings: list[str]
    send: list[MemoryFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: int = 0


def make_plan(request: UploadRequest, state: UploadState) -> UploadPlan:
    """Find the files and compare them with the state."""
    return plan_for(find_memory_files(request.folders), state, request.everything, request.limit)


def plan_for(found: FoundFiles, state: UploadState, everything: bool = False, limit: int = 0) -> UploadPlan:
    """Compare the files with the state. With `everything`, unchanged files are sent again."""
    plan = UploadPlan(Tally(len(found.files)), list(found.problems))
    wanted, digests = list[MemoryFile](), dict[str, str]()
    for file in found.files.values():
        try:
            data = read_memory_file(file)
        except UnreadableMemory as error:
            plan.tally.failed += 1
            plan.warnings.append(f"{file.label}: {error}")
            continue
        digests[file.path] = digest_of(file, data)
        if reason := skip_reason(data):
            plan.tally.skipped += 1
            plan.notes.append(f"{file.label} is skipped: {reason}")
        else:
            wanted.append(file)
    known = set() if everything else _known(state, digests)
    to_send = [file for file in wanted if digests[file.path] not in known]
    plan.tally.skipped += len(wanted) - len(to_send)
    plan.gone += _gone(found, state, {*digests.values()}, everything, plan.warnings)
    ordered = in_turns(to_send, {path for path, entry in state.files.items() if entry.failure})
    plan.send = ordered[: limit or None]
    plan.waiting = len(ordered) - len(plan.send)
    return plan


def _known(state: UploadState, digests: dict[str, str]) -> set[str]:
    """Return the contents that the server has and keeps: the copy of a changed file is about to be replaced."""
    complete = ((path, entry.digest) for path, entry in state.files.items() if entry.is_complete)
    return {digest for path, digest in complete if digests.get(path, digest) == digest}


def _gone(
    found: FoundFiles, state: UploadState, present: set[str], everything: bool, warnings: list[str]
) -> Iterator[str]:
    """Yield the paths of deleted files whose content is nowhere else, except those of a folder that was emptied."""
    for folder in dict.fromkeys(found.complete):
        known = [path for path in state.files if path.startswith(folder.rstrip(os.sep) + os.sep)]
        gone = [path for path in known if path not in found.files and state.files[path].digest not in present]
        if len(gone) == len(known) >= GUARDED and not everything:
            name = PurePath(folder).name
            warnings.append(
                f"{name}: all its {len(gone)} memory files are gone; use --all to remove them from the server"
            )
        else:
            yield from gone


def in_turns(files: Iterable[MemoryFile], failed: Container[str]) -> list[MemoryFile]:
    """Return the files sorted: folders take turns, newest files first; files that failed before come last."""
    turns, seen = list[tuple[bool, int, MemoryFile]](), Counter[tuple[bool, tuple[str, ...]]]()
    for file in sorted(files, key=lambda file: (-file.modified_ns, file.path)):
        line = (file.path in failed, PurePath(file.label).parent.parts[:2])
        turns.append((line[0], seen[line], file))
        seen[line] += 1
    return [file for *_, file in sorted(turns, key=lambda turn: turn[:2])]
