"""Share one state of the index between threads: what was read or derived is kept, and a switch excludes readers."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar


class Gate:
    """A lock for many readers or one switch, which precedes new readers; so entering again would block forever."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._switching = False
        self.switches = 0  # the number of beginnings and ends of switches so far

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    def settled(self) -> int:
        """Return `switches` outside a switch, after waiting for the end of one; it differs once the next has begun."""
        with self._changed:
            self._changed.wait_for(lambda: self.switches % 2 == 0)
            return self.switches

    @contextmanager
    def switching(self) -> Iterator[None]:
        """Switch while there are no readers; only one thread switches at a time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._switching)
            self._switching = True
            self._changed.wait_for(lambda: not self._readers)
            self.switches += 1
        try:
            yield
        finally:
            with self._changed:
                self._switching = False
                self.switches += 1
                self._changed.notify_all()


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Kept(Generic[Key, Value]):
    """Values by key, up to a total size; the least recently used ones go first. All threads share them."""

    def __init__(self, limit: int, size_of: Callable[[Value], int] = lambda value: 1) -> None:
        self._limit, self._size_of, self._size = limit, size_of, 0
        self._guard = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._drops = 0

    def read(self, keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, Value]]) -> dict[Key, Value]:
        """Return the values of keys that exist; others are read, and then kept unless one is dropped meanwhile."""
        drops, found = self._drops, self.get(keys)
        if missing := [key for key in keys if key not in found]:
            values = read(missing)
            self.put(values, drops)
            found |= values
        return found

    def get(self, keys: Iterable[Key]) -> dict[Key, Value]:
        with self._guard:
            found = {key: self._values[key] for key in keys if key in self._values}
            if 2 * self._size > self._limit:  # until then, no value is soon dropped
                for key in found:
                    self._values.move_to_end(key)
        return found

    def put(self, values: Mapping[Key, Value], drops: int | None = None) -> None:
        """Keep values; with a number of drops, only if there was none since."""
        with self._guard:
            if drops not in (None, self._drops):
                return
            for key, value in values.items():
                self._remove(key)
                self._values[key] = value
                self._size += self._size_of(value)
            while self._size > self._limit:
                self._remove(next(iter(self._values)))

    def drop(self, keys: Iterable[Key]) -> None:
        with self._guard:
            self._drops += 1
            for key in keys:
                self._remove(key)

    def _remove(self, key: Key) -> None:
        if key in self._values:
            self._size -= self._size_of(self._values.pop(key))


@dataclass(frozen=True)
class Derived(Generic[Value]):
    """A kind of values that are derived from the index; a snapshot keeps those of the last `kept` keys."""

    name: str
    kept: int = 1


class Snapshot:
    """One state of the index and what is derived from it. Take it before reading, so that a change drops the result."""

    def __init__(self) -> None:
        self._values: dict[Derived[Any], Kept[Hashable, Any]] = {}

    def _of(self, kind: Derived[Value]) -> Kept[Hashable, Value]:
        return self._values.get(kind) or self._values.setdefault(kind, Kept(kind.kept))  # atomic

    def get(self, kind: Derived[Value], key: Hashable = None) -> Value | None:
        return self._of(kind).get([key]).get(key)

    def put(self, kind: Derived[Value], key: Hashable, value: Value) -> None:
        self._of(kind).put({key: value})

    def read(self, kind: Derived[Value], key: Hashable, derive: Callable[[], Value]) -> Value:
        """Return the value of this state, derived at the first call."""
        return self._of(kind).read([key], lambda _: {key: derive()})[key]
