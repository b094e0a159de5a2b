"""Run git to read the history of a project. The project is untrusted, and so is its `.git`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.errors import InvalidArgument, StorageError
from lore_etl.files.git_folder import NO_HISTORY, repository, require_own_objects
from lore_etl.system.open_folder import facts_below, read_below
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
    "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)  # fmt: skip
_COMMIT_FIRST = "Lore reads commits with git: commit something first."


class GitOutput(NamedTuple):
    """The output of git, and whether git finished in time."""

    text: str
    is_complete: bool


def read_git(root: Path, *arguments: str, seconds: float, max_bytes: int = -1) -> GitOutput:
    """Run git in a folder for at most some seconds, and return at most `max_bytes` of its output.

    Raises InvalidArgument if the folder has no history, leads to another repository or git fails, and StorageError if
    git cannot be run.
    """
    found = repository(root)
    if found is None:
        raise InvalidArgument(NO_HISTORY, _COMMIT_FIRST)
    require_own_objects(found)
    # named explicitly, git does not look for another repository, nor for one without `.git` in the folder itself
    places = {"GIT_DIR": str(found.folder), "GIT_COMMON_DIR": str(found.common), "GIT_WORK_TREE": str(found.top)}
    kept = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    try:
        process = subprocess.Popen(
            ["git", *_HARMLESS, "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | _SAFE_ENVIRONMENT | places,
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
        raise InvalidArgument(NO_HISTORY, _COMMIT_FIRST)
    return GitOutput(data.decode("utf-8", "replace"), is_complete)


def has_blob(root: Path, path: str, blob: str) -> bool:
    """Return whether a file below the root has the content of git's object, but perhaps other line ends.

    Git itself would run the filters that `.git/config` names. Raises OSError.
    """
    algorithm, facts = {40: hashlib.sha1, 64: hashlib.sha256}.get(len(blob)), facts_below(root, path)
    if algorithm is None or facts is None:
        return False
    content = read_below(root, path, facts.st_size)
    texts = (content, content.replace(b"\r\n", b"\n"))
    return any(algorithm(b"blob %d\0%b" % (len(text), text)).hexdigest() == blob for text in texts)
