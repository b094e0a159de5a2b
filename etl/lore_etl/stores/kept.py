"""Keep recently read values, so that searches need not read them from disk again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """Values by key, up to a total size; the least recently used ones go first. All threads share them."""

    def __init__(self, limit: int, size_of: Callable[[Value], int] = lambda value: 1) -> None:
        self._limit, self._size_of = limit, size_of
        self._guard = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        with self._guard:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._guard:
            self._values[key] = value
            while sum(map(self._size_of, self._values.values())) > self._limit:
                self._values.popitem(last=False)


class Kept(Generic[Value]):
    """A limited number of values by key; the least recently used are dropped first. All threads share them.

    A reader takes the `moment` before it reads, so that values read before a `drop` are not kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._guard = threading.Lock()
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._drops = 0

    def moment(self) -> int:
        """Return a number that changes with every `drop`."""
        return self._drops

    def read(self, keys: Sequence[str], read: Callable[[list[str]], Mapping[str, Value]]) -> dict[str, Value]:
        """Return the values of these keys that exist. Values that are not kept are read, and then kept."""
        moment, found = self.moment(), self.get(keys)
        if missing := [key for key in keys if key not in found]:
            values = read(missing)
            self.put(values, moment)
            found |= values
        return found

    def get(self, keys: Iterable[str]) -> dict[str, Value]:
        """Return the values that are kept among these keys, by key."""
        with self._guard:
            found = {key: self._values[key] for key in keys if key in self._values}
            if len(self._values) == self._limit:  # until then, nothing is dropped
                for key in found:
                    self._values.move_to_end(key)
        return found

    def put(self, values: Mapping[str, Value], moment: int) -> None:
        """Keep values read since a moment, unless values have been dropped since."""
        with self._guard:
            if moment == self._drops:
                self._values |= values
                while len(self._values) > self._limit:
                    self._values.popitem(last=False)

    def drop(self, keys: Iterable[str]) -> None:
        """Drop values that have changed."""
        with self._guard:
            self._drops += 1
            for key in keys:
                self._values.pop(key, None)
