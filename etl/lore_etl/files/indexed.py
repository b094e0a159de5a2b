"""The files that are indexed: those of the project, and what agents wrote for it in the knowledge folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lore_etl.core.errors import LoreError
from lore_etl.core.model import Problem
from lore_etl.files.scan import FileEntry, Scan, is_passed_over, read_text, scan, settle, stamp_of

KNOWLEDGE = "@lore"
"""The name under which what agents wrote appears beside the project's own folders."""
_TAKEN = f"its name is that of what agents wrote; give the folder another one than `{KNOWLEDGE}`"
NOTHING_TO_INDEX = (
    "A sync found no file in this project that can be indexed.",
    "Lore indexes Markdown, reStructuredText and source code that git does not ignore; `lore doctor` counts what it "
    "finds. Add such files, name ignored ones in `index.include`, or choose another folder.",
)
"""Message and hint of an IndexMissing after a sync: another sync would change nothing."""


class KnowledgeFolder(Protocol):
    """Where agents write about the project."""

    @property
    def home(self) -> Path:
        """The folder of all projects; in a project it is not a part of it."""
        ...

    def folder(self) -> Path | None:
        """The folder of this project; None as long as nothing was written. Raises LoreError if it cannot be told."""
        ...


class ProjectFiles:
    """Finds and reads them by their path in the index; its own folder is left out."""

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
        self._taken = root / KNOWLEDGE
        self._skip = {index, self._taken} | ({knowledge.home} if knowledge else set())
        self._knowledge = knowledge.folder if knowledge else lambda: None

    def scan(self) -> Scan:
        """All files as they are now. Raises ConfigError for a broken pattern."""
        found = scan(self._root, self._exclude, self._skip, include=self._include)
        if self._taken.exists():
            found.refused.append(Problem(KNOWLEDGE, _TAKEN))
        self._add_knowledge(found)
        return found

    def is_passed_over(self, path: str) -> bool:
        """Whether a scan would not come to this file of the project: it is ignored, excluded, hidden or not its own."""
        return is_passed_over(self._root, path, self._exclude, self._skip, self._include)

    def scan_knowledge(self, known: Mapping[str, str]) -> Scan:
        """What agents wrote as it is now, and the project's own files as they are known, by path and stamp."""
        found = Scan({path: FileEntry(path, 0, stamp) for path, stamp in known.items() if not is_knowledge(path)})
        self._add_knowledge(found)
        return found

    def folders(self) -> list[Path]:
        """The folders that files are looked for in, as far as they are there."""
        try:
            more = self._knowledge()
        except LoreError:
            more = None  # a scan tells why it cannot be read
        return [self._root, more] if more is not None and more.is_dir() else [self._root]

    def settle(self, found: Scan) -> None:
        """Wait a clock tick for files that were just written, so that their stamps can be trusted from now on."""
        settle(self.place, found)

    def place(self, path: str) -> Path:
        """Where the file of that path in the index is."""
        folder = self._knowledge() if is_knowledge(path) else None
        return self._place(path, folder) or self._root / path

    def read(self, entry: FileEntry, max_bytes: int) -> str:
        """The text of a file, see `read_text`. Raises Unreadable."""
        return read_text(self.place(entry.path), entry, max_bytes)

    def stamps(self, paths: Collection[str]) -> dict[str, str]:
        """The stamps of those files that are there now; where agents write is looked up once, if that is needed."""
        try:
            folder = self._knowledge() if any(map(is_knowledge, paths)) else None
        except LoreError:
            folder = None
        places = {path: self._place(path, folder) for path in paths}
        found = ((path, stamp_of(place)) for path, place in places.items() if place is not None)
        return {path: stamp for path, stamp in found if stamp is not None}

    def _place(self, path: str, folder: Path | None) -> Path | None:
        """Where a file is, given the folder in which agents write; None for what they wrote where there is none."""
        if not is_knowledge(path):
            return self._root / path
        return folder / path.removeprefix(KNOWLEDGE + "/") if folder else None

    def _add_knowledge(self, found: Scan) -> None:
        """A knowledge folder that cannot be read leaves in the index what is there of it."""
        try:
            folder = self._knowledge()
        except LoreError as error:
            found.unreadable.append(Problem(KNOWLEDGE, error.message))
            return
        if folder is not None and folder.is_dir():
            found.add(scan(folder, self._exclude, under=KNOWLEDGE + "/"))


def is_knowledge(path: str) -> bool:
    """Whether a path of the index names something that agents wrote."""
    return path.startswith(KNOWLEDGE + "/")


def differing(found: Scan, known: Mapping[str, str]) -> frozenset[str]:
    """Files that were added, changed or deleted since they were known by these stamps.

    Of what lies in a folder that cannot be read nothing is said; what is just being written counts when it is new.
    """
    stamps = {path: entry.stamp for path, entry in found.files.items()}
    changed = {path for path, stamp in stamps.items() if known.get(path) != stamp and (stamp or path not in known)}
    return frozenset(changed | {path for path in known if path not in stamps and not found.hides(path)})
