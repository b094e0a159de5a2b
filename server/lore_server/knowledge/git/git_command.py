"""Run git with a list of arguments, without foreign configuration or hooks, and with a deadline."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lore_etl.core.errors import GitError, os_errors_as
from lore_etl.core.tables import table
from lore_etl.files.git_folder import ALLOCATION
from lore_etl.system.processes import kill_session
from lore_server.knowledge.git.commits import COMMITTER, EMAIL

SECONDS = 30.0
_OPTIONS: dict[str, str] = table(__file__)
_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_PROXY_COMMAND")


class Git:
    """Git in one repository."""

    def __init__(self, home: Path) -> None:
        self._home = home
        options = _OPTIONS | {"safe.directory": str(home)}  # the user chose the folder, so its owner does not matter
        self._prefix = ["git", *(part for key, value in options.items() for part in ("-c", f"{key}={value}"))]

    def run(
        self,
        *arguments: str,
        data: bytes = b"",
        keep: Sequence[int] = (),  # descriptors for git to inherit
        seconds: float = SECONDS,
        remote: bool = False,  # read the user's configuration, for credentials
    ) -> bytes:
        """Run git and return its output. Raises GitError if git is not installed, fails, or takes too long."""
        with self.start(*arguments, keep=keep, remote=remote) as process:
            return finish(process, data, seconds)

    def start(self, *arguments: str, keep: Sequence[int] = (), remote: bool = False) -> subprocess.Popen[bytes]:
        """Start git and return its process; `finish` waits for it. Raises GitError."""
        with os_errors_as(GitError, "Git cannot be started", "Install git, 2.31 or newer."):
            return subprocess.Popen(
                [*self._prefix, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._home,
                env=_environment(remote),
                pass_fds=() if sys.platform == "win32" else tuple(keep),  # on Windows, there are none
                start_new_session=True,  # without a terminal, no program can ask for a password
            )


def finish(process: subprocess.Popen[bytes], data: bytes = b"", seconds: float = SECONDS) -> bytes:
    """Wait for the process and return its output. Raises GitError."""
    try:
        output, problem = process.communicate(data, seconds)
    except subprocess.TimeoutExpired as error:
        kill_session(process.pid)  # a child of git that waits for the network would keep our pipes open
        process.communicate()
        raise GitError(f"Git did not finish within {seconds:.0f} seconds.") from error
    if process.returncode:
        lines = problem.decode(errors="replace").strip().splitlines() or [f"status {process.returncode}"]
        raise GitError(f"Git failed: {' '.join(lines)[:500]}")
    return output


def _environment(remote: bool) -> dict[str, str]:
    """Return our environment without the variables that control git, with English messages and without prompts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    more = {"LC_ALL": "C", "GIT_COMMITTER_NAME": COMMITTER, "GIT_COMMITTER_EMAIL": EMAIL}  # for the reflog
    more |= {"GIT_TERMINAL_PROMPT": "0", "SSH_ASKPASS_REQUIRE": "never", "GIT_OPTIONAL_LOCKS": "0"}
    if not remote:
        more |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return kept | ALLOCATION | more
