"""Select the indexed files that a knowledge search covers, by the names of sources and by tags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from lore_etl.core.errors import FrameworkNotFound
from lore_etl.core.model import Chunk, KnowledgeType
from lore_etl.index import Index
from lore_etl.stores.snapshot import Derived
from lore_server.framework.groups import SOURCES, group_of, is_system
from lore_server.framework.reading import framework_folder
from lore_server.framework.view import Entries, View

FRAMEWORK = "framework"
DEFAULT = (FRAMEWORK, "prp", "example", "memory")


@dataclass(frozen=True)
class Scope:
    """Files, each with the first requested source that it belongs to, and their view."""

    names: tuple[str, ...]
    source_of: Mapping[str, str]
    files: frozenset[str]
    entries: Entries

    @cached_property
    def total(self) -> int:
        """Return the number of documents, counting each rule of a file."""
        return sum(max(1, len(self.entries.by_path.get(path, ()))) for path in self.files)

    def tags(self, chunk: Chunk) -> tuple[str, ...]:
        """Return the tags of a chunk's document: from the view, or from its front matter."""
        known = self.entries.by_path.get(chunk.source)
        return known[0].tags if known else chunk.tags


SCOPES = Derived[Scope]("scopes of knowledge searches", kept=16)  # about 1 MB each for 10,000 files
TAGGED = Derived[Mapping[str, set[str]]]("files by tag")


class Scopes:
    """A factory of scopes from the index and its view, kept for each state of the index."""

    def __init__(self, index: Index, view: View) -> None:
        self._index = index
        self._view = view

    def of(self, names: Sequence[str], tags: Collection[str] = ()) -> Scope:
        """Return the files of these or the default sources; with tags, only files that have one of them."""
        snapshot, entries = self._index.snapshot, self._view.entries()
        wanted = tuple(dict.fromkeys(names)) or DEFAULT
        scope = snapshot.read(SCOPES, wanted, lambda: self._scope(wanted, entries))
        if not tags:
            return scope
        tagged = snapshot.read(TAGGED, None, lambda: self._by_tag(entries))
        having = {path for tag in tags for path in tagged.get(tag.strip().casefold(), ())}
        found = {path: scope.source_of[path] for path in having & scope.files}
        return Scope(wanted, found, frozenset(found), entries)

    def _scope(self, names: tuple[str, ...], entries: Entries) -> Scope:
        pages: tuple[str, ...] = ()
        with suppress(FrameworkNotFound):
            pages = (framework_folder(self._index.root, self._index.settings.docs.framework) + "/",)
        found = dict[str, str]()
        for path, type_ in self._index.catalogue.types().items():
            group = group_of(path, KnowledgeType(type_))
            is_framework = is_system(path) or path.startswith(pages)  # including the framework's own pages
            for name in names:
                if group in SOURCES[name] or (name == FRAMEWORK and is_framework):
                    found[path] = name
                    break
        return Scope(names, found, frozenset(found), entries)

    def _by_tag(self, entries: Entries) -> Mapping[str, set[str]]:
        """Return the files by tag in lower case: from the view, or from the front matter."""
        others = self._scope(DEFAULT, entries).files - entries.by_path.keys()
        given = [(entry.path, entry.tags) for entry in entries.all]
        found: dict[str, set[str]] = defaultdict(set)
        for path, tags in (*given, *self._index.catalogue.tags_of(others).items()):
            for tag in tags:
                found[tag.casefold()].add(path)
        return found
