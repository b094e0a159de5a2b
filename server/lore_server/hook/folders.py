"""The memory files below the configured folders. They are only found here, not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from lore_etl.core.model import Problem
from lore_server.knowledge.names import ascii_slug

MEMORY = ".claude/MEMORY"  # below the home folder
GROUPS = ("learning", "research")
SUFFIXES = frozenset({".md", ".markdown"})


@dataclass(frozen=True)
class MemoryFile:
    """A file: its absolute path, its name for people, the group of its memory, and the source it takes turns in."""

    path: str
    label: str
    group: str
    source: str
    size: int
    modified_ns: int


@dataclass
class FoundFiles:
    """What a walk found. `whole` are the folders of which everything was seen: what is not there now is gone."""

    files: dict[str, MemoryFile] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)


def usual_folders(home: Path) -> list[Path]:
    """Where Claude Code's memory system keeps what is learned and researched."""
    usual = [home / MEMORY / name.upper() for name in GROUPS]
    return [folder for folder in usual if folder.is_dir()] or usual[:1]


def find(folders: Sequence[Path]) -> FoundFiles:
    """Every Markdown file below the folders, at any depth. Links are not followed, hidden files are left out.

    Of a folder that has LEARNING/ or RESEARCH/, these are read and nothing else.
    """
    found = FoundFiles()
    for folder in folders:
        for root in _roots(Path(os.path.realpath(folder)), found):
            problems = len(found.problems)
            _walk(root, PurePosixPath(), found)
            if len(found.problems) == problems:
                found.whole.append(str(root))
    return found


def _roots(folder: Path, found: FoundFiles) -> list[Path]:
    if not _is_text(str(folder)):
        found.problems.append(Problem(_shown(folder), "its name is not UTF-8"))
        return []
    try:
        own = sorted(one for one in folder.iterdir() if one.name.lower() in GROUPS and one.is_dir())
    except OSError as error:
        found.problems.append(Problem(_shown(folder), f"cannot be read: {error.strerror}"))
        return []
    return own or [folder]


def _walk(root: Path, inside: PurePosixPath, found: FoundFiles) -> None:
    label = f"{root.name}/{inside}".removesuffix("/.")
    try:
        with os.scandir(root / inside) as entries:
            listed = sorted((one for one in entries if not one.name.startswith(".")), key=lambda one: one.name)
    except OSError as error:
        found.problems.append(Problem(label, f"cannot be read: {error.strerror}"))
        return
    for entry in listed:
        if not _is_text(entry.name):
            found.problems.append(Problem(_shown(Path(label, entry.name)), "its name is not UTF-8"))
        elif entry.is_dir(follow_symlinks=False):
            _walk(root, inside / entry.name, found)
        elif PurePosixPath(entry.name).suffix.lower() in SUFFIXES:
            _add(entry, root, inside, found)


def _add(entry: os.DirEntry[str], root: Path, inside: PurePosixPath, found: FoundFiles) -> None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError as error:
        found.problems.append(Problem(entry.name, f"cannot be read: {error.strerror}"))
        return
    if not stat.S_ISREG(info.st_mode):
        return
    above = (root.name, *inside.parts)
    group = next((one.lower() for one in above if one.lower() in GROUPS), None) or ascii_slug(root.name)
    label, source = "/".join((*above, entry.name)), "/".join((str(root), *inside.parts[:1]))
    found.files[entry.path] = MemoryFile(entry.path, label, group, source, info.st_size, info.st_mtime_ns)


def _is_text(name: str) -> bool:
    """False for a name that is not UTF-8: it could be noted down nowhere."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _shown(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()
