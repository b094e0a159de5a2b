"""Run an owner: it holds the lock, answers at its socket and over HTTP, and syncs a few changed files."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from lore_etl.config.project import place_of
from lore_etl.config.settings import EmbeddingSettings, load_settings
from lore_etl.core.errors import LoreError, StorageError, os_errors_as
from lore_etl.files.scan import RACY_NS
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.stores.claim import is_ours
from lore_etl.stores.owner_file import SERVE_MANY, my_note, read_note, remove_note, write_note
from lore_etl.system.processes import keep_present_objects, limit_heaps
from lore_server import __version__
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.owner.find import wanted
from lore_server.owner.listen import LOOK_SECONDS, Connections, Entrance, SocketServer, until_quiet
from lore_server.replies.records import HealthOwnerRecord
from lore_server.services.verification import Pace

if TYPE_CHECKING:
    from watchfiles import Change

log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.2
DEBOUNCE_MS = 400
WATCH_AGAIN_MS = 5_000
MOST_OPEN = 64  # projects in one process; they share the time in which one would be verified in the background
CLOSE_SECONDS = 10.0  # `lore stop` waits for 30 seconds
Serving = Callable[[App, Connections], Awaitable[None]]
_STATE = "Check the permissions of the state folder (LORE_STATE, default ~/.local/state/lore)."
_SOCKET = 'Set `owner.transport` to "loopback" in ~/.config/lore/config.toml, or LORE_RUNTIME to a folder for sockets.'


async def stop_on_signal(stopping: anyio.Event) -> None:
    """Set the event at the first signal that asks this process to stop. The main thread must run the event loop."""
    if sys.platform == "win32":  # its event loop does not support signal handlers
        requested = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK):
            signal.signal(number, lambda *_: requested.set())
        while not requested.is_set():
            await anyio.sleep(_LOOK_SECONDS)
    else:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            await anext(aiter(signals))
    stopping.set()


class Owner:
    """The owner of one index. One of many shares its process and models with the others. Raises ConfigError, Busy."""

    def __init__(
        self,
        root: Path,
        config: Path | None,
        kind: str,
        model: Callable[[EmbeddingSettings], ConfiguredModel] = ConfiguredModel,
    ) -> None:
        limit_heaps()
        self.place = place_of(root, config)  # first: an edit between the two makes the owner look older, not newer
        self.settings = load_settings(root, config)
        self._kind = kind
        facts = wanted(self.place)._asdict()
        self._note = my_note(kind, token=secrets.token_hex(16), version=__version__, **facts)
        pace = Pace(share=Pace.share / MOST_OPEN) if kind == SERVE_MANY else None
        embedding = model(self.settings.embedding)
        self.app = App(root, self.settings, load_contract(), embedding, owner=self._record, pace=pace)
        self.app.index.own(kind)
        self._connections = Connections()

    async def run(self, serve: Serving, web: str = "") -> None:
        """Answer requests until `serve` returns, which is called once the owner is ready."""
        self._note = self._note._replace(web=web)
        server = SocketServer(self.app, self._note.token, self._connections)
        entrance = Entrance(self.place.folder, self.settings.owner.transport)
        with os_errors_as(StorageError, "The owner cannot open its socket", _SOCKET):
            await entrance.open()
        try:
            with os_errors_as(StorageError, "Cannot write the owner's note", _STATE):
                self._keep_note(entrance.address)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(entrance.admit, server.welcome, tasks)
                tasks.start_soon(self._stay_reachable, entrance, server, tasks)
                tasks.start_soon(self._warm, server)
                if self.settings.owner.watch:
                    tasks.start_soon(watch, self.app, self._connections.stopping)
                await serve(self.app, self._connections)
                self._connections.stopping.set()
                tasks.cancel_scope.cancel()
        finally:
            await entrance.close()

    async def _warm(self, server: SocketServer) -> None:
        def warm() -> None:
            if self._kind != SERVE_MANY:  # of many, most are asked rarely, and their objects should not stay in memory
                self.app.warm()
                server.prepare()
                keep_present_objects()
            self.app.verify_when_quiet()

        await anyio.to_thread.run_sync(warm, abandon_on_cancel=True)

    async def _stay_reachable(self, entrance: Entrance, server: SocketServer, tasks: TaskGroup) -> None:
        """Restore the note and the socket if they vanish, and end if the index folder does."""
        was_restored = True
        while not self._connections.stopping.is_set():
            await anyio.sleep(LOOK_SECONDS)
            if not is_ours(self.place.folder):
                log.warning("the index folder was removed or replaced: the owner exits")
                self._connections.stopping.set()
                return
            try:
                if not entrance.is_there():
                    await entrance.open()
                    tasks.start_soon(entrance.admit, server.welcome, tasks)
                self._keep_note(entrance.address)
                was_restored = True
            except OSError as error:
                if was_restored:
                    log.warning("the owner is unreachable until this is repaired: %s", error)
                was_restored = False

    def _keep_note(self, address: str) -> None:
        """Write the note if it is missing, damaged or belongs to another owner. Raises OSError."""
        note = self._note = self._note._replace(address=address)
        found = read_note(self.place.folder)
        if found is None or (found.pid, found.address, found.token) != (note.pid, note.address, note.token):
            write_note(self.place.folder, note)

    def close(self) -> None:
        """Stop and close everything, without waiting for a blocking model: ending at any time is harmless."""
        closing = threading.Thread(target=self.app.close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        if closing.is_alive():
            log.warning("a call did not finish within %g s; exiting without waiting for it", CLOSE_SECONDS)
        remove_note(self.place.folder, self._note)

    def _record(self) -> HealthOwnerRecord:
        return {"pid": self._note.pid, "since": self._note.since, "clients": self._connections.clients}


async def watch(app: App, stop: anyio.Event) -> None:
    """Watch until `stop` is set. If the system cannot watch files, each reply checks them, as without an owner."""
    try:
        app.freshness.watched = True
        must_look = False
        while not stop.is_set():
            await _watch(app, stop, app.index.files.folders(), must_look)
            must_look = True  # once the next watcher runs, because nothing noticed earlier changes
    except (OSError, RuntimeError) as error:  # the watcher raises RuntimeError at the system's limit of watches
        log.warning("files are not watched: %s", error)
    finally:
        app.freshness.watched = False


async def _watch(app: App, stop: anyio.Event, folders: list[Path], must_look: bool) -> None:
    """Watch until `stop` is set or the folders change: the knowledge folder appears with the first document."""
    from watchfiles import awatch  # its import would delay the first client

    settings = app.index.settings
    is_local = settings.embedding.provider == "local"  # a sync with a remote model would send text and cost money
    events = awatch(
        *folders,
        watch_filter=ignoring(app.index.index_folder),
        debounce=DEBOUNCE_MS,
        stop_event=stop,
        rust_timeout=WATCH_AGAIN_MS,
        yield_on_timeout=True,
    )
    async for changes in events:
        has_moved = app.index.files.folders() != folders
        if changes or has_moved or must_look:
            if has_moved or must_look:
                app.freshness.notice()
            app.index.files.notice(path for _, path in changes)
            must_look = False
            if is_local:
                await anyio.sleep(RACY_NS / 1e9)  # until then, a written file does not count as changed
                await anyio.to_thread.run_sync(sync_if_few, app, settings.owner.auto_sync_files)
        if has_moved:
            return


def sync_if_few(app: App, limit: int) -> None:
    """Start a sync if there is an index and only a few files have changed since the last one."""
    try:
        may_sync = limit and app.index.exists() and not app.index.is_read_only and app.index.model
        is_synced = may_sync and app.index.catalogue.meta("synced_at") is not None
        if is_synced and 0 < len(app.freshness.changed_files()) <= limit:
            app.jobs.begin_sync(must_scan=False)
    except LoreError as error:
        log.warning("changed files were not synced: %s %s", error.message, error.hint)


def ignoring(folder: Path) -> Callable[[Change, str], bool]:
    """Return a filter that ignores changes of the index and of the temporary files of editors and git."""
    from watchfiles import DefaultFilter

    usual = DefaultFilter()
    return lambda change, path: not Path(path).is_relative_to(folder) and usual(change, path)


def own(root: Path, config: Path | None, ready: Callable[[], None]) -> None:
    owner = Owner(root, config, "background")

    async def serve(app: App, connections: Connections) -> None:
        ready()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal, connections.stopping)
            idle_seconds = 60 * owner.settings.owner.idle_minutes
            await until_quiet(connections, idle_seconds, lambda: app.jobs.running_id() is not None)
            tasks.cancel_scope.cancel()

    try:
        anyio.run(owner.run, serve)
    finally:
        owner.close()
    leave()


def leave() -> None:
    """End this process after everything is closed: Python would wait for threads that wait for a remote model."""
    logging.shutdown()
    sys.stderr.flush()
    os._exit(0)
