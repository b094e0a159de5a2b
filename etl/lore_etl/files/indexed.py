"""Find and read the indexed files: the project's own, and the documents written by agents for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lore_etl.core.errors import LoreError
from lore_etl.core.model import Problem
from lore_etl.files.conversion.convert import MAX_BYTES, converted
from lore_etl.files.conversion.formats import format_of
from lore_etl.files.scan import FileEntry, Scan, is_skipped, read_bytes, read_text, scan, settle, stamp_of

KNOWLEDGE = "@lore"
"""The name of the folder under which documents written by agents appear in the index."""
PULLED = "@tickets"
"""The name under which tickets from a tracker appear; they are in the folder `tickets` of the index."""
ADDED = "@docs"
"""The name under which documentation of libraries appears; it is in the folder `docs` of the index."""
_RESERVED = {
    KNOWLEDGE: "documents that agents wrote",
    PULLED: "tickets from a tracker",
    ADDED: "documentation of libraries",
}
NOTHING_TO_INDEX = (
    "A sync found no files to index in this project.",
    "Lore indexes documents, source code and configuration that git does not ignore; `lore doctor` counts the files "
    "it finds and those it leaves out. Add such files, name ignored ones in `index.include`, or choose another folder.",
)
"""Message and hint of an IndexMissing after a sync: another sync would change nothing."""


class KnowledgeFolder(Protocol):
    """The folder with the documents written by agents about the project."""

    @property
    def home(self) -> Path:
        """Return the knowledge folder of all projects. If it is inside the project, it is not part of the project."""

    def folder(self) -> Path | None:
        """Return the folder of this project, or None before the first write. Raises LoreError if it is ambiguous."""


class ProjectFiles:
    """The files of a project by their path in the index, without the index folder itself."""

    def __init__(
        self,
        root: Path,
        exclude: Sequence[str],
        index: Path,
        knowledge: KnowledgeFolder | None = None,
        include: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._exclude = exclude
        self._include = include
        self._copied = {name: index / name.removeprefix("@") for name in (PULLED, ADDED)}
        reserved = {root / name for name in _RESERVED}
        self._skip = {index, *reserved} | ({knowledge.home} if knowledge else set())
        self._knowledge = knowledge.folder if knowledge else lambda: None

    def scan(self) -> Scan:
        """Find all files. Raises ConfigError for an invalid pattern."""
        found = scan(self._root, self._exclude, self._skip, include=self._include)
        for name, content in _RESERVED.items():
            if (self._root / name).exists():
                found.refused.append(Problem(name, f"`{name}` is reserved for {content}; rename the folder"))
        for name, folder in self._copied.items():
            if folder.is_dir() and not folder.is_symlink():
                found.add(scan(folder, self._exclude, under=name + "/"))
        self._add_knowledge(found)
        return found

    def is_skipped(self, path: str) -> bool:
        """Return whether a scan skips this file: it is ignored, excluded, hidden or not part of the project."""
        return is_skipped(self._root, path, self._exclude, self._skip, self._include)

    def scan_knowledge(self, known: Mapping[str, str]) -> Scan:
        """Find the documents written by agents, and combine them with the known stamps of the project's own files."""
        found = Scan({path: FileEntry(path, 0, stamp) for path, stamp in known.items() if not is_knowledge(path)})
        self._add_knowledge(found)
        return found

    def folders(self) -> list[Path]:
        """Return the existing folders to search for files."""
        try:
            more = self._knowledge()
        except LoreError:
            more = None  # a scan reports why it is unreadable
        return [self._root, more] if more is not None and more.is_dir() else [self._root]

    def settle(self, found: Scan) -> None:
        """Wait a clock tick for files that were just written, so that their stamps are reliable."""
        settle(self.place, found)

    def place(self, path: str) -> Path:
        """Return the path on disk of a file by its path in the index."""
        folder = self._knowledge() if is_knowledge(path) else None
        return self._place(path, folder) or self._root / path

    def read(self, entry: FileEntry, max_bytes: int, convert: Callable[[str, bytes], str] = converted) -> str:
        """Read a file as text, see `read_text`, or convert it to text. Raises Unreadable."""
        place = self.place(entry.path)
        if format_of(entry.path) is None:
            return read_text(place, entry, max_bytes)
        return convert(entry.path, read_bytes(place, entry, MAX_BYTES, "for documents"))

    def stamps(self, paths: Collection[str]) -> dict[str, str]:
        """Return the stamps of the files that exist. Looks up the knowledge folder at most once."""
        try:
            folder = self._knowledge() if any(map(is_knowledge, paths)) else None
        except LoreError:
            folder = None
        places = {path: self._place(path, folder) for path in paths}
        found = ((path, stamp_of(place)) for path, place in places.items() if place is not None)
        return {path: stamp for path, stamp in found if stamp is not None}

    def _place(self, path: str, folder: Path | None) -> Path | None:
        """Return the path on disk, or None for a knowledge file without a knowledge folder."""
        top, _, below = path.partition("/")
        if top in self._copied:
            return self._copied[top] / below
        if not is_knowledge(path):
            return self._root / path
        return folder / path.removeprefix(KNOWLEDGE + "/") if folder else None

    def _add_knowledge(self, found: Scan) -> None:
        """Add the knowledge files. If their folder is unreadable, the indexed files stay."""
        try:
            folder = self._knowledge()
        except LoreError as error:
            found.unreadable.append(Problem(KNOWLEDGE, error.message))
            return
        if folder is not None and folder.is_dir():
            found.add(scan(folder, self._exclude, under=KNOWLEDGE + "/"))


def is_knowledge(path: str) -> bool:
    """Return whether a path of the index is a document written by agents."""
    return path.startswith(KNOWLEDGE + "/")


def is_library(path: str) -> bool:
    """Return whether a path of the index is documentation that the user added."""
    return path.startswith(ADDED + "/")


def differing(found: Scan, known: Mapping[str, str]) -> frozenset[str]:
    """Return the files that were added, changed or deleted since these stamps were taken.

    Files in unreadable folders are not reported. A file that is being written is reported if it is new.
    """
    stamps = {path: entry.stamp for path, entry in found.files.items()}
    changed = {path for path, stamp in stamps.items() if known.get(path) != stamp and (stamp or path not in known)}
    return frozenset(changed | {path for path in known if path not in stamps and not found.hides(path)})
