"""Measure a shared index: the start of the bridge with and without an owner, memory, and many simultaneous agents.

    python -m benchmarks.owner [PROJECT]

PROJECT is a synced project; by default a copy of the sample project is used.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lore_etl.config.project import STATE
from lore_etl.stores.owner_file import read_note
from lore_server.owner import predecessor
from lore_server.owner.line import VARIABLE

ROOT = Path(__file__).parents[1]
LORE = str(Path(sys.executable).with_name("lore"))
ROUNDS = 9
JSON = dict[str, Any]
HELLO: list[JSON] = [
    {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip
LISTING: JSON = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
SEARCH = {"name": "query_documents", "arguments": {"query": "graceful shutdown"}}


class Agent:
    """A `lore mcp` process and its pipes."""

    def __init__(self, project: Path) -> None:
        self._process = subprocess.Popen(
            [LORE, "mcp"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def send(self, *messages: dict[str, Any]) -> None:
        """Write messages."""
        assert self._process.stdin is not None
        self._process.stdin.write("".join(json.dumps(message) + "\n" for message in messages).encode())
        self._process.stdin.flush()

    def reply(self, number: int) -> dict[str, Any]:
        """Return the reply to the request with this number, and skip earlier messages."""
        assert self._process.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(self._process.stdout.readline())
            if message.get("id") == number:
                return message

    def megabytes(self) -> float:
        """Return the memory of the bridge."""
        return _megabytes(self._process.pid)

    def close(self) -> None:
        """Close its input and wait for it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        os.environ[VARIABLE] = str(Path(folder, "run"))
        os.environ[STATE] = str(Path(folder, "state"))
        project = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "sample")
        if len(sys.argv) == 1:
            shutil.copytree(ROOT / "data" / "sample", project)
            subprocess.run([LORE, "sync"], cwd=project, check=True, capture_output=True)
        try:
            _starts(project)
            _shell(project)
            _agents(project, 8, 50)
        finally:
            stop(project)


def _starts(project: Path) -> None:
    starts: dict[str, Callable[[], object]] = {
        "a running owner": lambda: None,
        "none: it starts one": lambda: stop(project),
    }
    for name, before in starts.items():
        times, sizes = [], []
        for _ in range(ROUNDS):
            before()
            started = time.perf_counter()
            agent = Agent(project)
            agent.send(*HELLO, LISTING)
            agent.reply(1)
            times.append(time.perf_counter() - started)
            sizes.append(agent.megabytes())
            agent.close()
        print(
            f"lore mcp to tools/list, {name}: median {statistics.median(times):.3f} s, max {max(times):.3f} s;", end=" "
        )
        print(f"bridge {max(sizes):.1f} MB")


def _shell(project: Path) -> None:
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run([LORE, "search", "graceful shutdown"], cwd=project, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    print(f"lore search through the owner, whole process: median {statistics.median(times):.3f} s")


def _agents(project: Path, agents: int, searches: int) -> None:
    latencies: list[float] = []
    all_of_them = [Agent(project) for _ in range(agents)]

    def work(agent: Agent) -> None:
        agent.send(*HELLO)
        for number in range(1, searches + 1):
            started = time.perf_counter()
            agent.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": SEARCH})
            agent.reply(number)
            latencies.append(time.perf_counter() - started)

    threads = [threading.Thread(target=work, args=(agent,)) for agent in all_of_them]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - started
    note = read_note(project / ".lore")
    latencies.sort()
    p50, p95 = (1000 * latencies[int(share * len(latencies))] for share in (0.5, 0.95))
    rate, bridges = len(latencies) / elapsed, sum(agent.megabytes() for agent in all_of_them)
    owner = _megabytes(note.pid) if note else 0
    print(f"{agents} agents at once, {searches} searches each: {rate:.0f} a second, p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    print(f"memory: owner {owner:.0f} MB, {agents} bridges {bridges:.0f} MB")
    for agent in all_of_them:
        agent.close()


def stop(project: Path) -> None:
    """Stop the owner of a project, if one is running."""
    note = read_note(project / ".lore")
    if note is not None and note.is_alive:
        predecessor.stop(project / ".lore", note)


def _megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1000


if __name__ == "__main__":
    main()
