"""Which files of the index a search of knowledge means: by the names of sources, and by tags."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from etl.errors import FrameworkNotFound
from etl.index import Index
from etl.model import Chunk, KnowledgeType
from server.docs.groups import SOURCES, group_of, is_system
from server.docs.reading import framework_folder
from server.docs.view import Entries, View

FRAMEWORK = "framework"
DEFAULT = (FRAMEWORK, "prp", "example", "memory")
KEPT = 16  # scopes of one view: some 1 MB each for 10,000 files


@dataclass(frozen=True)
class Scope:
    """Files, each with the first of the wanted sources that it belongs to, and what the view knew of them."""

    names: tuple[str, ...]
    source_of: Mapping[str, str]
    files: frozenset[str]
    entries: Entries

    def tags(self, chunk: Chunk) -> tuple[str, ...]:
        """The tags of a chunk's document: as the view has them, else those of its front matter."""
        known = self.entries.by_path.get(chunk.source)
        return known[0].tags if known else chunk.tags

    def referenced_by(self, path: str) -> tuple[str, ...]:
        """The PRPs that name this pattern."""
        known = self.entries.by_path.get(path)
        return known[0].referenced_by if known else ()


class Scopes:
    """Made of the index and its view, and kept as long as that view is."""

    def __init__(self, index: Index, view: View) -> None:
        self._index = index
        self._view = view
        self._guard = threading.Lock()
        self._entries = Entries()
        self._kept: dict[tuple[tuple[str, ...], frozenset[str]], Scope] = {}

    def of(self, names: Sequence[str], tags: Iterable[str] = ()) -> Scope:
        """The files of these sources, or of all; with tags, those that have one of them."""
        entries = self._view.entries()
        wanted = tuple(dict.fromkeys(names)) or DEFAULT
        key = wanted, frozenset(tag.strip().casefold() for tag in tags)
        with self._guard:
            if entries is not self._entries or len(self._kept) >= KEPT:
                self._entries, self._kept = entries, {}
            if key not in self._kept:
                self._kept[key] = self._scope(*key, entries)
            return self._kept[key]

    def _scope(self, names: tuple[str, ...], tags: frozenset[str], entries: Entries) -> Scope:
        types = self._index.catalogue.types()
        found: dict[str, str] = {}
        for name in reversed(names):  # the first of them has the last word
            belongs = self._belongs(name)
            found.update((path, name) for path, type_ in types.items() if belongs(path, KnowledgeType(type_)))
        if tags:
            tagged = self._tagged(found, tags, entries)
            found = {path: name for path, name in found.items() if path in tagged}
        return Scope(names, found, frozenset(found), entries)

    def _belongs(self, name: str) -> Callable[[str, KnowledgeType], bool]:
        """Whether a file is of a source. To the framework belongs all that came with it, its own pages too."""
        if name != FRAMEWORK:
            return lambda path, type_: group_of(path, type_) in SOURCES[name]
        try:
            pages = framework_folder(self._index.root, self._index.settings.docs.framework) + "/"
        except FrameworkNotFound:
            return lambda path, type_: is_system(path)
        return lambda path, type_: is_system(path) or path.startswith(pages)

    def _tagged(self, paths: Iterable[str], tags: frozenset[str], entries: Entries) -> set[str]:
        others = [path for path in paths if path not in entries.by_path]
        given: dict[str, Sequence[str]] = dict(self._index.catalogue.tags_of(others))
        given |= {path: entries.by_path[path][0].tags for path in paths if path in entries.by_path}
        return {path for path, own in given.items() if not tags.isdisjoint(tag.casefold() for tag in own)}
