"""Run Chroma's server as a child process: start it on a free port, watch it and stop it; also, be that child.

    python -P -m lore_etl.stores.chroma.child_server FOLDER PORT

The child calls Chroma's Rust server by its compiled module only, because the server in Python runs other people's code
(CVE-2026-45829): so this module does not import Chroma. It ends when its input ends, that is, with the Lore process. A
lock that it holds shows that a folder is served; a note beside it has process id and start time, as ids are reused.
"""

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
from typing import Any, Self

from filelock import FileLock, Timeout

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import DatabaseUnavailable, StorageError
from lore_etl.system.nofollow import open_regular
from lore_etl.system.processes import born, detached, kill, terminate

LOG, LOCK, NOTE = "chroma.log", "chroma.lock", "chroma.note.lock"  # seals ignore files that end in `.lock`
LOG_BYTES = 1_000_000
START_SECONDS, END_SECONDS, POLL_SECONDS = 60, 15, 0.02
PORTS_TRIED = 5
LAST_SECONDS = 10  # less than the parent's END_SECONDS
# nothing else: CHROMA_*, OTEL_* and RUST_* would change the server's address, its storage and its telemetry
INHERITED_VARIABLES = (
    "PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "TEMP",
)  # fmt: skip


class ChromaProcess:
    """A server for one folder. It ends when this process ends, even if it is killed."""

    def __init__(self, folder: Path, port: int, log: Path) -> None:
        self.port = port
        self._log = log
        with open(open_regular(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as output:
            if output.tell() > LOG_BYTES:
                output.truncate(0)
            self._from_here = output.seek(0, os.SEEK_END)
            self._process = subprocess.Popen(
                # -P: the current folder is an untrusted project, and nothing in it may be imported
                [sys.executable, "-P", "-m", "lore_etl.stores.chroma.child_server", str(folder), str(port)],
                stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                env={**{key: os.environ[key] for key in INHERITED_VARIABLES if key in os.environ}, "NO_COLOR": "1"},
                **detached(),  # Ctrl-C must not reach the child: it serves until this process ends
            )  # fmt: skip
        self.pid = self._process.pid

    @classmethod
    def start(cls, folder: Path, log: Path, ports: Iterable[int] | None = None) -> Self:
        """Start a server on the first free port, and wait until it responds. Raises DatabaseUnavailable."""
        output = ""
        for port in ports or _free_ports():
            started = cls(folder, port, log)
            try:
                if started._answers():
                    return started
                output = started._last_output()
            except BaseException:
                started.stop()
                raise
            started.stop()
            if f":{port} is not available" not in output:
                break
        last = (output.strip() or "it gives no reason").splitlines()[-1][:200].rstrip(".")
        hint = f"{log.name} in the index folder has the reason."
        raise DatabaseUnavailable(f"The Chroma server does not start: {last}.", hint)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Stop the server by closing its input, and wait for its end; kill it if that takes too long."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_SECONDS)

    def _answers(self) -> bool:
        """Return whether the server is ready. A heartbeat alone could come from another server on the same port."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.is_running():
            if re.search(rf"listening on .*:{self.port}\b", self._last_output()) and _beats(self.port):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _last_output(self) -> str:
        with open(self._log, "rb") as file:
            file.seek(self._from_here)
            return file.read().decode("utf-8", "replace")


def end_left_over(folder: Path, patience: float = END_SECONDS) -> None:
    """Wait for the end of a server that a killed Lore left on a folder, else end it. Raises StorageError."""
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
    hint = f"Stop the process that has {LOCK} open."
    raise StorageError(f"A process that may not belong to Lore is using {folder.name}/.", hint)


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / LOCK, mode=0o600, thread_local=False)


def _end(folder: Path, end: Callable[[int], None]) -> None:
    """End the process in the note, if the process id still belongs to it."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        if note["born"] and born(int(note["pid"])) == note["born"]:
            end(int(note["pid"]))


def _free_ports() -> Iterator[int]:
    for _ in range(PORTS_TRIED):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        yield port


def _beats(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)  # without the proxies of the environment
    with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
        connection.request("GET", "/api/v2/heartbeat")
        return connection.getresponse().status == 200
    return False


def main(folder: Path, port: int) -> int:
    """Serve the folder until the input ends; return the exit status. Runs in the child."""
    import chromadb_rust_bindings  # type: ignore[import-untyped]

    cli: Any = chromadb_rust_bindings.cli
    if not isinstance(cli, BuiltinFunctionType) or "chromadb" in sys.modules:
        print("This version of Chroma has no Rust server.", flush=True)  # noqa: T201 - the log
        return 1
    lock = _lock(folder)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Another Chroma process is using this folder.", flush=True)  # noqa: T201 - the log
        return 1
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
    # skip the interpreter's clean-up, because the thread may still be reading
    os._exit(main(Path(sys.argv[1]), int(sys.argv[2])))
