"""Keep what is derived from one state of the index, and drop all of it when the index changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lore_etl.stores.kept import Kept

Value = TypeVar("Value")


@dataclass(frozen=True)
class Derived(Generic[Value]):
    """A kind of values that are derived from the index; a snapshot keeps those of the last `kept` keys."""

    name: str
    kept: int = 1


class Snapshot:
    """One state of the index. A change of the catalogue replaces it, with everything that was derived from it.

    A reader takes the snapshot before it reads, so that what it derives during a change is dropped with the old state.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._values: dict[Derived[Any], Kept[Hashable, Any]] = {}

    def get(self, kind: Derived[Value], key: Hashable = None) -> Value | None:
        """Return a value that was derived from this state."""
        with self._guard:
            values = self._values.get(kind)
        found: Value | None = values.get([key]).get(key) if values else None
        return found

    def put(self, kind: Derived[Value], key: Hashable, value: Value) -> None:
        """Keep a value for this state."""
        with self._guard:
            values = self._values.setdefault(kind, Kept(kind.kept))
        values.put({key: value})

    def read(self, kind: Derived[Value], key: Hashable, derive: Callable[[], Value]) -> Value:
        """Return the value of this state, derived at the first call. It must not be None."""
        found = self.get(kind, key)
        if found is None:
            found = derive()
            self.put(kind, key, found)
        return found
