"""All entries, built from the index."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from lore_etl.digest import Digest
from lore_etl.index import Index
from lore_etl.stores.catalogue import FileRow
from lore_etl.stores.snapshot import Derived
from lore_server.framework.groups import PATTERNS, PRPS, Group
from lore_server.framework.view_entry import ViewEntry, entries_of, other_keys

SOURCES = ("patterns", "examples", "prps", "memories", "rules")  # sources of the index whose files have a digest

COMMON = frozenset({"readme", "index", "main", "__init__", "conftest", "template"})  # not specific to any pattern


@dataclass(frozen=True)
class Entries:
    """A snapshot of the view, by group, path and line. `unknown` files must be synced by this version first."""

    all: tuple[ViewEntry, ...] = ()
    unknown: int = 0

    @cached_property
    def by_path(self) -> Mapping[str, tuple[ViewEntry, ...]]:
        """Return path -> its entries, which are several if a file contains rules."""
        found: dict[str, list[ViewEntry]] = defaultdict(list)
        for entry in self.all:
            found[entry.path].append(entry)
        return {path: tuple(entries) for path, entries in found.items()}

    @cached_property
    def by_group(self) -> Mapping[Group, tuple[ViewEntry, ...]]:
        """Return every group with its entries, including empty groups."""
        return {group: tuple(entry for entry in self.all if entry.group is group) for group in Group}


@dataclass(frozen=True)
class _File:
    """A file in the catalogue, and its entries."""

    row: FileRow
    entries: tuple[ViewEntry, ...] = ()
    is_known: bool = False


ENTRIES = Derived[Entries]("entries of the view")


class View:
    """A reader of the catalogue. The entries of unchanged files are kept, so that a change costs little."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._guard = threading.Lock()
        self._files: dict[str, _File] = {}
        self._entries = Entries()

    def entries(self) -> Entries:
        """Return the current entries; a new object whenever any of them changed.

        Raises:
            IndexMissing: nothing has been indexed.
            CatalogueDamaged: the catalogue cannot be read.
        """
        self._index.require()
        with self._guard:
            self._entries = self._index.snapshot.read(ENTRIES, None, self._read)
            return self._entries

    def _read(self) -> Entries:
        catalogue, old = self._index.catalogue, self._files
        rows = catalogue.files_of(SOURCES)
        kept = {path: old[path] for path, row in rows.items() if path in old and old[path].row == row}
        if len(kept) == len(old) == len(rows):
            return self._entries
        for path, facts in catalogue.facts(rows.keys() - kept.keys()).items():
            kept[path] = _read_file(rows[path], facts)
        self._files = kept
        return _arranged(kept[path] for path in sorted(kept))


def _read_file(row: FileRow, facts: str) -> _File:
    known = json.loads(facts).get("digest")
    if known is None:
        return _File(row)
    return _File(row, tuple(entries_of(row, Digest.model_validate(known))), is_known=True)


def _arranged(files: Iterable[_File]) -> Entries:
    grouped: dict[Group, dict[str, ViewEntry]] = {group: {} for group in Group}
    unknown = 0
    for file in files:
        unknown += not file.is_known
        for entry in file.entries:
            _put(grouped[entry.group], entry)
    prps = [entry for group in PRPS for entry in grouped[group].values()]
    named = references((entry for group in PATTERNS for entry in grouped[group].values()), prps)
    for group in PATTERNS:
        for key, found in grouped[group].items():
            grouped[group][key] = replace(found, referenced_by=named.get(found.path, ()))
    return Entries(tuple(entry for group in Group for entry in grouped[group].values()), unknown)


def _put(entries: dict[str, ViewEntry], entry: ViewEntry) -> None:
    """Add an entry under its key, or under the first free alternative if two files share a name."""
    if entry.key in entries:
        *others, last = other_keys(entry)
        key = next((other for other in others if other not in entries), last)
        entry = replace(entry, key=key)
    entries[entry.key] = entry


def references(patterns: Iterable[ViewEntry], prps: Iterable[ViewEntry]) -> Mapping[str, tuple[str, ...]]:
    """Return the path of each pattern -> the ids of the PRPs that mention it, in order.

    A PRP mentions a pattern by its path, by the end of the path from any folder on, or by its file name. The
    extension is optional.
    """
    meant: dict[str, list[str]] = defaultdict(list)
    for pattern in patterns:
        for name in _names(pattern.path):
            meant[name].append(pattern.path)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for prp in prps:
        words = prp.spec.names.split(" ") if prp.spec else ()
        for word in words:
            for path in meant.get(word, ()):
                found[path][prp.key] = None
    return {path: tuple(ids) for path, ids in found.items()}


def endings(path: str) -> Iterator[str]:
    """Yield the path and its endings at each folder, any of which may refer to the file."""
    parts = path.split("/")
    for start in range(len(parts) - 1):
        yield "/".join(parts[start:])


def _names(path: str) -> Iterator[str]:
    file = PurePosixPath(path)
    for ending in endings(path):
        yield ending
        yield ending.removesuffix(file.suffix)
    if file.stem.lower() not in COMMON:
        yield file.name
        yield file.stem
