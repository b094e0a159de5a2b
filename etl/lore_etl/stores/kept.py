"""Keep recently read values, so that searches need not read them from disk again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by key, up to a total size; the least recently used ones go first. All threads share them.

    A reader takes the `moment` before it reads, so that values read before a `drop` are not kept.
    """

    def __init__(self, limit: int, size_of: Callable[[Value], int] = lambda value: 1) -> None:
        self._limit, self._size_of, self._size = limit, size_of, 0
        self._guard = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._drops = 0

    def moment(self) -> int:
        """Return a number that changes with every `drop`."""
        return self._drops

    def read(self, keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, Value]]) -> dict[Key, Value]:
        """Return the values of these keys that exist. Values that are not kept are read, and then kept."""
        moment, found = self.moment(), self.get(keys)
        if missing := [key for key in keys if key not in found]:
            values = read(missing)
            self.put(values, moment)
            found |= values
        return found

    def get(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """Return the values that are kept among these keys, by key."""
        with self._guard:
            found = {key: self._values[key] for key in keys if key in self._values}
            if 2 * self._size > self._limit:  # until then, no value is soon dropped
                for key in found:
                    self._values.move_to_end(key)
        return found

    def put(self, values: Mapping[Key, Value], moment: int | None = None) -> None:
        """Keep values; those read since a moment, only if no value has been dropped since."""
        with self._guard:
            if moment not in (None, self._drops):
                return
            for key, value in values.items():
                self._remove(key)
                self._values[key] = value
                self._size += self._size_of(value)
            while self._size > self._limit:
                self._remove(next(iter(self._values)))

    def drop(self, keys: Iterable[Key]) -> None:
        """Drop values that have changed."""
        with self._guard:
            self._drops += 1
            for key in keys:
                self._remove(key)

    def _remove(self, key: Key) -> None:
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))
