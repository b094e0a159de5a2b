"""Record the memories on a knowledge server in a JSON file, and decide which memory files to upload."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePath
from typing import Any, Literal

from pydantic import BaseModel

from lore_etl.core.atomic import put_aside, write_atomically
from lore_etl.core.errors import StorageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_server.hook.memory_files import (
    FoundFiles,
    MemoryFile,
    UnreadableMemory,
    digest_of,
    find_memory_files,
    read_memory_file,
    skip_reason,
)

GUARDED = 10  # if this many files of a folder disappear together, the disk is probably not mounted
HINT = "Check the permissions and the free space of `hook` in LORE_HOME: nothing is sent that cannot be recorded."


@dataclass(frozen=True)
class UploadedFile:
    """The server's copies of a file, by the ids of their parts; an id is empty if the server returned none.

    Until `is_complete`, the copies include earlier ones that are to be deleted, and may lack one whose reply was lost.
    """

    digest: str
    group: str
    ids: tuple[str, ...] = ()
    is_complete: bool = False
    failure: str = ""
    capture_type: str = ""
    synced_at: str = ""


class _Stored(BaseModel):
    version: Literal[3]
    server: str
    last: JSON
    files: dict[str, UploadedFile]


@dataclass
class Tally:
    """The numbers of files found, of their outcomes, and of earlier copies removed from the server."""

    found: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    removed: int = 0

    @property
    def processed(self) -> int:
        return self.succeeded + self.failed + self.skipped

    @property
    def waiting(self) -> int:
        return self.found - self.processed

    def as_dict(self) -> dict[str, int]:
        return {**asdict(self), "processed": self.processed, "waiting": self.waiting}

    @classmethod
    def of(cls, numbers: Mapping[str, Any]) -> Tally:
        return cls(**{each.name: int(numbers[each.name]) for each in fields(cls)})

    def __str__(self) -> str:
        numbers = self.as_dict()
        always = [f"{numbers[name]} {name}" for name in ("processed", "succeeded", "failed", "skipped")]
        return ", ".join([*always, *(f"{numbers[name]} {name}" for name in ("removed", "waiting") if numbers[name])])


@dataclass
class UploadState:
    """The files by absolute path, and the last run; if it `is_damaged`, the server may already have any memory."""

    path: Path
    server: str = ""
    files: dict[str, UploadedFile] = field(default_factory=dict)
    last: JSON = field(default_factory=dict)
    is_damaged: bool = False

    def put(self, path: str, entry: UploadedFile) -> None:
        self.files[path] = entry
        self.save()

    def save(self) -> None:
        stored = _Stored(version=3, server=self.server, last=self.last, files=self.files)
        write_atomically(self.path, [stored.model_dump_json()], HINT)

    def put_aside(self) -> None:
        with os_errors_as(StorageError, "Cannot rename the damaged sync state", HINT):
            put_aside(self.path)

    def is_shared(self, memory: str, path: str) -> bool:
        return any(memory in entry.ids for other, entry in self.files.items() if other != path)


def make_folder(folder: Path) -> None:
    """Create the folder for states and logs: in the knowledge folder, ignored by its git. Raises StorageError."""
    ignore = folder / ".gitignore"
    with os_errors_as(StorageError, "Cannot write to the folder of the hook", HINT):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not ignore.exists():
            ignore.write_text("# Written by Lore: records of this machine.\n*\n", encoding="utf-8")


def read_state(path: Path) -> UploadState:
    """Return the recorded state: empty if there is none, marked as damaged if it cannot be read."""
    try:
        stored = _Stored.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return UploadState(path)
    except (OSError, ValueError):
        return UploadState(path, is_damaged=True)
    return UploadState(path, stored.server, stored.files, stored.last)


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
    """The files to `send`, in order, the paths of deleted ones, and the number `waiting` because of the limit."""

    tally: Tally
    warnings: list[str]
    send: list[MemoryFile] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waiting: int = 0


def make_plan(request: UploadRequest, state: UploadState) -> UploadPlan:
    found, everything = find_memory_files(request.folders), request.everything
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
    _follow_moves(state, digests)
    # the contents that the server has and keeps: the copy of a changed file is about to be replaced
    complete = ((path, entry.digest) for path, entry in state.files.items() if entry.is_complete and not everything)
    known = {digest for path, digest in complete if digests.get(path, digest) == digest}
    to_send = [file for file in wanted if digests[file.path] not in known]
    plan.tally.skipped += len(wanted) - len(to_send)
    plan.gone += _gone(found, state, {*digests.values()}, everything, plan.warnings)
    ordered = in_turns(to_send, {path for path, entry in state.files.items() if entry.failure})
    plan.send = ordered[: request.limit or None]
    plan.waiting = len(ordered) - len(plan.send)
    return plan


def _follow_moves(state: UploadState, digests: Mapping[str, str]) -> None:
    """Give the record of a file that no longer exists to a new one with its content: it or its folder was moved."""
    lost = {entry.digest: path for path, entry in state.files.items() if not os.path.lexists(path)}
    for path, digest in digests.items():
        if path not in state.files and digest in lost:
            state.files[path] = state.files.pop(lost.pop(digest))


def _gone(
    found: FoundFiles, state: UploadState, present: set[str], everything: bool, warnings: list[str]
) -> Iterator[str]:
    """Yield the paths of deleted files whose content is nowhere else, except those of a folder that was emptied."""
    for folder in dict.fromkeys(found.complete):
        known = [path for path in state.files if path.startswith(folder.rstrip(os.sep) + os.sep)]
        gone = [path for path in known if path not in found.files and state.files[path].digest not in present]
        if len(gone) == len(known) >= GUARDED and not everything:
            lost = f"{PurePath(folder).name}: all its {len(gone)} memory files are gone"
            warnings.append(f"{lost}; use --all to remove them from the server")
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
