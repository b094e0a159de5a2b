"""Running a piece of Python in a process of its own: to be killed, to compete, to be limited."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.harness.projects import ROOT


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    path = os.pathsep.join(filter(None, [(extra or {}).get("PYTHONPATH", ""), str(ROOT)]))
    return {**os.environ, **(extra or {}), "PYTHONPATH": path}


@contextmanager
def child(code: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """A process that runs the code; its output is a pipe of lines. It is killed at the end."""
    command = [sys.executable, "-u", "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(environment)
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(
    code: str, *arguments: object, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the code to its end."""
    command = [sys.executable, "-u", "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=_environment(environment), timeout=120, check=False
    )
