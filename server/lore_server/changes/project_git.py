"""Run git to read the history of a project. The project is untrusted, and so is its `.git`."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.errors import InvalidArgument, StorageError
from lore_etl.system.nofollow import leads_elsewhere, read_regular
from lore_etl.system.processes import quiet

# These options keep git from running programs or opening connections named in .git/config.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gpg.program=false")
LOG = ("log", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--no-mailmap", "-z")
"""`git log` with NUL after each commit, because no message contains it."""
_SAFE_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
}  # fmt: skip
_REPOSITORY_VARIABLES = (  # set by git for its hooks and aliases
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)  # fmt: skip
_LARGEST_POINTER = 4_096
NO_HISTORY = "This project has no git history."


class GitOutput(NamedTuple):
    """The output of git, and whether git finished in time."""

    text: str
    is_complete: bool


def read_git(root: Path, *arguments: str, seconds: float, max_bytes: int = -1) -> GitOutput:
    """Run git in a folder for at most some seconds, and return at most `max_bytes` of its output.

    Raises:
        InvalidArgument: the folder has no history, or git fails.
        StorageError: git cannot be run.
    """
    if not _owns_its_history(root):
        raise InvalidArgument(NO_HISTORY, "Its .git leads to another place, which Lore does not follow.")
    kept = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    try:
        process = subprocess.Popen(
            ["git", *_HARMLESS, "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | _SAFE_ENVIRONMENT,
            **quiet(),
        )
    except OSError as error:
        raise StorageError("git cannot be run.", "Install git.") from error
    with process:
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        data = process.stdout.read(max_bytes) if process.stdout else b""
        is_complete = len(data) != max_bytes and timer.is_alive()
        timer.cancel()
        if not is_complete:
            process.kill()
    if is_complete and process.returncode:
        raise InvalidArgument(NO_HISTORY, "Lore reads commits with git: commit something first.")
    return GitOutput(data.decode("utf-8", "replace"), is_complete)


def _owns_its_history(root: Path) -> bool:
    """Return whether `.git` stays within this repository; otherwise a project could show the user's private commits.

    The `.git` of a worktree or submodule leads elsewhere, to a folder that refers back to it.
    """
    for folder in (root, *root.parents):
        git = folder / ".git"
        if not os.path.lexists(git):
            continue
        try:
            return _is_self_contained(git) if not git.is_file() else _is_worktree(git)
        except (OSError, ValueError):
            return False
    return True


def _is_self_contained(git: Path) -> bool:
    """Return whether git reads all objects from this folder; without its objects, a foreign ref reveals nothing."""
    objects = git / "objects"
    if any(map(os.path.lexists, (git / "commondir", objects / "info" / "alternates"))):
        return False
    folders = (git, objects, objects / "info", objects / "pack")
    return not any(leads_elsewhere(folder.lstat()) for folder in folders if os.path.lexists(folder)) and not any(
        leads_elsewhere(entry.stat(follow_symlinks=False))
        for folder in (objects, objects / "pack")
        if folder.is_dir()
        for entry in os.scandir(folder)
    )


def _is_worktree(pointer: Path) -> bool:
    """Return whether the folder that a `.git` file names is one of a surrounding repository, or names the file."""
    text = read_regular(pointer, _LARGEST_POINTER).decode().strip()
    target = (pointer.parent / text.removeprefix("gitdir: ")).resolve()
    if any(target.is_relative_to(folder / ".git" / "modules") for folder in pointer.parents):
        return _is_self_contained(target)
    named = read_regular(target / "gitdir", _LARGEST_POINTER).decode().strip()
    return (target / named).resolve() == pointer.resolve()
