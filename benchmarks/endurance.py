"""Measure what a server holds after a long time: `python -m benchmarks.endurance [--queries 100000] [--syncs 500]
[--abandoned 10000]`.

`lore serve` has a copy of the sample project, the real model and the default allocator. Queries come from four
connections over HTTP, hardly any twice. Each sync finds an edited page. An abandoned session of MCP is left without a
word after its greeting or in the middle of a search. Prints Markdown: descriptors, threads and resident memory at the
beginning and the end of each phase, and the slope of memory, by least squares over the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from benchmarks.http_load import LORE, Connection, Server, serving
from benchmarks.load import ask_over_http, question, sample_project
from benchmarks.owner import HELLO, SEARCH
from lore_etl.stores.owner_file import read_note
from lore_server.owner.line import dial
from tests.harness.owners import wait_until
from tests.harness.soak import Usage, slope

CONNECTIONS = 4
SAMPLES = 50  # of a phase


def usage(server: Server) -> Usage:
    """Return what the server holds now."""
    threads = len(list(Path(f"/proc/{server.pid}/task").iterdir()))
    return Usage(server.descriptors, threads, round(server.megabytes * 1024))


def ask(server: Server, numbers: range) -> None:
    """Ask as many questions, from several connections."""
    chance = random.Random(numbers.start)

    async def ask_some(count: int) -> None:
        connection = Connection(server)
        for _ in range(count):
            outcome = await ask_over_http(connection, question(chance))
            assert outcome == "200", outcome
        connection.close()

    async def ask_all() -> None:
        shares = [len(numbers[start::CONNECTIONS]) for start in range(CONNECTIONS)]
        await asyncio.gather(*map(ask_some, shares))

    asyncio.run(ask_all())


def sync(project: Path, numbers: range) -> None:
    """Edit a page and sync, as often."""
    for number in numbers:
        text = question(random.Random(number))
        (project / f"page{number % 10}.md").write_text(f"# Page\n\nEdition {number}: {text}.\n", encoding="utf-8")
        done = subprocess.run([LORE, "sync"], cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def abandon(project: Path, numbers: range) -> None:
    """Begin sessions and leave them, every other one while it searches; wait until the server has noticed."""
    note = read_note(project / ".lore")
    assert note is not None
    for number in numbers:
        line, reply = dial(note.address, {"token": note.token, "want": "mcp"})
        assert reply["ok"], reply
        if number % 2:
            for message in (*HELLO, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SEARCH}):
                line.send_message(message)
        line.close()

    def is_alone() -> bool:
        line, reply = dial(note.address, {"token": note.token, "want": "status"})
        line.close()
        return bool(reply["clients"] == 0)

    wait_until(is_alone)


def phase(name: str, server: Server, count: int, do: Callable[[range], None]) -> str:
    """Run a phase, and return its row of the table."""
    step = max(1, count // SAMPLES)
    do(range(step))  # the pools start their threads, and the caches fill
    samples = [usage(server)]
    for start in range(step, count + step, step):
        do(range(start, start + step))
        samples.append(usage(server))
    first, last = samples[0], samples[-1]
    memory = f"{first.kilobytes / 1024:,.0f} → {last.kilobytes / 1024:,.0f} MB"
    growth = f"{slope(samples, step * (len(samples) - 1)):+.2f} KB each"
    held = f"{first.descriptors} → {last.descriptors} | {first.threads} → {last.threads}"
    return f"| {step * (len(samples) - 1):,} {name} | {held} | {memory}, in the second half {growth} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--queries", type=int, default=100_000)
    options.add_argument("--syncs", type=int, default=500)
    options.add_argument("--abandoned", type=int, default=10_000)
    given = options.parse_args()
    print("| what | descriptors | threads | memory |\n|---|---|---|---|")
    with sample_project() as project, serving(project) as server:
        print(phase("queries", server, given.queries, lambda numbers: ask(server, numbers)), flush=True)
        print(phase("syncs", server, given.syncs, lambda numbers: sync(project, numbers)), flush=True)
        print(phase("abandoned sessions", server, given.abandoned, lambda numbers: abandon(project, numbers)))
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
