"""Find and read the memory files in the configured folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lore_etl.core.text import is_encodable, storable
from lore_etl.system.nofollow import read_regular
from lore_server.knowledge.names import ascii_slug

FOLDERS = "LORE_MEMORY_DIR"
MEMORY = ".claude/MEMORY"  # in the home folder
GROUPS = ("learning", "research")
SUFFIXES = (".md", ".markdown")
MAX_BYTES = 20_000_000


class UnreadableMemory(Exception):
    """A memory file that cannot be read; the message gives the reason."""


@dataclass(frozen=True)
class MemoryFile:
    """A memory file: absolute path, label for people, group of its memory. Uploads alternate between sources."""

    path: str
    label: str
    group: str
    source: str
    modified_ns: int


@dataclass
class FoundFiles:
    """The files by path. The `complete` folders were read without errors: a file missing there was deleted."""

    files: dict[str, MemoryFile] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    complete: list[str] = field(default_factory=list)

    def report(self, path: str, reason: str) -> None:
        self.problems.append(f"{storable(path)}: {reason}")


def memory_folders(
    given: Sequence[Path], configured: Sequence[str], project: Path, environment: Mapping[str, str]
) -> list[Path]:
    """Return the folders from the command line, else from the configuration, the environment or the memory system.

    A project's `lore.toml` may name only folders inside the project (`lore_etl.config.policy`), the user's file any
    folder.
    """
    if given:
        return list(given)
    if configured:
        return [Path(os.path.realpath(project / os.path.expanduser(name))) for name in configured]  # noqa: PTH111
    if named := [name for name in environment.get(FOLDERS, "").split(os.pathsep) if name]:
        return [Path(name).expanduser() for name in named]
    usual = [Path.home() / MEMORY / name.upper() for name in GROUPS]
    return [folder for folder in usual if folder.is_dir()] or usual[:1]


def find_memory_files(folders: Sequence[Path]) -> FoundFiles:
    """Find the Markdown files in the folders, at any depth. Symlinks and hidden files are left out.

    In a folder that contains LEARNING/ or RESEARCH/, only these are read.
    """
    found = FoundFiles()
    for folder in map(os.path.realpath, folders):
        if not is_encodable(folder):
            found.report(folder, "its name is not UTF-8")
            continue
        for root in _roots(Path(folder)):
            problems = len(found.problems)
            _walk(root, found)
            if len(found.problems) == problems:
                found.complete.append(str(root))
    return found


def read_memory_file(file: MemoryFile) -> bytes:
    """Return the content of the file. Raises UnreadableMemory."""
    try:
        data = read_regular(Path(file.path), MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableMemory(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableMemory(f"has over {MAX_BYTES:,} bytes")
    return data


def _roots(folder: Path) -> list[Path]:
    try:
        named = sorted(path for path in folder.iterdir() if path.name.lower() in GROUPS and path.is_dir())
    except OSError:
        return [folder]  # `_walk` reports the error
    return [path for path in named if not path.is_symlink()] if named else [folder]


def _walk(root: Path, found: FoundFiles) -> None:
    def report(error: OSError) -> None:
        found.report(str(error.filename), f"cannot be read: {error.strerror}")

    for folder, subfolders, names in os.walk(root, onerror=report):
        subfolders[:] = _listed(folder, subfolders, found)
        inside = Path(folder).relative_to(root.parent)
        group = next((part.lower() for part in inside.parts if part.lower() in GROUPS), None) or ascii_slug(root.name)
        source = "/".join((str(root), *inside.parts[1:2]))
        for name in _listed(folder, names, found):
            if not name.lower().endswith(SUFFIXES):
                continue
            path, label = Path(folder, name), f"{inside.as_posix()}/{name}"
            try:
                info = path.lstat()
            except OSError as error:
                report(error)
                continue
            if stat.S_ISREG(info.st_mode):
                found.files[str(path)] = MemoryFile(str(path), label, group, source, info.st_mtime_ns)


def _listed(folder: str, names: list[str], found: FoundFiles) -> list[str]:
    """Return the names that are not hidden, sorted; report those that cannot be recorded."""
    visible = sorted(name for name in names if not name.startswith("."))
    for name in visible:
        if not is_encodable(name):
            found.report(f"{folder}/{name}", "its name is not UTF-8")
    return list(filter(is_encodable, visible))
