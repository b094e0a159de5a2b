"""Remember why a sync failed, so that a search in an empty index names the cause and the fix."""

from __future__ import annotations

import json
from contextlib import suppress

from lore_etl.core.errors import IndexMissing, LoreError
from lore_etl.core.model import canonical_json
from lore_etl.files.indexed import NOTHING_TO_INDEX
from lore_etl.index import Index


def remember_failure(index: Index, error: LoreError) -> None:
    """Record why a sync failed, if the index has no chunks."""
    with suppress(LoreError):
        if not index.catalogue.total():
            index.catalogue.set_meta(failed_sync=canonical_json([error.message, error.hint]))


def forget_failure(index: Index) -> None:
    """Remove the record of a failed sync, if there is one."""
    if index.catalogue.meta("failed_sync") is not None:
        index.catalogue.set_meta(failed_sync=None)


def emptiness(index: Index) -> IndexMissing:
    """Return the error for an index without chunks, with the reason why it has none."""
    synced_at, failed = index.catalogue.metas("synced_at", "failed_sync")
    if failed is not None:
        message, hint = json.loads(failed)
        return IndexMissing(f"The index is empty, because the last sync failed: {message}", f"{hint} Then sync again.")
    return IndexMissing(*NOTHING_TO_INDEX) if synced_at is not None else IndexMissing("The index is empty.")
