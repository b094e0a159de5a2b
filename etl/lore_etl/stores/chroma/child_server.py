"""A `chroma run` of our own: started on a free port of this machine, watched, stopped; never one of somebody else.

A lock that the process itself holds says whether a folder is served; a note beside it says by whom, with the time the
process began, since numbers of processes are used again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path

from filelock import FileLock, Timeout

from lore_etl.core.errors import DatabaseUnavailable, StorageError
from lore_etl.stores.chroma.child_main import LOCK, NOTE
from lore_etl.system.processes import born, detached, kill, terminate

LOG = "chroma.log"
LOG_BYTES = 1_000_000
START_SECONDS, END_SECONDS, POLL_SECONDS = 60, 15, 0.02
PORTS_TRIED = 5
# nothing else: CHROMA_*, OTEL_* and RUST_* would tell the server where to listen, what to keep and whom to report to
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "TEMP")


class ChromaProcess:
    """One server on one folder. It ends with this process, however this one ends."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], port: int) -> None:
        self._folder = folder
        self._process = process
        self.port = port

    @classmethod
    def start(cls, folder: Path, log: Path, ports: Iterable[int] | None = None) -> ChromaProcess:
        """Start it on the first port that is free, and wait until it answers.

        Raises:
            DatabaseUnavailable: it ended at once, or does not answer; the log says why.
        """
        said = ""
        for port in ports or _free_ports():
            with _opened(log) as output:
                from_here = output.tell()
                process = subprocess.Popen(
                    # -P: the folder we are run in is somebody's project, and nothing in it may be imported
                    [sys.executable, "-P", "-m", "lore_etl.stores.chroma.child_main", str(folder), str(port)],
                    stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                    env={**{key: os.environ[key] for key in PASSED_ON if key in os.environ}, "NO_COLOR": "1"},
                    **detached(),  # Ctrl-C is for us: it serves until we are done
                )  # fmt: skip
            started = cls(folder, process, port)
            try:
                if started._answers(log, from_here):
                    return started
            except BaseException:
                started.stop()
                raise
            said = _tail(log, from_here)
            started.stop()
            if f":{port} is not available" not in said:
                break
        last = (said.strip() or "it says nothing").splitlines()[-1][:200].rstrip(".")
        raise DatabaseUnavailable(
            f"Chroma's server does not start: {last}.",
            f"{log.name} in the index folder says why.",
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it, by the end of its input, and wait for that; it is killed if it takes too long."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_SECONDS)

    def _answers(self, log: Path, from_here: int) -> bool:
        """Whether it is ready. A heartbeat alone could be that of another server on the same port."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.is_running():
            said = _tail(log, from_here)
            if re.search(rf"listening on .*:{self.port}\b", said) and _beats(self.port):
                return True
            time.sleep(POLL_SECONDS)
        return False


def end_left_over(folder: Path, patience: float = END_SECONDS) -> None:
    """End the server that a killed Lore left on a folder. It ends by itself; here that is waited for.

    Raises:
        StorageError: a process holds the folder that is not known to be ours, or does not end.
    """
    if not (folder / LOCK).exists():
        return
    lock = FileLock(folder / LOCK, mode=0o600, thread_local=False)
    for end in (None, terminate, kill):
        if end is not None:
            _end(folder, end)
        try:
            lock.acquire(timeout=0 if end is None else patience)
        except Timeout:
            continue
        except OSError as error:
            raise StorageError(f"Cannot lock {folder.name}/: {error.strerror}.") from error
        (folder / NOTE).unlink(missing_ok=True)
        lock.release()
        return
    raise StorageError(
        f"A process that is not known to be Lore's holds {folder.name}/.", f"End the one that has {LOCK} open."
    )


def _end(folder: Path, end: Callable[[int], None]) -> None:
    """End the process of the note, if it is still that process."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        if note["born"] and born(int(note["pid"])) == note["born"]:
            end(int(note["pid"]))


def _free_ports() -> Iterator[int]:
    """Ports that were free a moment ago."""
    for _ in range(PORTS_TRIED):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        yield port


def _opened(log: Path) -> FileIO:
    if log.exists() and log.stat().st_size > LOG_BYTES:
        os.truncate(log, 0)
    return open(log, "ab", buffering=0)


def _tail(log: Path, from_here: int) -> str:
    with open(log, "rb") as file:
        file.seek(from_here)
        return file.read().decode("utf-8", "replace")


def _beats(port: int) -> bool:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection("127.0.0.1", port, timeout=5)  # no proxy of the environment lies between
    try:
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
