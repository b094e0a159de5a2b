"""Run work that outlasts the command in a child process, which reports its progress while the command listens.

A forked child needs no arguments, and inherits everything that the command has imported and read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from lore_etl.core.json_types import JSON
from lore_etl.system.durable import replace
from lore_etl.system.processes import detached
from lore_server.console.terminal import VisibleFormatter

Send = Callable[[JSON], None]

MAX_SECONDS = 1800  # then the child is terminated, because it holds the lock and a call may hang
MAX_LOG_BYTES = 1_000_000
CHILD = "LORE_HOOK_CHILD"
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


def start(work: Callable[[Send], None], log_file: Path) -> int:
    """Run the work in a child process. Return the end of a pipe for `messages`. Raises OSError."""
    if log_file.exists() and log_file.stat().st_size > MAX_LOG_BYTES:
        replace(log_file, log_file.with_name(f"{log_file.name}.1"))
    log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    return _start_child(work, log)


def messages(source: int, seconds: float) -> Iterator[JSON]:
    """Yield the child's messages for a limited time; the last is `ended` if the child ends within it."""
    deadline, lines = time.monotonic() + seconds, SimpleQueue[bytes]()
    threading.Thread(target=_read_lines, args=(source, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            return
        if not line:
            yield {"ended": True}
            return
        yield json.loads(line)


def _read_lines(source: int, lines: SimpleQueue[bytes]) -> None:
    """Pass on the lines of a pipe, then an empty line. Runs in a thread, because Windows pipes have no timeout."""
    rest = b""
    with open(source, "rb", buffering=0) as pipe:
        while data := pipe.read(65_536):
            *complete, rest = (rest + data).split(b"\n")
            for line in complete:
                lines.put(line)
    lines.put(b"")


if sys.platform == "win32":  # no fork: the child runs the same command, which then does the work itself

    def is_child() -> bool:
        """Return whether this process was started to do the work (see `run`)."""
        return CHILD in os.environ

    def run(work: Callable[[Send], None]) -> None:
        """Do the work as the child."""
        del os.environ[CHILD]
        limit = threading.Timer(MAX_SECONDS, os._exit, [1])
        limit.daemon = True
        limit.start()
        target = os.dup(1)
        os.dup2(2, 1)
        work(_logging_to(target))

    def _start_child(work: Callable[[Send], None], log: int) -> int:
        command = [sys.executable, "-P", "-m", "lore_server.cli.main", *sys.argv[1:]]
        source, target = os.pipe()
        try:
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=target, stderr=log, env={**os.environ, CHILD: "1"},
                **detached(),
            )  # fmt: skip
        finally:
            os.close(target)
            os.close(log)
        return source

else:

    def is_child() -> bool:
        """Return whether this process was started to do the work (see `run`)."""
        return False  # the forked child does the work in `_start_child`

    def run(work: Callable[[Send], None]) -> None:
        """Do the work as the child."""
        raise NotImplementedError

    def _start_child(work: Callable[[Send], None], log: int) -> int:
        source, target = os.pipe()
        if os.fork():
            os.close(target)
            os.close(log)
            return source
        code = 70
        try:
            os.close(source)
            _detach(log)
            work(_logging_to(target))
            code = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _detach(log: int) -> None:
        """Detach from the terminal, the caller's pipes and the command's process group."""
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for descriptor, standard in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(descriptor, standard)
        signal.alarm(MAX_SECONDS)


def _logging_to(target: int) -> Send:
    """Log to standard error and to the pipe; return the function that sends other messages to the pipe."""

    def send(message: JSON) -> None:
        with contextlib.suppress(OSError):  # the command has ended
            os.write(target, json.dumps(message).encode() + b"\n")

    class PipeHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send({"log": record.getMessage(), "is_warning": record.levelno >= logging.WARNING})

    to_file = logging.StreamHandler(sys.stderr)
    to_file.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[to_file, PipeHandler()], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
    return send
