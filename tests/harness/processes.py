"""Run Python code in a separate process that can be killed or limited, or competes with another process."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.harness.projects import ROOT

GUARD = """
import os, socket, sys
def guard(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        if event == "socket.getaddrinfo" or arguments[0].family != socket.AF_UNIX:
            os.write(2, f"network: {event} {arguments[1:]}\\n".encode())
            os._exit(86)
sys.addaudithook(guard)
"""


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [(extra or {}).get("PYTHONPATH", ""), str(ROOT)]))
    return {**os.environ, **(extra or {}), "PYTHONPATH": path}


HOLD_LOCK = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def child(
    code: str, *arguments: object, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run the code in a process whose output is a pipe of lines; kill it at the end."""
    command = [sys.executable, "-u", "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(environment)
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(
    code: str, *arguments: object, environment: Mapping[str, str] | None = None, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run the code to its end, within this many seconds."""
    command = [sys.executable, "-u", "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=_environment(environment), timeout=seconds, check=False
    )


def guarded(folder: Path) -> dict[str, str]:
    """Return an environment in which a process, or its child, exits with 86 when it opens a network connection."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    return {"PYTHONPATH": str(folder), "HF_HUB_OFFLINE": "1"}


def tell(process: subprocess.Popen[str], text: str) -> None:
    """Write to the input of a child process."""
    assert process.stdin
    process.stdin.write(text)
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    """Return the next line that a child process prints."""
    assert process.stdout
    return process.stdout.readline()


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that holds the lock of a file."""
    with child(HOLD_LOCK, file) as holder:
        assert hear(holder) == "held\n"
        yield holder
