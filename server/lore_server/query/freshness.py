"""The state of the index for replies: files changed since the last sync, and missing vectors."""

import threading
import time
from collections.abc import Callable, Iterable, Set
from typing import cast

from lore_etl.core.dates import seconds_since
from lore_etl.core.json_types import JSON
from lore_etl.files.git_folder import head
from lore_etl.files.indexed import differing
from lore_etl.index import Index
from lore_etl.stores.catalogue import FILES_AT, UNREAD
from lore_server.replies.records import FreshnessRecord

ATTEMPTS = 3  # a search takes a fraction of the time between two syncs
SHARE_OF_TIME = 0.1  # checking the files takes at most a tenth of the time
MATTERS = ("state", "changed_files", "pending_vectors", "job")
WATCHED_SHARE, QUICK_SECONDS = 0.02, 0.02  # with a watcher: a quick check finds what it misses or reports late
LONGEST_SECONDS = 30.0  # between two checks, however long one takes


class Freshness:
    """Compares the files' stamps with the catalogue's as often as is cheap; in small projects, at every reply."""

    def __init__(self, index: Index, job: Callable[[], str | None] = lambda: None) -> None:
        self._index = index
        self._job = job
        self._guard = threading.Lock()
        self._changed: frozenset[str] = frozenset()
        self._look_again_at = 0.0
        self._noticed = threading.Event()
        self._state: str | None = None
        self.watched = False

    def record(self, shown: Set[str] = frozenset()) -> FreshnessRecord:
        """Return the `freshness` of a reply that shows these changed files, see `changed_of`."""
        catalogue = self._index.catalogue
        synced_at, synced_commit, dirty = catalogue.metas("synced_at", "synced_commit", "dirty")
        chunks, pending = catalogue.total(), catalogue.waiting()
        changed = len(self.changed_files() | shown)  # the watcher may not have reported a file that the reply shows
        now = self._index.published or head(self._index.root)
        is_whole = synced_at is not None and not pending and dirty is None
        record: FreshnessRecord = {
            "state": "partial" if not is_whole else ("stale" if changed else "fresh"),
            "synced_at": synced_at,
            "age_seconds": seconds_since(synced_at),
            "changed_files": changed,
            "pending_vectors": pending,
            "vectors_ready": round(1 - pending / chunks, 4) if chunks else 0,
            "branch": now.branch,
            "commit": now.commit,
        }
        if synced_commit is not None and synced_commit != now.commit:
            record["synced_commit"] = synced_commit
        if job := self._job():
            record["job"] = job
        return record

    def brief(self, shown: Set[str] = frozenset()) -> FreshnessRecord:
        """Return the `freshness` of a list or a file: the end of the last sync, and anything out of date."""
        record = self.record(shown)
        return cast("FreshnessRecord", {**urgent(record), "synced_at": record.get("synced_at")})

    def changed_files(self) -> frozenset[str]:
        """Return the files added, changed or deleted since the last sync, as of a moment ago."""
        if self._index.published:
            return frozenset()
        with self._guard:
            catalogue, started = self._index.catalogue, time.monotonic()
            state = catalogue.meta(FILES_AT)
            files, must_scan = self._index.files, self._noticed.is_set() or started >= self._look_again_at
            if must_scan or state != self._state or files.has_news():
                self._noticed.clear()  # before the check, which may miss changes that are noticed during it
                must_scan |= not self.watched
                found = files.scan() if must_scan else files.look()
                known = {path: stamp.removeprefix(UNREAD) for path, stamp in catalogue.stamps().items()}
                self._changed = differing(found, known)
                seconds = time.monotonic() - started
                if must_scan:
                    share = WATCHED_SHARE if self.watched else SHARE_OF_TIME
                    pause = LONGEST_SECONDS if self.watched and seconds > QUICK_SECONDS else seconds / share
                    self._look_again_at = started + min(pause, LONGEST_SECONDS)
                self._state = state
            return self._changed

    def notice(self) -> None:
        """Check all files again at the next reply."""
        self._noticed.set()

    def changed_of(self, sources: Iterable[str]) -> set[str]:
        """Return which of these files differ from their indexed state, with one stat call each."""
        if self._index.published:
            return set()
        known = self._index.catalogue.stamps(sources)
        now = self._index.files.stamps(known)
        changed = {path for path, stamp in known.items() if now.get(path) != stamp}
        if not changed <= self._changed:
            self.notice()
        return changed


def from_one_state(index: Index, read: Callable[[], JSON], attempts: int) -> JSON:
    """Return the reply of a read, repeated if the index changed; after the last attempt, call it stale."""
    for _ in range(attempts):
        # a sync between the search and the comparison of the files would make outdated passages look fresh
        before, reply = index.gate.settled(), read()
        if index.gate.switches == before:
            return reply
    if (freshness := reply.get("freshness", {})).get("state") != "fresh":
        return reply
    return {**reply, "freshness": {**freshness, "state": "stale"}}


def urgent(freshness: FreshnessRecord) -> FreshnessRecord:
    """Return the state, and the parts that are out of date."""
    return cast("FreshnessRecord", {name: value for name, value in freshness.items() if name in MATTERS and value})
