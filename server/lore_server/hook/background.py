"""Run work that outlasts the command in a child process, which reports its progress while the command listens.

The child runs the same command again, because a process cannot be forked on Windows.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from lore_etl.core.json_types import JSON
from lore_etl.system.durable import replace
from lore_etl.system.processes import detached
from lore_server.console.terminal import VisibleFormatter

Send = Callable[[JSON], None]

MAX_SECONDS = 1800  # then the child ends, because it holds the lock and a call may hang
MAX_LOG_BYTES = 1_000_000
CHILD = "LORE_HOOK_CHILD"
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


def start(log_file: Path) -> IO[bytes]:
    """Run this command in a child process. Return its output for `messages`. Raises OSError."""
    if log_file.exists() and log_file.stat().st_size > MAX_LOG_BYTES:
        replace(log_file, log_file.with_name(f"{log_file.name}.1"))
    with open(log_file, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as log:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "lore_server.cli.main", *sys.argv[1:]], bufsize=0, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=log, env={**os.environ, CHILD: "1"}, **detached(),
        )  # fmt: skip
    assert child.stdout is not None
    return child.stdout


def messages(source: IO[bytes], seconds: float) -> Iterator[JSON]:
    """Yield the child's messages for a limited time; the last is `ended` if the child ends within it."""
    deadline, lines = time.monotonic() + seconds, SimpleQueue[bytes]()
    threading.Thread(target=_read_lines, args=(source, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return
        if not line.endswith(b"\n"):
            yield {"ended": True}
            return
        yield json.loads(line)


def _read_lines(source: IO[bytes], lines: SimpleQueue[bytes]) -> None:
    """Pass on the lines of a pipe, then an empty line. Runs in a thread, because Windows pipes have no timeout."""
    with source:
        for line in source:
            lines.put(line)
    lines.put(b"")


def is_child() -> bool:
    """Return whether this process was started to do the work (see `run`)."""
    return CHILD in os.environ


def run(work: Callable[[Send], None]) -> None:
    """Do the work as the child: send its messages and log records to the pipe, everything else to the log."""
    del os.environ[CHILD]
    limit = threading.Timer(MAX_SECONDS, os._exit, [1])
    limit.daemon = True
    limit.start()
    target = os.dup(1)
    os.dup2(2, 1)

    def send(message: JSON) -> None:
        with contextlib.suppress(OSError):  # the command has ended
            os.write(target, json.dumps(message).encode() + b"\n")

    _log_to(send)
    work(send)


def _log_to(send: Send) -> None:
    class PipeHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send({"log": record.getMessage(), "is_warning": record.levelno >= logging.WARNING})

    to_file = logging.StreamHandler(sys.stderr)
    to_file.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[to_file, PipeHandler()], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
