"""Record what clients do and see while an index changes, and check it afterwards, in the manner of Jepsen.

Each edit replaces a file by its next version, and the text contains the version, so each passage tells its own.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

FRESH = "fresh"


class Edit(NamedTuple):
    """The replacement of a file by a version. All times are seconds of one clock."""

    start: float
    end: float
    file: str
    version: int


class Read(NamedTuple):
    """A search that was answered: the state in its freshness, and the versions that it shows of each file."""

    start: float
    end: float
    state: str
    shown: Mapping[str, frozenset[int]]


class Sync(NamedTuple):
    """A sync that was acknowledged."""

    start: float
    end: float


class Write(NamedTuple):
    """A document or memory whose write was acknowledged."""

    start: float
    end: float
    name: str


class Listing(NamedTuple):
    """A list of the written documents or memories."""

    start: float
    end: float
    names: frozenset[str]


@dataclass
class History:
    """All events of one run. Attempts without an answer are not in it: their effect is unknown."""

    files: frozenset[str]
    edits: list[Edit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)


def violations(history: History) -> list[str]:
    """Return each broken promise of a history in words."""
    return [*_lies(history), *_steps_back(history), *_forgotten_syncs(history), *_lost_writes(history)]


def _lies(history: History) -> Iterator[str]:
    """Yield the fresh reads that miss a file, or whose versions were not the files' at one moment of the read."""
    edits = defaultdict[str, list[Edit]](list)
    for edit in history.edits:
        edits[edit.file].append(edit)
    present = dict[tuple[str, int], tuple[float, float]]()
    for file, own in edits.items():
        for edit, following in zip(own, [*own[1:], None], strict=True):
            present[file, edit.version] = edit.start, following.end if following else math.inf
    for read in history.reads:
        if read.state != FRESH:
            continue
        if missing := history.files - read.shown.keys():
            yield f"a fresh read misses {sorted(missing)}: {read}"
        spans = [
            present.get((file, version), (math.inf, -math.inf))
            for file, versions in read.shown.items()
            for version in versions
        ]
        first = max([read.start, *(start for start, _ in spans)])
        last = min([read.end, *(end for _, end in spans)])
        if first > last:
            yield f"a fresh read shows what the files never were during it: {read}"


def _steps_back(history: History) -> Iterator[str]:
    """Yield the fresh reads that show an older version than a read that had ended before they began."""
    seen = dict[str, int]()
    ended = iter(sorted(history.reads, key=lambda read: read.end))
    earlier = next(ended, None)
    for read in sorted(history.reads, key=lambda read: read.start):
        while earlier is not None and earlier.end < read.start:
            for file, versions in earlier.shown.items():
                seen[file] = max(seen.get(file, 0), *versions)
            earlier = next(ended, None)
        older = {file for file, versions in read.shown.items() if min(versions) < seen.get(file, 0)}
        if read.state == FRESH and older:
            yield f"a fresh read goes back in {sorted(older)}: {read}"


def _forgotten_syncs(history: History) -> Iterator[str]:
    """Yield the reads that do not show what a sync that had ended before they began must have found."""
    for read in history.reads:
        for sync in history.syncs:
            if sync.end >= read.start:
                continue
            due = {edit.file: edit.version for edit in history.edits if edit.end < sync.start}
            if behind := {file for file, versions in read.shown.items() if min(versions) < due.get(file, 0)}:
                yield f"a read after {sync} shows older versions of {sorted(behind)}: {read}"


def _lost_writes(history: History) -> Iterator[str]:
    for listing in history.listings:
        due = {write.name for write in history.writes if write.end < listing.start}
        if lost := due - listing.names:
            yield f"a list misses {sorted(lost)}: {listing}"
