"""Find and read the memory files in the configured folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lore_etl.core.text import is_encodable, storable
from lore_etl.system.nofollow import entry_facts, is_real_folder
from lore_etl.system.open_folder import open_real, read_below
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
    """A memory file: absolute path, label for people, group of its memory."""

    path: str
    label: str
    group: str
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
    if configured and not given:
        paths = [Path(os.path.normpath(project / os.path.expanduser(name))) for name in configured]  # noqa: PTH111
        # the project's own are not resolved: a symlink on the way is refused, even one that appears later
        return [path if path.is_relative_to(project) else _real(path) for path in paths]
    if given:
        return list(map(_real, given))
    if named := [name for name in environment.get(FOLDERS, "").split(os.pathsep) if name]:
        return [_real(Path(name).expanduser()) for name in named]
    usual = [Path.home() / MEMORY / name.upper() for name in GROUPS]
    return [_real(folder) for folder in usual if folder.is_dir()] or usual[:1]


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def find_memory_files(folders: Sequence[Path]) -> FoundFiles:
    """Find the Markdown files in the folders, at any depth. Symlinks and hidden files are left out.

    In a folder that contains LEARNING/ or RESEARCH/, only these are read.
    """
    found = FoundFiles()
    for folder in folders:
        if not is_encodable(str(folder)):
            found.report(str(folder), "its name is not UTF-8")
            continue
        for root in _roots(folder):
            problems = len(found.problems)
            _walk(root, root, found)
            if len(found.problems) == problems:
                found.complete.append(str(root))
    return found


def read_memory_file(file: MemoryFile) -> bytes:
    """Raises UnreadableMemory."""
    path = Path(file.path)
    try:
        data = read_below(Path(path.anchor), path.relative_to(path.anchor).as_posix(), MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableMemory(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableMemory(f"has over {MAX_BYTES:,} bytes")
    return data


def _roots(folder: Path) -> list[Path]:
    try:
        with open_real(folder) as opened:
            named = {
                entry.name: is_real_folder(entry)
                for entry in opened.entries()
                if entry.name.lower() in GROUPS and not entry.is_file(follow_symlinks=False)
            }
    except OSError:
        return [folder]  # `_walk` reports the error
    return [folder / name for name in sorted(named) if named[name]] if named else [folder]


def _walk(root: Path, folder: Path, found: FoundFiles) -> None:
    inside = folder.relative_to(root.parent)
    group = next((part.lower() for part in inside.parts if part.lower() in GROUPS), None) or ascii_slug(root.name)
    folders = []
    try:
        with open_real(folder) as opened:
            for entry in sorted(opened.entries(), key=lambda entry: entry.name):
                if entry.name.startswith("."):
                    continue
                if not is_encodable(entry.name):
                    found.report(f"{folder}/{entry.name}", "its name is not UTF-8")  # so it cannot be recorded
                elif is_real_folder(entry):
                    folders.append(folder / entry.name)
                elif entry.name.lower().endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                    path, modified = str(folder / entry.name), entry_facts(entry).st_mtime_ns
                    label = f"{inside.as_posix()}/{entry.name}"
                    found.files[path] = MemoryFile(path, label, group, modified)
    except OSError as error:
        found.report(str(folder), f"cannot be read: {error.strerror}")
    for below in folders:
        _walk(root, below, found)
