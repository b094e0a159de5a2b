"""Cache the results of recent queries until the index changes."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from lore_etl.index import Index
from lore_etl.stores.kept import RecentlyUsed

KEPT = 32  # each holds the texts of its candidates: some 200 kB
Found = TypeVar("Found")
State = tuple[object, ...]


class Recent(Generic[Found]):
    """A bounded cache that is never stale: results of an earlier index state are not returned."""

    def __init__(self, index: Index, kept: int = KEPT) -> None:
        self._index = index
        self._kept = RecentlyUsed[tuple[Hashable, State], Found](kept)

    def state(self, today: datetime.date) -> State | None:
        """Return the state of the index on this day as a comparable value; None during a load, because results may
        change.

        The caller holds the gate.
        """
        dirty, loaded, synced_at, refused = self._index.catalogue.metas("dirty", "loaded", "synced_at", "refused")
        return None if dirty is not None else (self._index.gate.switches, loaded, synced_at, refused, today)

    def get(self, question: Hashable, state: State | None) -> Found | None:
        """Return the cached result of a query in this state."""
        return None if state is None else self._kept.get((question, state))

    def read(self, question: Hashable, state: State | None, compute: Callable[[], Found]) -> Found:
        """Return the cached result of a query in this state, or else the computed one, which is then cached."""
        found = self.get(question, state)
        if found is None:
            found = compute()
            self.put(question, state, found)
        return found

    def put(self, question: Hashable, state: State | None, found: Found) -> None:
        """Cache a result, evicting the least recently used one."""
        if state is not None:
            self._kept.put((question, state), found)
