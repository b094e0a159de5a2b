"""Build slow objects in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from lore_etl.core.errors import LoreError


class Lazy:
    """An object that takes a second to build: built in the background; the first user waits for it."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build
        self._guard = threading.Lock()

    @cached_property
    def _value(self) -> Any:
        return self._build()

    def get(self) -> Any:
        """Return the object, building it now if necessary. Raises the errors of the build."""
        with self._guard:
            return self._value

    def begin(self) -> None:
        """Start building in the background; the first user gets its error."""
        threading.Thread(target=self._quietly, name="loading", daemon=True).start()

    def is_built(self) -> bool:
        """Return whether it is built."""
        return "_value" in self.__dict__

    def _quietly(self) -> None:
        try:
            self.get()
        except LoreError:
            return  # raised again for the first call, which can report it
