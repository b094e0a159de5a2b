"""All entries, made of what the index holds. Kept until the index changes, and for `docs.cache_seconds` at most."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from etl.digest import Digest
from etl.index import Index
from etl.stores.catalogue import FileRow
from server.docs.entry import Entry, entries_of, other_keys
from server.docs.groups import PATTERNS, PRPS, Group
from server.docs.references import references

SOURCES = ("patterns", "examples", "prps", "memories", "rules")  # of the index: whose files have a digest


@dataclass(frozen=True)
class Entries:
    """The view at one moment, by group, then path, then line. `unknown` files wait for a sync by this version."""

    all: tuple[Entry, ...] = ()
    unknown: int = 0

    @cached_property
    def by_path(self) -> Mapping[str, tuple[Entry, ...]]:
        """Path -> its entries: several where a file holds rules."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.all:
            found[entry.path].append(entry)
        return {path: tuple(entries) for path, entries in found.items()}

    @cached_property
    def by_group(self) -> Mapping[Group, tuple[Entry, ...]]:
        """Every group with its entries, the empty ones too."""
        return {group: tuple(one for one in self.all if one.group is group) for group in Group}

    def of(self, groups: Iterable[Group]) -> Iterator[Entry]:
        """The entries of these groups."""
        for group in groups:
            yield from self.by_group[group]


class View:
    """Reads the catalogue. What it made of a file is kept while the file's content stays, so a change costs little."""

    def __init__(self, index: Index, clock: Callable[[], float] = time.monotonic) -> None:
        self._index = index
        self._seconds = index.settings.docs.cache_seconds
        self._clock = clock
        self._guard = threading.Lock()
        self._digests: dict[str, tuple[str, Digest | None]] = {}
        self._entries = Entries()
        self._state: tuple[str | None, ...] | None = None
        self._until = 0.0

    def entries(self) -> Entries:
        """The entries as the index has them now. Raises IndexMissing, CatalogueDamaged."""
        self._index.require()
        with self._guard:
            catalogue = self._index.catalogue
            state = tuple(catalogue.meta(key) for key in ("loaded", "chunks", "synced_at"))
            if state != self._state or self._clock() >= self._until:
                self._entries = self._read()
                self._state, self._until = state, self._clock() + self._seconds
            return self._entries

    def _read(self) -> Entries:
        rows = self._index.catalogue.files_of(SOURCES)
        self._digests = {path: kept for path, kept in self._digests.items() if path in rows}
        changed = [path for path, row in rows.items() if self._digests.get(path, ("",))[0] != row.hash + row.recipe]
        for path, facts in self._index.catalogue.facts_of(changed).items():
            known = json.loads(facts).get("digest")
            digest = Digest.model_validate(known) if known is not None else None
            self._digests[path] = (rows[path].hash + rows[path].recipe, digest)
        digests = {path: digest for path, (_, digest) in self._digests.items()}
        unknown = sum(1 for path, digest in digests.items() if digest is None)
        return Entries(_arranged(rows, digests), unknown)


def _arranged(rows: Mapping[str, FileRow], digests: Mapping[str, Digest | None]) -> tuple[Entry, ...]:
    grouped: dict[Group, dict[str, Entry]] = {group: {} for group in Group}
    for path in sorted(rows):
        digest = digests.get(path)
        for entry in entries_of(rows[path], digest) if digest else ():
            _put(grouped[entry.group], entry)
    prps = [one for group in PRPS for one in grouped[group].values()]
    patterns = [one for group in PATTERNS for one in grouped[group].values()]
    named = references(patterns, prps)
    for group in PATTERNS:
        for key, one in grouped[group].items():
            grouped[group][key] = replace(one, referenced_by=named.get(one.path, ()))
    return tuple(one for group in Group for one in grouped[group].values())


def _put(entries: dict[str, Entry], entry: Entry) -> None:
    """Under its key, or the first other that is free: nothing is lost because two files are called the same."""
    keys = (entry.key, *other_keys(entry))
    key = next((one for one in keys if one not in entries), keys[-1])
    entries[key] = replace(entry, key=key)
