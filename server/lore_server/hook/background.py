"""Work that goes on when the command has ended: in a child that tells how far it is as long as it is heard.

The child is forked, not started: what the command has imported and read is there, and nothing is told by arguments.
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
Tell = Callable[[JSON], None]

LONGEST_SECONDS = 1800  # then the child is ended: it holds the lock, and a call of it may hang
LOG_BYTES = 1_000_000
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


def begun(work: Callable[[Tell], None], log_file: Path) -> int:
    """Do the work in a child; the end of a pipe from which `followed` reads what it tells. Raises OSError."""
    if log_file.exists() and log_file.stat().st_size > LOG_BYTES:
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
        work(_logged(target))
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


def followed(source: int, seconds: float) -> Iterator[JSON]:
    """What the child tells, for so many seconds at most; `ended` is the last if it ends before."""
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
    """Of the terminal, of the caller's pipes, of the command's process group."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, number)
    signal.alarm(LONGEST_SECONDS)


def _logged(target: int) -> Tell:
    """Logs go to the log file, and to who listens; returns how to tell the latter more."""
    pipe = _Pipe(target)
    to_file = logging.StreamHandler(sys.stderr)
    to_file.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[to_file, pipe], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
    return pipe.tell


class _Pipe(logging.Handler):
    """Lines of JSON to the command, as long as it is there."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        self.tell({"log": record.getMessage(), "is_warning": record.levelno >= logging.WARNING})

    def tell(self, message: JSON) -> None:
        """One message."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._target, json.dumps(message).encode() + b"\n")
