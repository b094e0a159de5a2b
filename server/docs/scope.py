"""Which files of the index a search of knowledge means: by the names of sources, and by tags."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
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
        pages, found = self._pages(), dict[str, str]()
        for path, type_ in self._index.catalogue.types().items():
            group = group_of(path, KnowledgeType(type_))
            is_framework = is_system(path) or path.startswith(pages)  # all that came with it, its own pages too
            for name in names:
                if group in SOURCES[name] or (name == FRAMEWORK and is_framework):
                    found[path] = name
                    break
        if tags:
            tagged = self._tagged(found, tags, entries)
            found = {path: name for path, name in found.items() if path in tagged}
        return Scope(names, found, frozenset(found), entries)

    def _pages(self) -> tuple[str, ...]:
        """What the paths of the framework's pages begin with."""
        try:
            return (framework_folder(self._index.root, self._index.settings.docs.framework) + "/",)
        except FrameworkNotFound:
            return ()

    def _tagged(self, paths: Iterable[str], tags: frozenset[str], entries: Entries) -> set[str]:
        others = [path for path in paths if path not in entries.by_path]
        given: dict[str, Sequence[str]] = dict(self._index.catalogue.tags_of(others))
        given |= {path: entries.by_path[path][0].tags for path in paths if path in entries.by_path}
        return {path for path, own in given.items() if not tags.isdisjoint(tag.casefold() for tag in own)}
