"""Run the `lore` command; each process is forked from a parent that has already imported the program.

The import takes most of the time of a short process, and the tests start hundreds. Tests that use `LORE`,
`start_lore` or `PYTHONPATH` start the command without the parent.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

from lore_server.cli.main import COMMANDS
from tests.harness.projects import write_project

LORE = str(Path(sys.executable).with_name("lore"))
SECONDS = 120
LONG_SECONDS = 3600
OF_ONE_TEST = {"PYTHONPATH", "PYTHONIOENCODING"}
"""Variables that a test may have set when the first command starts the parent of all commands."""
OWNER, PROBE = "lore_server.owner.owner_main", "lore_etl.stores.chroma.client"
IMPORTED = [
    *(f"lore_server.cli.{name}" for name in COMMANDS), "lore_server.owner.process", "lore_server.http.application",
    "lore_server.mcp.mcp_server", "uvicorn", "lore_etl.stores.keywords", "lore_etl.models.onnx_models",
    PROBE, "chromadb.api.rust", "chromadb.telemetry.product.posthog", "lore_etl.stores.embedding_cache",
    "platformdirs.unix",
]  # fmt: skip
"""The modules that most commands and owners import."""
PARENT = """
import atexit, contextlib, functools, gc, importlib, json, os, runpy, select, signal, socket, sys, threading
import onnxruntime, typer
from lore_etl.config.settings import Settings
from lore_etl.files.redaction import redact
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_server.cli.command import cli
from lore_server.cli.main import main
from lore_server.contract import load_contract
for name in sys.argv[3:]:
    importlib.import_module(name)
SourceSet(SourceContext([], lambda _: None), {})  # compiles its patterns
redact("-")  # compiles the rules for secrets
load_contract()  # is cached
typer.main.get_command = functools.cache(typer.main.get_command)
typer.main.get_command(cli)

# Loading the graph of the default model takes longer than all else that an owner does when it starts. A session runs in
# the calling thread and has no threads of its own, so it also works in a forked process.
load, loaded = onnxruntime.InferenceSession, {}
def session(graph, options, **more):
    if not isinstance(graph, bytes):
        return load(graph, options, **more)
    key = graph, options.get_session_config_entry("session.model_external_initializers_file_folder_path")
    found = loaded.get(key) or load(graph, options, **more)
    if os.getpid() == parent:
        loaded[key] = found
    return found
parent, onnxruntime.InferenceSession = os.getpid(), session
ConfiguredModel(Settings().embedding).open()

listener, python = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
wakened, waker = socket.socketpair()  # reports that a command has ended
waker.setblocking(False)
signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
signal.signal(signal.SIGCHLD, lambda *_: None)
gc.freeze()
lines = {}  # of the commands that run
while True:
    ready = select.select([0, listener, wakened], [], [])[0]
    if 0 in ready:
        sys.exit()  # the tests are over
    if wakened in ready:
        wakened.recv(4096)
        while lines:
            command, status = os.waitpid(-1, os.WNOHANG)
            if not command:
                break
            with lines.pop(command) as line, contextlib.suppress(OSError):  # the caller may have been killed
                line.sendall(f"{os.waitstatus_to_exitcode(status)}\\n".encode())
    if listener in ready:
        line, _ = listener.accept()
        command = os.fork()
        if not command:
            break
        lines[command] = line
        with contextlib.suppress(OSError):
            line.sendall(f"{command}\\n".encode())

signal.set_wakeup_fd(-1)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
for other in (listener, wakened, waker, *lines.values()):
    other.close()
_, files, _, _ = socket.recv_fds(line, 1, 3)  # standard input, output and error
given = json.load(line.makefile(encoding="utf-8"))
line.close()
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
os.chdir(given["cwd"])
os.environ.clear()
os.environ.update(given["environment"])
sys.argv, sys.executable = given["command"], python
signal.alarm(given["seconds"])
try:
    if given["module"]:
        os.setsid()
        runpy.run_module(given["module"], run_name="__main__", alter_sys=True)
    code = 0 if given["module"] else main()
except SystemExit as ended:
    code = ended.code
if not isinstance(code, int | None):
    sys.exit(code)
# End as Python does, but without the deletion of every module, which takes longer than most commands.
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(code or 0)
"""
ENTRY = """#!/bin/sh
'''exec' {quoted} -IS "$0" "$@"
' '''
import json, os, signal, socket, sys

program, command = [{python!r}, *sys.argv[1:]], None
if os.path.basename(sys.argv[0]) == "lore":
    program = command = [{lore!r}, *sys.argv[1:]]
elif sys.argv[1:3] == ["-P", "-m"] and sys.argv[3] in {modules}:
    command = sys.argv[3:]
if command is not None and os.environ.get("PYTHONPATH") == {path!r}:
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect({socket_path!r})
        except OSError:
            pass  # the tests are over: start it without the parent
        else:
            module = "" if command is program else command[0]
            given = {{"command": command, "module": module, "cwd": os.getcwd(), "seconds": {seconds}}}
            socket.send_fds(line, [b"."], [0, 1, 2])
            line.sendall(json.dumps({{**given, "environment": {{**os.environ}}}}).encode())
            line.shutdown(socket.SHUT_WR)
            code = int([*line.makefile()][1])
            if code < 0:
                os.kill(os.getpid(), -code)
            os._exit(code)
