"""Find the outdated documents of a project: superseded by another document, or past their `valid_until` date."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lore_etl.core.dates import day_or_none
from lore_etl.relations.supersession import succession
from lore_server.knowledge.document import Metadata
from lore_server.query.outdated import no_longer

if TYPE_CHECKING:
    from lore_server.replies.records import OutdatedRecord


class Titled(NamedTuple):
    """A document with the names by which other documents refer to it."""

    filename: str
    title: str
    metadata: Metadata


def outdated_among(documents: Iterable[Titled]) -> dict[str, OutdatedRecord]:
    """Return the documents that are outdated today by file name, with the reason."""
    all_of_them = list(documents)
    today = datetime.date.today()
    replaced = succession(
        {document.filename: document.metadata.supersedes for document in all_of_them if document.metadata.supersedes},
        {document.filename: document.title for document in all_of_them},
    )
    records = {
        document.filename: _record(document, replaced.successor.get(document.filename), today)
        for document in all_of_them
    }
    return {name: outdated for name, outdated in records.items() if outdated}


def _record(document: Titled, successor: str | None, today: datetime.date) -> OutdatedRecord:
    day = day_or_none(document.metadata.valid_until)
    return no_longer(successor, day.isoformat() if day else None, today)
