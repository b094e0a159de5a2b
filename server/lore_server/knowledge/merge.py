"""Merge three versions of a file, for reverts and for diverged histories."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lore_etl.core.errors import GitError
from lore_server.knowledge.git.git_command import Git
from lore_server.knowledge.metadata import read_metadata, with_updated
from lore_server.knowledge.reader import exact
from lore_server.knowledge.registry import INDEX, merged_index


class Clash(Exception):
    """Both sides have changed the same lines."""


def merged(git: Git, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the file with the changes of both sides; None if it is deleted. Raises Clash, GitError."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if path == INDEX:
        whole = merged_index(base, ours, theirs)
        if whole is None:
            raise Clash(path)
        return whole
    if ours is None or theirs is None or base is None:
        raise Clash(path)
    return _merged_lines(git, path, *_same_date(base, ours, theirs))


def _same_date(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bytes, bytes]:
    """Set `updated` to the later date in all versions: every write sets it, and it must not cause a conflict."""
    texts = [exact(data) for data in (base, ours, theirs)]
    dates = [date for text in texts[1:] if (date := read_metadata(text).updated)]
    if len(dates) < 2:
        return base, ours, theirs
    base, ours, theirs = (with_updated(text, max(dates)).encode("utf-8", "surrogateescape") for text in texts)
    return base, ours, theirs


def _merged_lines(git: Git, path: str, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            (Path(folder) / name).write_bytes(data)
        names = [str(Path(folder) / name) for name in ("ours", "base", "theirs")]
        try:
            return git.run("merge-file", "-p", "-q", *names)
        except GitError as error:  # the exit status is the number of conflicts
            raise Clash(path) from error
