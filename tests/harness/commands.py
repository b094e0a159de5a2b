"""The `lore` command: each run a process of its own, forked from one that has imported the program.

Importing it is most of what a short command takes, and the tests run hundreds. How it starts is shown by those that
start `LORE` itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from lore_server.cli.main import COMMANDS

LORE = str(Path(sys.executable).with_name("lore"))
SECONDS = 120
PARENT = """
import gc, importlib, json, os, select, signal, socket, sys
from lore_server.cli.main import main
for name in sys.argv[2:]:
    importlib.import_module(name)

requests = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
gc.freeze()
while True:
    if 0 in select.select([0, requests], [], [])[0]:
        sys.exit()  # the tests are over
    _, files, _, _ = socket.recv_fds(requests, 1, 3)
    if not os.fork():
        break
    for file in files:
        os.close(file)

signal.signal(signal.SIGCHLD, signal.SIG_DFL)
requests.close()
line = socket.socket(fileno=files.pop(0))
given = json.load(line.makefile(encoding="utf-8"))
command = os.fork()
if command:
    for file in files:
        os.close(file)
    line.sendall(f"{command}\\n".encode())
    line.sendall(f"{os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])}\\n".encode())
    os._exit(0)

line.close()
for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files]):
    os.dup2(file, number)
    os.close(file)
os.chdir(given["cwd"])
os.environ.clear()
os.environ.update(given["environment"])
sys.argv = given["command"]
signal.alarm(given["seconds"])
sys.exit(main())
"""


class Command:
    """One that runs."""

    def __init__(self, line: socket.socket) -> None:
        self._said = line.makefile()
        self._pid = int(self._said.readline())

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        with self._said:
            return int(self._said.readline())

    def terminate(self) -> None:
        """Ask it to end, if it has not."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)


COMMAND_MODULES = [f"lore_server.cli.{name}" for name in COMMANDS]


class Commands:
    """Starts commands; the process that they are forked from begins with the first and ends with `close`.

    A command is killed after so many seconds.
    """

    def __init__(self, seconds: int, *imported: str) -> None:
        self._seconds = seconds
        self._imported = imported
        self._guard = threading.Lock()
        self._parent: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    def start(
        self, command: list[str], cwd: Path, environment: Mapping[str, str], output: IO[Any], errors: IO[Any]
    ) -> Command:
        """Start one that writes to these files."""
        with self._guard:
            _, requests = self._parent = self._parent or self._begun()
        given = {"command": command, "cwd": str(cwd), "environment": {**environment}, "seconds": self._seconds}
        line, theirs = socket.socketpair()
        with line:
            with theirs:
                socket.send_fds(requests, [b"."], [one.fileno() for one in (theirs, output, errors)])
            line.sendall(json.dumps(given).encode())
            line.shutdown(socket.SHUT_WR)
            return Command(line)

    def _begun(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with theirs:
            # -P: nothing in the folder that the tests are run in may be imported
            command = [sys.executable, "-P", "-c", PARENT, str(theirs.fileno()), *self._imported]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True
            )
        return process, ours

    def close(self) -> None:
        """End the parent, if it began."""
        if self._parent is not None:
            process, requests = self._parent
            requests.close()
            process.communicate()


SHORT = Commands(SECONDS, *COMMAND_MODULES)
SERVERS = Commands(
    3600, *COMMAND_MODULES, "lore_server.owner.process", "lore_server.http.application", "lore_server.mcp.mcp_server",
    "uvicorn", "lore_etl.stores.chroma.client", "lore_etl.stores.keywords", "lore_etl.models.onnx_embedder",
)  # fmt: skip


def run_lore(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the `lore` command to its end."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        code = SHORT.start([LORE, *arguments], cwd, {**os.environ, **environment}, output, errors).wait()
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess([LORE, *arguments], code, output.read(), errors.read())


def start_lore(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it as a shell does, from nothing: where what its start meets is what is tested."""
    return subprocess.run(
        [LORE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
