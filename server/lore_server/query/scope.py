"""A scope that limits a search to part of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from lore_etl.core.model import row_id_of
from lore_etl.index import Index
from lore_etl.sources.source import suffix_in
from lore_etl.stores.tokenizer import phrase_words
from lore_server.query.filters import Filters, pattern_of


def type_or_none(type_: str) -> str | None:
    return None if type_ == "all" else type_


@dataclass(frozen=True)
class Part:
    """A part of the index: the files below some folders, or some files only.

    Equal parts compare equal, so their content can be cached while the index does not change.
    """

    folders: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()

    def rows(self, index: Index, type_: str | None) -> dict[str, str]:
        """Return the chunks of this type: chunk id -> row in the vector store."""
        if self.folders:
            return index.catalogue.rows_below(self.folders, type_)
        return index.catalogue.rows_of(self.files, type_)


class File(NamedTuple):
    """The type of a file, and its chunks: chunk id -> row in the vector store."""

    type: str
    rows: Mapping[str, str]


Files = Mapping[str, File]


def indexed_files(index: Index) -> Files:
    return {
        source: File(type_, {id_: row_id_of(id_, content) for _, _, id_, content in rows})
        for (source, type_), rows in groupby(index.catalogue.every_row(), key=lambda row: (row[0], row[1]))
    }


def filtered(index: Index, files: Files, filters: Filters) -> dict[str, str]:
    """Return the chunks that pass the filters, as in `Part.rows`."""
    among: dict[str, str] = {}
    scripts = index.catalogue.recipes_of_scripts()
    for source, file in files.items():
        if filters.accept_file(source, file.type, suffix_in(scripts.get(source, ""))):
            among.update(file.rows)
    if filters.after or filters.before:
        among = {
            id_: among[id_] for id_, day in index.catalogue.dates().items() if id_ in among and filters.accept_day(day)
        }
    for phrase in filters.phrases:
        having = _having(index, phrase, among)
        among = {id_: row for id_, row in among.items() if id_ in having}
    for phrase in filters.without:
        having = _having(index, phrase, among)
        among = {id_: row for id_, row in among.items() if id_ not in having}
    return among


def _having(index: Index, phrase: str, among: Mapping[str, str]) -> set[str]:
    """Return the chunks whose text contains a phrase. Keywords limit the texts to read; without any, all are read."""
    words = phrase_words(phrase)
    likely = index.keywords.holding(words) & among.keys() if words else among.keys()
    pattern = pattern_of(phrase)
    return {id_ for id_, text in index.catalogue.texts(likely).items() if pattern.search(text)}
