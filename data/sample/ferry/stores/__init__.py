"""Stores keep the jobs. `open_store` picks one by URL."""

from __future__ import annotations

from ferry.errors import ConfigError
from ferry.stores.base import Store
from ferry.stores.memory import MemoryStore
from ferry.stores.sql import SQLStore
from ferry.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLStore", "SQLiteStore", "Store", "open_store"]


def open_store(url: str) -> Store:
    """The store behind a URL: `memory://` or `sqlite:///path/to/file.db` (four slashes if absolute).

    Raises:
        ConfigError: the scheme is unknown or the path is missing.
    """
    if url == "memory://":
        return MemoryStore()
    scheme, found, path = url.partition(":///")
    if scheme == "sqlite" and found and path:
        return SQLiteStore(path)
    raise ConfigError(f"cannot open the store {url!r}; use memory:// or sqlite:///path")
