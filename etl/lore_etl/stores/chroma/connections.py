"""Who opens a folder of Chroma's files: this process, or a `chroma run` of our own."""

from __future__ import annotations

from pathlib import Path

from lore_etl.config.settings import DatabaseSettings
from lore_etl.core.errors import DatabaseUnavailable, LoreError
from lore_etl.stores.chroma.address import Address
from lore_etl.stores.chroma.child_server import LOG, ChromaProcess

BUSY_SECONDS = 300  # ours is known to live or not; what lives may be writing a thousand rows to its index first


class EmbeddedChroma:
    """Chroma in this process."""

    def __init__(self, folder: Path, settings: DatabaseSettings) -> None:
        from lore_etl.stores.chroma.client import bare, hnsw, open_client

        self._client = open_client(folder)
        try:
            # a collection's own configuration could name a model to load: None keeps it from being asked
            collection = self._client.get_or_create_collection(
                settings.collection, embedding_function=None, configuration=hnsw(settings)
            )
            self.collection = bare(collection)
        except BaseException:
            self._client.close()  # Chroma would hand the broken one out again for the same path
            raise

    def where(self) -> str:
        """See `Connection`."""
        return "in this process"

    def is_alive(self) -> bool:
        """See `Connection`."""
        return True

    def close(self) -> None:
        """See `Connection`."""
        self._client.close()

    def explain(self, error: Exception) -> LoreError | None:
        """See `Connection`."""
        return error if isinstance(error, LoreError) else None


class ChildChroma:
    """Chroma's server in a process of our own, reached over HTTP on this machine."""

    def __init__(self, folder: Path, settings: DatabaseSettings) -> None:
        from lore_etl.stores.chroma.client import hnsw
        from lore_etl.stores.chroma.http_client import HttpChroma

        self._is_lost = False
        self._process = ChromaProcess.start(folder, folder.parent / LOG)
        try:
            address = Address("127.0.0.1", self._process.port, timeout_seconds=BUSY_SECONDS, is_ours=True)
            self._chroma = HttpChroma(address)
            try:
                self.collection = self._chroma.collection(settings.collection, hnsw(settings))
            except BaseException:
                self._chroma.close()
                raise
        except BaseException:
            self._process.stop()
            raise

    def where(self) -> str:
        """See `Connection`."""
        return f"on 127.0.0.1:{self._process.port}, process {self._process.pid}"

    def is_alive(self) -> bool:
        """See `Connection`. One that did not answer is given up: it hangs, or is about to be known as dead."""
        return not self._is_lost and self._process.is_running()

    def close(self) -> None:
        """See `Connection`."""
        self._chroma.close()
        self._process.stop()

    def explain(self, error: Exception) -> LoreError | None:
        """See `Connection`."""
        explained = self._chroma.explain(error)
        if isinstance(explained, DatabaseUnavailable):
            self._is_lost = True
            return DatabaseUnavailable(explained.message, f"Try again: it is started anew. {LOG} says why it ended.")
        return explained
