"""Merge three versions of a file, for reverts and for diverged histories."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lore_etl.core.errors import GitError
from lore_server.knowledge.document import read_metadata, with_updated
from lore_server.knowledge.git.git_command import Git
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
    texts = {"ours": exact(ours), "base": exact(base), "theirs": exact(theirs)}
    dates = [read_metadata(texts[name]).updated for name in ("ours", "theirs")]
    if dates[0] and dates[1]:  # every write sets the date, so it must not cause a conflict
        texts = {name: with_updated(text, max(dates[0], dates[1])) for name, text in texts.items()}
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            return git.run("merge-file", "-p", "-q", *(str(Path(folder) / name) for name in texts))
        except GitError as error:  # the exit status is the number of conflicts
            raise Clash(path) from error
