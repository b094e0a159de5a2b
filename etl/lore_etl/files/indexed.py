"""Find and read the indexed files: the project's own, and the documents written by agents for it."""

import os
import stat
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

from lore_etl.core.errors import LoreError
from lore_etl.core.model import Problem
from lore_etl.files.conversion.convert import MAX_BYTES, Converter, format_of
from lore_etl.files.git_folder import excludes
from lore_etl.files.ignore import IGNORE_FILE, Rules, rules_for
from lore_etl.files.scan import RACY_NS, FileEntry, Scan, Unreadable, is_skipped, lasting_stamp, stamp_of, text_of, walk
from lore_etl.system.open_folder import facts_below, open_below, read_below

KNOWLEDGE = "@lore"  # the name of the folder under which documents written by agents appear in the index
PULLED = "@tickets"  # the same for tickets from a tracker, which are in the folder `tickets` of the index
ADDED = "@docs"  # the same for documentation of libraries, which is in the folder `docs` of the index
MEMORIES = f"{KNOWLEDGE}/memories"
_ORIGINS = {MEMORIES: "memory", KNOWLEDGE: "agent", PULLED: "tracker", ADDED: "library"}
EVERYTHING = "."  # the root of the project, for a change that cannot be assigned to a file
_RESERVED = {
    KNOWLEDGE: "documents that agents wrote",
    PULLED: "tickets from a tracker",
    ADDED: "documentation of libraries",
}
NOTHING_TO_INDEX = (
    "A sync found no files to index in this project.",
    "Lore indexes documents, source code and configuration that git does not ignore; `lore status` counts the files "
    "it finds and those it leaves out. Add such files, name ignored ones in `index.include`, or choose another folder.",
)
"""Message and hint of an IndexMissing after a sync: another sync would change nothing."""


class KnowledgeFolder(Protocol):
    """The documents written by agents; those of all projects are in `home`, which is not part of the project."""

    @property
    def home(self) -> Path: ...

    def folder(self) -> Path | None:
        """Return the folder of this project, or None before the first write. Raises LoreError if it is ambiguous."""


