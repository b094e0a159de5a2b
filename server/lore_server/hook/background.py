"""Run work that outlasts the command: in a forked child, which reports its progress while the command listens.

A forked child needs no arguments, and starts with all that the command has imported and read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lore_server.console.terminal import VisibleFormatter

JSON = dict[str, Any]
Send = Callable[[JSON], None]

MAX_SECONDS = 1800  # then the child is ended: it holds the lock, and a call may hang
MAX_LOG_BYTES = 1_000_000
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


def start(work: Callable[[Send], None], log_file: Path) -> int:
    """Run the work in a child process. Return the end of a pipe for `messages`. Raises OSError."""
    if log_file.exists() and log_file.stat().st_size > MAX_LOG_BYTES:
        log_file.replace(log_file.with_name(f"{log_file.name}.1"))
    log = os.open(log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    source, target = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
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


def messages(source: int, seconds: float) -> Iterator[JSON]:
    """Yield the child's messages for a limited time; the last is `ended` if the child ends within it."""
    deadline, rest = time.monotonic() + seconds, b""
    with contextlib.closing(os.fdopen(source, "rb", buffering=0)) as pipe:
        while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            data = pipe.read(65_536)
            if not data:
                yield {"ended": True}
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)


def _detach(log: int) -> None:
    """Leave the terminal, the caller's pipes and the command's process group."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, standard)
    signal.alarm(MAX_SECONDS)


def _logging_to(target: int) -> Send:
    """Log to standard error and to the pipe; return the function that sends other messages to the pipe."""

    def send(message: JSON) -> None:
        with contextlib.suppress(BrokenPipeError):  # the command has ended
            os.write(target, json.dumps(message).encode() + b"\n")

    class PipeHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            send({"log": record.getMessage(), "is_warning": record.levelno >= logging.WARNING})

    to_file = logging.StreamHandler(sys.stderr)
    to_file.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[to_file, PipeHandler()], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
    return send