os.execv(program[0], program)
"""
"""Replaces Python when Lore starts a part of itself, and `lore` if called by this name: the parent, which has imported
everything, forks the process. The shell starts it, because a path with spaces cannot follow `#!`.
"""
AS_LORE = """
import sys
sys.executable, sys.argv[0] = sys.argv.pop(1), sys.argv.pop(1)
from lore_server.cli.main import main
main()
"""


class Command:
    """A running command."""

    def __init__(self, line: socket.socket) -> None:
        self._said = line.makefile()
        self._pid = int(self._said.readline())

    def wait(self) -> int:
        """Wait for the command to end and return its exit code."""
        with self._said:
            return int(self._said.readline())

    def terminate(self) -> None:
        """Send SIGTERM unless the command has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)


class Commands:
    """Starts commands by forking a parent, which starts with the first command and ends with `close`.

    The parent imports the modules in this environment, so its PYTHONPATH applies to every command. Its `python` forks
    only the programs in `programs`.
    """

    def __init__(
        self, *imported: str, programs: Collection[str] = (OWNER, PROBE), environment: Mapping[str, str] | None = None
    ) -> None:
        self._imported = imported
        self._programs = programs
        self._environment = environment
        self._guard = threading.Lock()
        self._parent: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def start(
        self, command: list[str], cwd: Path, environment: Mapping[str, str], output: IO[Any], errors: IO[Any],
        seconds: int = SECONDS,
    ) -> Command:  # fmt: skip
        """Start a command that writes to these files and is killed after this many seconds."""
        self._prepare()
        given = {"command": command, "module": "", "cwd": str(cwd), "environment": {**environment}, "seconds": seconds}
        with socket.socket(socket.AF_UNIX) as line, open(os.devnull, "rb") as nothing:
            line.connect(str(self._folder / "socket"))
            socket.send_fds(line, [b"."], [stream.fileno() for stream in (nothing, output, errors)])
            line.sendall(json.dumps(given).encode())
            line.shutdown(socket.SHUT_WR)
            return Command(line)

    def run(self, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the `lore` command to its end."""
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as output,
            tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
        ):
            code = self.start([LORE, *arguments], cwd, {**os.environ, **environment}, output, errors).wait()
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess([LORE, *arguments], code, output.read(), errors.read())

    def python(self) -> str:
        """Return an executable that behaves like Python, but forks its programs from the parent."""
        self._prepare()
        return str(self._folder / "python")

    def lore(self) -> str:
        """Return an executable that behaves like `lore`, but is forked from the parent; do not send it a signal."""
        self._prepare()
        return str(self._folder / "forked" / "lore")

    def _prepare(self) -> None:
        with self._guard:
            if self._parent is None:
                self._folder = Path(tempfile.mkdtemp(prefix="lore-"))
                self._parent = self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        socket_path, python = str(self._folder / "socket"), self._folder / "python"
        if (environment := self._environment) is None:
            environment = {name: value for name, value in os.environ.items() if name not in OF_ONE_TEST}
        names = {
            "modules": {*self._programs},
            "seconds": LONG_SECONDS,
            "path": environment.get("PYTHONPATH"),
            "lore": LORE,
            "quoted": shlex.quote(sys.executable),
        }
        python.write_text(ENTRY.format(python=sys.executable, socket_path=socket_path, **names), encoding="utf-8")
        python.chmod(0o700)
        (self._folder / "forked").mkdir()
        (self._folder / "forked" / "lore").symlink_to(python)
        (self._folder / "lore").symlink_to(LORE)
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(socket_path)
            opened.listen(64)
            # -P: Python must not import modules from the working directory
            command = [sys.executable, "-P", "-c", PARENT, str(opened.fileno()), str(python), *self._imported]
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=[opened.fileno()], start_new_session=True, cwd="/",
                env=environment, stdout=opened.fileno(),  # commands with another encoding need one that cannot seek
            )  # fmt: skip

    def close(self) -> None:
        """Stop the parent if it was started."""
        if self._parent is not None:
            self._parent.communicate()
            shutil.rmtree(self._folder)


PREPARED = Commands(*IMPORTED, "lore_server.evaluation.measures", "scipy.stats", "lore_server.answer.gemini_writer")


def as_lore() -> list[str]:
    """Return the `lore` command, started without the parent; the owners that it starts are forked from it."""
    return [sys.executable, "-P", "-c", AS_LORE, PREPARED.python(), LORE]


def run_lore(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the `lore` command to its end."""
    return PREPARED.run(*arguments, cwd=cwd, **environment)


def synced_project(folder: Path, files: Mapping[str, str | bytes], *options: str, **environment: str) -> Path:
    """Write a project, and index it with `lore sync`; without `--no-daemon` its owner keeps running."""
    project = write_project(folder, files)
    done = run_lore("sync", *options, cwd=project, **environment)
    assert done.returncode == 0, done.stderr
    return project


def start_lore(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command without the parent, as a shell does, for tests of its start."""
    return subprocess.run(
        [LORE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
