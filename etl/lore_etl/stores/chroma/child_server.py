"""Chroma's server as a child process: started on a free port of this machine, watched, stopped; and the child itself.

    python -P -m lore_etl.stores.chroma.child_server FOLDER PORT

The child calls Chroma's Rust server without any of Chroma's Python, whose server runs other people's code
(CVE-2026-45829): it imports only the compiled module that Chroma's command line hands everything to. So this module
imports nothing of Chroma's. The child ends when its input does, that is, with the Lore that started it.

A lock that the child holds says whether a folder is served; a note beside it says by which process, with the time that
process began, since the system uses process ids again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

from filelock import FileLock, Timeout

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import DatabaseUnavailable, StorageError
from lore_etl.system.processes import born, detached, kill, terminate

LOG, LOCK, NOTE = "chroma.log", "chroma.lock", "chroma.note.lock"  # no seal looks at files that end in `.lock`
LOG_BYTES = 1_000_000
START_SECONDS, END_SECONDS, POLL_SECONDS = 60, 15, 0.02
PORTS_TRIED = 5
LAST_SECONDS = 10  # less than its parent waits
IS_HELD, IS_NO_RUST = 75, 70
# nothing else: CHROMA_*, OTEL_* and RUST_* would tell the server where to listen, what to keep and whom to report to
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "TEMP")


class ChromaProcess:
    """One server on one folder. It ends with this process, however this one ends."""

    def __init__(self, folder: Path, port: int, log: Path) -> None:
        self.port = port
        self._log = log
        if log.exists() and log.stat().st_size > LOG_BYTES:
            os.truncate(log, 0)
        with open(log, "ab") as output:
            self._from_here = output.tell()
            self._process = subprocess.Popen(
                # -P: the folder we are run in is somebody's project, and nothing in it may be imported
                [sys.executable, "-P", "-m", "lore_etl.stores.chroma.child_server", str(folder), str(port)],
                stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                env={**{key: os.environ[key] for key in PASSED_ON if key in os.environ}, "NO_COLOR": "1"},
                **detached(),  # Ctrl-C is for us: it serves until we are done
            )  # fmt: skip

    @classmethod
    def start(cls, folder: Path, log: Path, ports: Iterable[int] | None = None) -> ChromaProcess:
        """Start it on the first port that is free, and wait until it answers.

        Raises:
            DatabaseUnavailable: it ended at once, or does not answer; the log says why.
        """
        said = ""
        for port in ports or _free_ports():
            started = cls(folder, port, log)
            try:
                if started._answers():
                    return started
                said = started._said()
            except BaseException:
                started.stop()
                raise
            started.stop()
            if f":{port} is not available" not in said:
                break
        last = (said.strip() or "it gives no reason").splitlines()[-1][:200].rstrip(".")
        raise DatabaseUnavailable(
            f"The Chroma server does not start: {last}.",
            f"{log.name} in the index folder has the reason.",
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether it has not ended."""
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

    def _answers(self) -> bool:
        """Return whether it is ready. A heartbeat alone could be that of another server on the same port."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.is_running():
            if re.search(rf"listening on .*:{self.port}\b", self._said()) and _beats(self.port):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _said(self) -> str:
        with open(self._log, "rb") as file:
            file.seek(self._from_here)
            return file.read().decode("utf-8", "replace")


def end_left_over(folder: Path, patience: float = END_SECONDS) -> None:
    """End the server that a killed Lore left on a folder. It ends by itself; here that is waited for.

    Raises:
        StorageError: a process holds the folder that is not known to be ours, or does not end.
    """
    if not (folder / LOCK).exists():
        return
    lock = _lock(folder)
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
        f"A process that may not belong to Lore is using {folder.name}/.", f"Stop the process that has {LOCK} open."
    )


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / LOCK, mode=0o600, thread_local=False)


def _end(folder: Path, end: Callable[[int], None]) -> None:
    """End the process of the note, if it is still that process."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        if note["born"] and born(int(note["pid"])) == note["born"]:
            end(int(note["pid"]))


def _free_ports() -> Iterator[int]:
    """Yield ports that were free a moment ago."""
    for _ in range(PORTS_TRIED):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        yield port


def _beats(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)  # no proxy of the environment lies between
    with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    return False


def main(folder: Path, port: int) -> int:
    """Serve the folder until the input ends: the child's part."""
    import chromadb_rust_bindings  # type: ignore[import-untyped]

    cli: Any = chromadb_rust_bindings.cli
    if not isinstance(cli, BuiltinFunctionType) or "chromadb" in sys.modules:
        print("This version of Chroma has no Rust server.", flush=True)  # noqa: T201 - the log
        return IS_NO_RUST
    lock = _lock(folder)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Another Chroma process is using this folder.", flush=True)  # noqa: T201 - the log
        return IS_HELD
    write_atomically(folder / NOTE, (json.dumps({"pid": os.getpid(), "born": born(os.getpid())}),))
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    cli(["chroma", "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)])
    return 0


def _end_with_the_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(LAST_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    # without the interpreter's clean-up: the thread may still be reading
    os._exit(main(Path(sys.argv[1]), int(sys.argv[2])))