class ProjectFiles:
    """The files of a project by path in the index: those of the last scan, if `notice` learns of all changes."""

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
        reserved = {root / name for name in _RESERVED}
        self._skip = {index, *reserved} | ({knowledge.home} if knowledge else set())
        self._index = index
        self._knowledge = knowledge.folder if knowledge else lambda: None
        self._guard = threading.Lock()  # held during a scan: an older one must not replace a newer one
        self._last: Scan | None = None
        self._reports = threading.Lock()
        self._reported = set[str]()

    @cached_property
    def _configured(self) -> Rules:
        return rules_for(self._root, self._exclude, self._skip, self._include)

    @property
    def _rules(self) -> Rules:
        return self._configured.entering(excludes(self._root))

    @cached_property
    def _rules_of_others(self) -> Rules:
        return rules_for(self._root, self._exclude)

    def notice(self, places: Iterable[str]) -> None:
        """Look at these files or folders, by their paths on disk, in the next `look`."""
        roots = self.folders()
        names = (KNOWLEDGE, "")[-len(roots) :]
        reported = {_path_of(Path(place), zip(reversed(roots), names, strict=True)) for place in places}
        with self._reports:
            self._reported |= reported

    def scan(self) -> Scan:
        """Find all files. Raises ConfigError for an invalid pattern."""
        with self._guard:
            return self._scan()

    def has_news(self) -> bool:
        return bool(self._reported)

    def look(self) -> Scan:
        """Look at the reported files again, or at all if that is not enough; return all. Raises ConfigError."""
        with self._guard:
            reported = self._take_reports()
            last = self._last
            if last is None or last.unreadable:
                return self._scan()
            files = dict(last.files)
            was_refused = any(_is_at_or_below(problem.source, path) for problem in last.refused for path in reported)
            if was_refused or not all(self._update(path, files) for path in reported):
                return self._scan()
            if files.keys() != last.files.keys():
                files = dict(sorted(files.items()))
            return self._keep(Scan(files, [], last.refused))

    def _scan(self) -> Scan:
        self._take_reports()  # before the scan, which may miss a change that is reported during it
        found = walk(self._root, self._rules)
        for name, content in _RESERVED.items():
            if facts_below(self._root, name):
                found.refused.append(Problem(name, f"`{name}` is reserved for {content}; rename the folder"))
        for name in (PULLED, ADDED):
            root, start = self._where(name)
            self._add(found, name, root, start.rstrip("/"))
        self._add_knowledge(found)
        return self._keep(found)

    def _keep(self, found: Scan) -> Scan:
        """Keep the files for the next `look`, which looks again at those that were just written; return a copy."""
        self._last = found
        with self._reports:
            self._reported |= {path for path, entry in found.files.items() if not entry.stamp}
        return found.copy()

    def _take_reports(self) -> set[str]:
        with self._reports:
            reported, self._reported = self._reported, set()
        return reported

    def _update(self, path: str, files: dict[str, FileEntry]) -> bool:
        """Update one file; return False if other files may have changed with it."""
        if path == EVERYTHING or PurePosixPath(path).name == IGNORE_FILE:
            return False
        try:
            facts = self._facts(path)
        except OSError:
            return False
        if facts is None:
            if files.pop(path, None) is None:
                return not any(_is_at_or_below(known, path) for known in files)
        elif stat.S_ISDIR(facts.st_mode):
            return path not in files and self.is_skipped(path, is_folder=True)
        elif not stat.S_ISREG(facts.st_mode):
            return path not in files and self.is_skipped(path)
        elif path in files or not self.is_skipped(path):
            files[path] = FileEntry(path, facts.st_size, lasting_stamp(facts, time.time_ns()))
        return True

    def is_skipped(self, path: str, is_folder: bool = False) -> bool:
        """Return whether a scan skips a file or folder: it is ignored, excluded, hidden or not part of the project."""
        top, _, below = path.partition("/")
        if top not in _RESERVED:
            return is_skipped(self._root, path, self._rules, is_folder)
        if self._rules_of_others.leaves_out(top, is_folder=True):
            return True
        root, _ = self._where(f"{top}/")
        return bool(below) and is_skipped(root, below, self._rules_of_others.inside(top), is_folder)

    def _facts(self, path: str) -> os.stat_result | None:
        root, below = self._where(path)
        parent, _, name = below.rpartition("/")
        try:
            with open_below(root, parent) as folder:
                return folder.facts(name)
        except FileNotFoundError:
            return None

    def scan_knowledge(self, known: Mapping[str, str]) -> Scan:
        """Find the documents written by agents, and combine them with the known stamps of the project's own files."""
        found = Scan({path: FileEntry(path, 0, stamp) for path, stamp in known.items() if not is_knowledge(path)})
        self._add_knowledge(found)
        return found

    def folders(self) -> list[Path]:
        more = None
        with suppress(LoreError):  # a scan reports why it is unreadable
            more = self._knowledge()
        return [self._root, more] if more is not None and more.is_dir() else [self._root]

    def settle(self, found: Scan) -> None:
        """Wait a clock tick for files that were just written, so that their stamps are reliable."""
        young = [path for path, entry in found.files.items() if not entry.stamp]
        if young:
            time.sleep(RACY_NS / 1e9)
        for path in young:
            if info := facts_below(*self._where(path)):  # otherwise it was deleted: reading it will report that
                found.files[path] = FileEntry(path, info.st_size, lasting_stamp(info, time.time_ns()))

    def read(self, entry: FileEntry, max_bytes: int, converter: Converter | None = None) -> str:
        """Read a file as text, see `text_of`, or convert it to text. Raises Unreadable."""
        is_document = format_of(entry.path) is not None
        limit, setting = (MAX_BYTES, "for documents") if is_document else (max_bytes, "index.max_file_bytes")
        if entry.size > limit:
            raise Unreadable(f"too large: {entry.size:,} bytes, the limit is {limit:,} ({setting})")
        try:
            data = self.beginning(entry.path, limit + 1)
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}") from error
        return (converter or Converter()).convert(entry.path, data) if is_document else text_of(data, max_bytes)

    def beginning(self, path: str, limit: int) -> bytes:
        """Return up to `limit` bytes of a file. Raises OSError."""
        return read_below(*self._where(path), limit)

    def stamps(self, paths: Collection[str]) -> dict[str, str]:
        """Return the stamps of the files that exist. Looks up the knowledge folder at most once."""
        folder = None
        with suppress(LoreError):
            folder = self._knowledge() if any(map(is_knowledge, paths)) else None
        places = {path: self._place(path, folder) for path in paths}
        found = {path: facts_below(*place) for path, place in places.items() if place is not None}
        return {path: stamp_of(info) for path, info in found.items() if info and stat.S_ISREG(info.st_mode)}

    def _where(self, path: str) -> tuple[Path, str]:
        folder = self._knowledge() if is_knowledge(path) else None
        return self._place(path, folder) or (self._root, path)

    def _place(self, path: str, knowledge: Path | None) -> tuple[Path, str] | None:
        """Return a root and the path of a file below it; None for a knowledge file without a knowledge folder."""
        top, _, below = path.partition("/")
        if top in (PULLED, ADDED):
            below = f"{top.removeprefix('@')}/{below}"
            if not self._index.is_relative_to(self._root):
                return self._index, below
            # the project's files are not trusted, so that they are opened below its root
            return self._root, f"{self._index.relative_to(self._root).as_posix()}/{below}"
        if top != KNOWLEDGE:
            return self._root, path
        return (knowledge, below) if knowledge else None

    def _add_knowledge(self, found: Scan) -> None:
        """Add the knowledge files. If their folder is unreadable, the indexed files stay."""
        try:
            folder = self._knowledge()
        except LoreError as error:
            found.unreadable.append(Problem(KNOWLEDGE, error.message))
            return
        if folder is not None:
            self._add(found, KNOWLEDGE, folder.parent, folder.name)

    def _add(self, found: Scan, name: str, root: Path, start: str) -> None:
        """Add the files of a folder below a root under a reserved name, if the folder exists."""
        facts = None if self._rules_of_others.leaves_out(name, is_folder=True) else facts_below(root, start)
        if facts and stat.S_ISDIR(facts.st_mode):
            found.add(walk(root, self._rules_of_others.inside(name), start, name + "/"))


def _path_of(place: Path, roots: Iterable[tuple[Path, str]]) -> str:
    for root, name in roots:
        if place.is_relative_to(root):
            return PurePosixPath(name, place.relative_to(root).as_posix()).as_posix()
    return EVERYTHING


def origin_of_file(source: str) -> str:
    """Return where an indexed file comes from, by its path."""
    return next((origin for folder, origin in _ORIGINS.items() if source.startswith(f"{folder}/")), "project")


def is_knowledge(path: str) -> bool:
    return path.startswith(KNOWLEDGE + "/")


def differing(found: Scan, known: Mapping[str, str]) -> frozenset[str]:
    """Return added, changed and deleted files: none in unreadable folders, and those being written only if new."""
    stamps = {path: entry.stamp for path, entry in found.files.items()}
    changed = {path for path, stamp in stamps.items() if known.get(path) != stamp and (stamp or path not in known)}
    return frozenset(changed | {path for path in known if path not in stamps and not found.hides(path)})


def _is_at_or_below(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) : len(place) + 1] in ("", "/")
