"""Measure `lore serve` under load: `python -m benchmarks.http_load PROJECT [--burst 200] [--row 10000]`.

The project has an index. The server is a separate process; this process sends the requests, each burst over the same
number of new connections. Distinct questions are asked only once; repeated questions are all the same. Prints
Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LORE = str(Path(sys.executable).with_name("lore"))
SINGLE = 100
WARM = 20
EARLY = 1_000


@dataclass(frozen=True)
class Server:
    """The address and the process of a server."""

    host: str
    port: int
    pid: int

    @property
    def megabytes(self) -> float:
        """Return the resident memory of the server."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        return int(found[1]) / 1024 if found else 0.0

    @property
    def descriptors(self) -> int:
        """Return the number of open files and connections of the server."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


@contextmanager
def serving(project: Path) -> Iterator[Server]:
    """Run `lore serve` on a free port."""
    process = subprocess.Popen([LORE, "serve", "--port", "0"], cwd=project, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        match = re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())
        assert match
        yield Server(match[1], int(match[2]), process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=60)


class Connection:
    """A persistent connection, from this machine or another of its addresses."""

    def __init__(self, server: Server, source: str = "") -> None:
        self._server = server
        self._source = (source, 0) if source else None
        self.retry_after: int | None = None  # of the last reply
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Return status and body of the reply; the first request opens the connection."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._server.host, self._server.port, local_addr=self._source)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._server.host}:{self._server.port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length, retry = (re.search(name + rb": (\d+)", answer.lower()) for name in (b"content-length", b"retry-after"))
        assert length
        self.retry_after = int(retry[1]) if retry else None
        return int(answer.split(b" ", 2)[1]), await reader.readexactly(int(length[1]))

    async def ask(self, question: str) -> tuple[str, float]:
        """Return the outcome of a question and its seconds."""
        started = time.perf_counter()
        try:
            status, body = await self.send("POST", "/api/documents/query", json.dumps({"query": question}).encode())
            outcome = str(status) if status != 200 or "results" in json.loads(body) else "no results"
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            outcome = type(error).__name__
        return outcome, time.perf_counter() - started

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def questions(server: Server) -> Iterator[str]:
    """Yield an endless series of distinct questions: pairs of headings of the project."""
    connection = Connection(server)
    _, body = await connection.send("GET", "/api/documents?limit=1000&max_tokens=1000000")
    connection.close()
    titles = sorted({row["title"] for row in json.loads(body)["documents"]})
    pairs = [f"{title} {other}" for title in titles for other in titles if title < other]
    random.Random(7).shuffle(pairs)
    return iter(pairs)


async def in_a_row(server: Server, asked: Sequence[str]) -> list[float]:
    """Return the seconds of each request, sent one after the other on one connection."""
    connection = Connection(server)
    outcomes = [await connection.ask(question) for question in asked]
    connection.close()
    assert {outcome for outcome, _ in outcomes} == {"200"}, Counter(outcome for outcome, _ in outcomes)
    return [seconds for _, seconds in outcomes]


async def at_once(server: Server, asked: Sequence[str]) -> tuple[list[float], Counter[str]]:
    """Return the seconds of each request, all sent at the same time, and their outcomes."""
    connections = [Connection(server) for _ in asked]
    done = await asyncio.gather(
        *(connection.ask(question) for connection, question in zip(connections, asked, strict=True))
    )
    for connection in connections:
        connection.close()
    return [seconds for _, seconds in done], Counter(outcome for outcome, _ in done)


def shown(name: str, times: Sequence[float], base: float, outcomes: Counter[str]) -> str:
    """Return a row of the table."""
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    lost = len(times) - outcomes["200"]
    other = ", ".join(f"{count} × {name}" for name, count in outcomes.items() if name != "200")
    return f"| {name} | {1000 * p50:,.0f} | {1000 * p95:,.0f} | {p95 / base:.1f} | {lost} {other} |"


async def measure(server: Server, burst: int, row: int) -> None:
    """Print all tables."""
    fresh = await questions(server)
    await in_a_row(server, [next(fresh) for _ in range(WARM)])
    single = await in_a_row(server, [next(fresh) for _ in range(SINGLE)])
    base, all_well = statistics.median(single), Counter({"200": SINGLE})
    same, few = next(fresh), [next(fresh) for _ in range(20)]
    print("| requests | p50 ms | p95 ms | p95 / single p50 | lost |\n|---|---|---|---|---|")
    print(shown(f"{SINGLE} in a row, distinct", single, base, all_well))
    print(shown(f"{SINGLE} in a row, the same", await in_a_row(server, [same] * SINGLE), base, all_well))
    for name, asked in (
        ("distinct", [next(fresh) for _ in range(burst)]),
        ("of 20 questions", [few[n % 20] for n in range(burst)]),
        ("the same", [next(fresh)] * burst),
    ):
        print(shown(f"{burst} at once, {name}", *_swap(await at_once(server, asked), base)))
    if not row:
        return
    several = [next(fresh) for _ in range(500)]
    started = time.perf_counter()
    await in_a_row(server, [several[n % 500] for n in range(EARLY)])
    early, early_files = server.megabytes, server.descriptors
    await in_a_row(server, [several[n % 500] for n in range(EARLY, row)])
    print(f"\n{row:,} in a row in {time.perf_counter() - started:,.0f} s: {early:,.0f} MB after {EARLY:,}, ", end="")
    print(f"{server.megabytes:,.0f} MB at the end ({server.megabytes / early - 1:+.1%}); ", end="")
    print(f"open files {early_files} and {server.descriptors}.")


def _swap(done: tuple[list[float], Counter[str]], base: float) -> tuple[list[float], float, Counter[str]]:
    return done[0], base, done[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("--burst", type=int, default=200)
    parser.add_argument("--row", type=int, default=10_000)
    given = parser.parse_args()
    with serving(given.project) as server:
        asyncio.run(measure(server, given.burst, given.row))


if __name__ == "__main__":
    main()
