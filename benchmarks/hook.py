"""Measure whole processes of the session-start hook: `python -m benchmarks.hook`.

The figures are the time to send twenty new files to Lore and to a stateful server in another process, the time for
2,000 unchanged files, and the delay of a session that does not wait for the result.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lore_etl.config.project import STATE
from lore_server.owner.line import VARIABLE
from tests.harness.memory_server import running

LORE = str(Path(sys.executable).with_name("lore"))
ROUNDS = 5
FRONT = "---\nrating: 8\nsource: session\ntags: [networks, retry]\ncapture_type: LEARNING\n---\n"


class Place:
    """A project, its memory files and a home for the state."""

    def __init__(self, folder: Path) -> None:
        self._project, self._memories, self._home = folder / "p", folder / "m", folder / "home"
        self._project.mkdir()

    def write(self, count: int) -> None:
        """Write this many memory files, in folders by month."""
        for number in range(count):
            file = self._memories / ("LEARNING", "RESEARCH")[number % 2] / f"2026-{number % 12 + 1:02}" / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{FRONT}# Finding {number}\n\n{'Some words of it. ' * 50}\n", encoding="utf-8")

    def run(self, *arguments: str) -> float:
        """Run the command and return its duration in seconds."""
        command = [LORE, "hook", "session-start", "--memory-dir", str(self._memories), *arguments]
        started = time.perf_counter()
        subprocess.run(
            command, cwd=self._project, check=True, capture_output=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "LORE_HOME": str(self._home)},
        )  # fmt: skip
        return time.perf_counter() - started

    def forget(self) -> None:
        """Delete the state, so that every file is sent again."""
        subprocess.run([LORE, "stop"], cwd=self._project, check=True, capture_output=True)
        shutil.rmtree(self._home, ignore_errors=True)


def main() -> None:
    """Print each figure as a row."""
    with tempfile.TemporaryDirectory(prefix="lore-") as folder, running() as server:
        os.environ[VARIABLE] = str(Path(folder, "run"))
        os.environ[STATE] = str(Path(folder, "state"))
        place, url = Place(Path(folder)), ("--url", server.url)
        place.write(20)
        _row("20 new files to a stateful server", lambda: place.run(*url), before=place.forget)
        _row("20 new files to Lore, its owner is started", place.run, before=place.forget)
        _row("20 new files to Lore, its owner runs (`--all`)", lambda: place.run("--all"))
        again = ("--all", *url)
        _row(
            "20 files to a server, with `--budget 0`",
            lambda: place.run("--budget", "0", *again),
            lambda: place.run(*again),
        )
        place.run(*again)
        place.forget()
        place.write(2000)
        print(f"| 2,000 new files to a stateful server | {place.run('--budget', '600', *url):.1f} s |")
        _row("2,000 unchanged files", lambda: place.run(*url))
        place.forget()


def _row(what: str, measured: Callable[[], float], before: Callable[[], object] = lambda: None) -> None:
    times = []
    for _ in range(ROUNDS):
        before()
        times.append(measured())
    print(f"| {what} | {statistics.median(times):.2f} s (median of {ROUNDS}; largest {max(times):.2f} s) |", flush=True)


if __name__ == "__main__":
    main()
