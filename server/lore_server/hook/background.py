"""Run the command again as a child process that outlasts it, and follow its log for a few seconds."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.errors import StorageError, os_errors_as
from lore_etl.system.durable import replace
from lore_etl.system.processes import detached
from lore_server.console.terminal import VisibleFormatter
from lore_server.hook.upload_state import HINT, make_folder

MAX_SECONDS = 1800  # then the child ends, because it holds the lock and a call may hang
MAX_LOG_BYTES = 1_000_000
CHILD = "LORE_HOOK_CHILD"
_LINE = re.compile(r"\S+ (\d+) ([A-Z]+) (.*)")
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


class Child(NamedTuple):
    """A child after a few seconds: its exit status, None while it runs, and what it logged: (level, message)."""

    pid: int
    status: int | None
    logged: list[tuple[str, str]]


def run_in_child(log_file: Path, seconds: float) -> Child:
    """Run this command again in a child, and wait for its end for at most so many seconds.

    Raises:
        StorageError: the log cannot be written.
    """
    make_folder(log_file.parent)
    with os_errors_as(StorageError, "Cannot start in the background", HINT):
        if log_file.exists() and log_file.stat().st_size > MAX_LOG_BYTES:
            replace(log_file, log_file.with_name(f"{log_file.name}.1"))
        with open(os.open(log_file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as log:
            start = log.seek(0, os.SEEK_END)
            command = [sys.executable, "-P", "-m", "lore_server.cli.main", *sys.argv[1:]]
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, CHILD: "1"}, **detached()
            )
            try:
                status: int | None = child.wait(seconds)
            except subprocess.TimeoutExpired:
                status, child.returncode = None, 0  # nobody waits for it, which Python would report
            log.seek(start)
            return Child(child.pid, status, list(_logged(child.pid, log.read().decode("utf-8", "replace"))))


def _logged(pid: int, text: str) -> Iterator[tuple[str, str]]:
    """Yield level and message of each line of this process, because several may log at the same time."""
    for line in text.splitlines():
        if (match := _LINE.match(line)) and int(match[1]) == pid:
            yield match[2], match[3]


def is_child() -> bool:
    """Return whether this process was started by `run_in_child`, to do the work; if so, log to its standard error."""
    if os.environ.pop(CHILD, None) is None:
        return False
    limit = threading.Timer(MAX_SECONDS, os._exit, [1])
    limit.daemon = True
    limit.start()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
    return True
