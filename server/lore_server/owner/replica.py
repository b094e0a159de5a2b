"""Serve the published index of a branch, without a checkout: each newer usable snapshot replaces the one before.

A call runs in one snapshot. A new one is verified and warmed first; the old one is closed after its last call.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from lore_etl.config.project import INDEX_NAME
from lore_etl.config.settings import Settings
from lore_etl.core.atomic import remove_folder
from lore_etl.core.errors import Forbidden, LoreError, StorageError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_etl.files.git_folder import Head
from lore_etl.models.embedder import SharedModel
from lore_etl.pipeline.publish import Published, install, latest
from lore_etl.stores.target import Target
from lore_server.app import App
from lore_server.contract import Contract

log = logging.getLogger(__name__)
LOOK_SECONDS = 2.0  # between two looks for a newer snapshot: one request for a small object
AGAIN_SECONDS = 60.0  # after a snapshot that cannot be used
LONGEST_CALL = 600.0


@dataclass
class Served:
    """An open snapshot, and the number of calls that run in it."""

    app: App
    published: Published
    folder: Path
    uses: int = 0

    def close(self) -> None:
        self.app.close()
        remove_folder(self.folder)


class Replica:
    """The latest usable snapshot of a branch at a target. Raises LoreError if there is none."""

    def __init__(self, settings: Settings, contract: Contract, branch: str, folder: Path) -> None:
        self._settings = settings.model_copy(update={"index": settings.index.model_copy(update={"path": INDEX_NAME})})
        self._contract = contract
        self._target = Target(settings.published.target, "`lore serve --replica`")
        self._branch = branch
        self._folder = folder
        self._model = SharedModel(settings.embedding)
        self._changed = threading.Condition()
        self._number = 0
        self._served = self._fetch(self._latest())

    @property
    def published(self) -> Published:
        return self._served.published

    def _latest(self) -> Published:
        return latest(self._target, self._settings.published.keys, self._branch)

    def _refresh(self) -> None:
        """Serve the latest snapshot, if it is newer. Raises LoreError, and keeps the old one."""
        found, old = self._latest(), self._served
        if found.created > old.published.created:
            new = self._fetch(found)
            with self._changed:
                self._served = new
                self._changed.wait_for(lambda: not old.uses, LONGEST_CALL)
            old.close()

    async def follow(self) -> None:
        while True:
            await anyio.sleep(LOOK_SECONDS)
            try:
                await anyio.to_thread.run_sync(self._refresh, abandon_on_cancel=True)
            except LoreError as error:
                log.warning("the snapshot of %s stays: %s", self.published.commit[:12], error)
                await anyio.sleep(AGAIN_SECONDS)

    def call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        """Run an operation in the current snapshot. Raises LoreError, and Forbidden if it would change something."""
        if not self._contract[operation].is_replicated:
            raise Forbidden(f"A replica does not serve {operation}.", "Ask the server of the project itself.")
        with self.hold() as app:
            reply = app.call(operation, arguments, listener)
        if self.published.expires < time.time() and "freshness" in reply:
            reply["freshness"]["state"] = "stale"  # the target may have withheld the newer ones
        return reply

    def close(self) -> None:
        self._served.close()

    @contextmanager
    def hold(self) -> Iterator[App]:
        with self._changed:
            served = self._served
            served.uses += 1
        try:
            yield served.app
        finally:
            with self._changed:
                served.uses -= 1
                self._changed.notify_all()

    def _fetch(self, published: Published) -> Served:
        """Fetch a snapshot into a folder of its own and open it, ready for the first call. Raises LoreError."""
        self._number += 1
        folder = self._folder / str(self._number)
        root = folder / published.project
        root.mkdir(mode=0o700, parents=True)
        head = Head(published.branch, published.commit)
        app = App(root, self._settings, self._contract, self._model, home=folder / "knowledge", published=head)
        served = Served(app, published, folder)
        with ExitStack() as failing:
            failing.callback(served.close)
            install(app.index, self._target, published)
            app.warm()
            health = app.call("healthcheck", {})
            if not health["counts"] or health["status"] == "unhealthy":
                failed = [check["detail"] for check in health["checks"] if check["status"] == "failed"]
                raise StorageError(f"The snapshot is not usable: {' '.join(failed) or 'it is empty'}")
            failing.pop_all()
        return served
