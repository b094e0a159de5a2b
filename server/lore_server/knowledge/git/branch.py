"""Moving a branch to a new commit, without a process."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from lore_etl.core.errors import GitError
from lore_etl.files.git_head import head
from lore_etl.system.durable import replace
from lore_server.knowledge.git.commits import COMMITTER, EMAIL
from lore_server.knowledge.git.git_command import Git

WAIT_SECONDS = 2.0
_PAUSE_SECONDS = 0.002
_NONE = "0" * 40


def move_branch(home: Path, git: Git, commit: str, tip: str | None, keep: Sequence[int]) -> None:
    """As `git update-ref` does, by its lock (gitrepository-layout(5)); that takes 5 ms of processor time more.

    `tip` is where the branch is; `keep` are descriptors for git, if it is needed after all.

    Raises:
        GitError: the branch was moved meanwhile, or cannot be.
    """
    branch = head(home).branch
    folder = home / ".git"
    if branch is None or (folder / "reftable").exists():
        git.run("update-ref", "HEAD", commit, tip or _NONE, keep=keep)
        return
    ref = folder / "refs" / "heads" / branch
    lock = ref.with_name(f"{ref.name}.lock")
    try:
        ref.parent.mkdir(parents=True, exist_ok=True)
        with open(_locked(lock), "w", encoding="ascii") as file:
            file.write(f"{commit}\n")
        if head(home).commit != tip:
            lock.unlink()
            raise GitError("Another git process has moved the branch.", "Try again.")
        replace(lock, ref)
    except OSError as error:
        raise GitError(f"Cannot move the branch: {error.strerror}.") from error
    _note(folder, branch, commit, tip)


def _locked(lock: Path) -> int:
    """The lock, opened: git has it for a moment where it packs references, as our own tidying makes it do."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)


def _note(folder: Path, branch: str, commit: str, tip: str | None) -> None:
    """The reflog: what git itself says to have been where."""
    line = f"{tip or '0' * len(commit)} {commit} {COMMITTER} <{EMAIL}> {int(time.time())} +0000\tlore\n"
    for name in ("HEAD", f"refs/heads/{branch}"):
        with contextlib.suppress(OSError):
            path = folder / "logs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(line)
