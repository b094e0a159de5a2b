"""Watch the project's files, and sync a few changed files automatically."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio
import anyio.to_thread
from watchfiles import Change, DefaultFilter, awatch

from lore_etl.core.errors import LoreError
from lore_server.app import App

log = logging.getLogger(__name__)
DEBOUNCE_MS = 400
LOOK_AGAIN_MS = 5_000


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
    settings = app.index.settings
    is_local = settings.embedding.provider == "local"  # a sync with a remote model would send text and cost money
    events = awatch(
        *folders,
        watch_filter=_ProjectFilter(app.index.index_folder),
        debounce=DEBOUNCE_MS,
        stop_event=stop,
        rust_timeout=LOOK_AGAIN_MS,
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


class _ProjectFilter(DefaultFilter):
    """A filter that ignores changes of the index and of the temporary files of editors and git."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __call__(self, change: Change, path: str) -> bool:
        return not Path(path).is_relative_to(self._folder) and super().__call__(change, path)
