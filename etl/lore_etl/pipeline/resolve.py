"""Relate chunks to other files: their class with its ancestors, and the document that supersedes theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from lore_etl.core.model import FileFacts
from lore_etl.relations.classes import Resolved, resolve
from lore_etl.relations.supersession import Succession, succession
from lore_etl.stores.chunk_record import ChunkRecord, relations_of


class Relations:
    """The classes and superseded documents of a project.

    `paths` are all files that can be imported, `titles` the titles of documents, if any supersedes another.
    """

    def __init__(
        self, facts: Mapping[str, FileFacts], paths: Iterable[str], titles: Mapping[str, str], project: str
    ) -> None:
        self.tree: Resolved = resolve(facts, paths, project)
        supersedes = {source: file_facts.supersedes for source, file_facts in facts.items() if file_facts.supersedes}
        self.succession: Succession = succession(supersedes, titles)
        self._text = cache(self._text_of)

    def related(self, records: Iterable[ChunkRecord]) -> Iterator[ChunkRecord]:
        """Yield the chunks with their relations."""
        for record in records:
            name = self.tree.full_names.get((record.source, record.local_class)) if record.local_class else None
            yield record.related(self._text(name, self.succession.successor.get(record.source)))

    def affected(self, before: Relations) -> set[str]:
        """Return the files whose chunks may have other relations than before."""
        names, earlier = self.tree.full_names, before.tree.full_names
        files = set[str]()
        for path, local in names.keys() | earlier.keys():
            name = names.get((path, local))
            if name != earlier.get((path, local)) or self._text(name, None) != before._text(name, None):
                files.add(path)
        now, then = self.succession.successor, before.succession.successor
        return files | {path for path in now.keys() | then.keys() if now.get(path) != then.get(path)}

    def _text_of(self, name: str | None, successor: str | None) -> str:
        return relations_of(name, self.tree.hierarchy.chain(name) if name else (), successor)
