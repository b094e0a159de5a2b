"""Things that take long to build, built in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from lore_etl.core.errors import LoreError


class Lazy:
    """A thing that takes a second to build: begun in the background, waited for by the first who needs it."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build
        self._guard = threading.Lock()

    @cached_property
    def _value(self) -> Any:
        return self._build()

    def get(self) -> Any:
        """The thing, built now if it is not yet. Raises what the building raises."""
        with self._guard:
            return self._value

    def begin(self) -> None:
        """Start building in the background; a failure is told to the first who asks."""
        threading.Thread(target=self._quietly, name="loading", daemon=True).start()

    def is_built(self) -> bool:
        """Whether it is there already."""
        return "_value" in self.__dict__

    def _quietly(self) -> None:
        try:
            self.get()
        except LoreError:
            return  # raised again for the first call, which can tell it to someone
