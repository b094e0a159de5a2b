"""Measure `lore serve` with a crowd: `python -m benchmarks.load [--clients 1000] [--sessions 100] [--seconds 60]`.

The server has the sample project and the real model. The clients ask over HTTP without a pause, and wait only as long
as a 503 asks them to. The sessions are `lore mcp` bridges with the official client, and think for a few seconds between
two questions. Two light clients, one over HTTP from another address and one session, ask once a second, first alone,
then within the crowd. The processes of the crowd have a lower priority, as if they ran on other machines. Hardly any
question is asked twice. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from benchmarks.http_load import LORE, Connection, Server, serving
from lore_server.owner.line import VARIABLE

SAMPLE = Path(__file__).parents[1] / "data" / "sample"
ANOTHER = "127.0.0.2"  # the address of the light client
THINKING = 10.0  # seconds between two questions of a session, on average
CONNECTING = 4.0  # seconds before a crowd that the light clients have; the server closes idle connections after 5
WORDS = (
    "ferry store retry worker queue shutdown broker lease timeout schedule backoff table message batch payload clock "
    "signal metric trace cache index cursor snapshot partition replica leader ticket release handler pipeline"
).split()
Ask = Callable[[str], Awaitable[str]]


def question(chance: random.Random) -> str:
    """Return a question that is hardly ever asked twice."""
    return " ".join(chance.sample(WORDS, 4))


@dataclass
class Light:
    """The seconds of the replies that a light client got, and the outcomes of all its requests."""

    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.seconds, n=20)[-1]


async def ask_over_http(connection: Connection, asked: str) -> str:
    """Return the outcome of a question: the status, `refused` for a 503 that tells when to come back, or an error."""
    outcome, _ = await connection.ask(asked)
    if outcome != "200":
        connection.close()
    return "refused" if outcome == "503" and connection.retry_after else outcome


async def ask_over_mcp(client: Client, asked: str) -> str:
    """Return the outcome of a question in a session: `200`, or the code of the error."""
    result = await client.call_tool("query_documents", {"query": asked})
    found = result.structured_content or {}
    return "200" if found.get("results") is not None else str((found.get("error") or {}).get("code"))


async def ask_each_second(ask: Ask, seconds: float, chance: random.Random) -> Light:
    """Ask once a second, as long as the previous reply has arrived."""
    light, began = Light(), time.perf_counter()
    for number in range(round(seconds)):
        await asyncio.sleep(max(0.0, began + number - time.perf_counter()))
        started = time.perf_counter()
        outcome = await ask(question(chance))
        light.outcomes[outcome] += 1
        if outcome == "200":
            light.seconds.append(time.perf_counter() - started)
    return light


def crowd_over_http(server: Server, clients: int, seconds: float) -> Counter[str]:
    """Ask without a pause from many connections; return the outcomes."""
    outcomes, until = Counter[str](), time.monotonic() + seconds

    async def ask(number: int) -> None:
        connection, chance = Connection(server), random.Random(number)
        while time.monotonic() < until:
            outcome = await ask_over_http(connection, question(chance))
            outcomes[outcome] += 1
            if outcome != "200":
                await asyncio.sleep(connection.retry_after or 1)
        connection.close()

    async def ask_all() -> None:
        await asyncio.gather(*map(ask, range(clients)))

    os.nice(10)
    asyncio.run(ask_all())
    return outcomes


def crowd_of_sessions(project: Path, sessions: int, begin: float, seconds: float) -> Counter[str]:
    """Ask in many sessions, with pauses, from a point in time; return the outcomes."""
    outcomes = Counter[str]()

    async def ask(client: Client, number: int) -> None:
        chance = random.Random(-number)
        while (now := time.time()) < begin + seconds:
            await asyncio.sleep(max(0.0, begin - now) + chance.uniform(0, 2 * THINKING))
            outcomes[await ask_over_mcp(client, question(chance))] += 1

    async def ask_all() -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(session(project)) for _ in range(sessions)]
            if time.time() > begin:
                outcomes["began late"] += 1
            await asyncio.gather(*map(ask, clients, range(sessions)))

    os.nice(10)
    asyncio.run(ask_all())
    return outcomes


def session(project: Path) -> Client:
    """Return a client of a bridge to the owner of the project."""
    given = StdioServerParameters(command=LORE, args=["mcp"], cwd=project, env=dict(os.environ))
    return Client(stdio_client(given))


@dataclass
class Crowded:
    """The outcomes of the crowd, and each light client alone and within it."""

    clients: Counter[str]
    sessions: Counter[str]
    alone: dict[str, Light]
    within: dict[str, Light]


def measure(project: Path, server: Server, clients: int, sessions: int, seconds: float, start: float) -> Crowded:
    """Measure the light clients alone and within the crowd, whose sessions need `start` seconds to connect."""
    context = multiprocessing.get_context("spawn")

    async def lights(begin: float) -> dict[str, Light]:
        """Connect shortly before a point in time, and ask from then on."""
        await asyncio.sleep(max(0.0, begin - CONNECTING - time.time()))
        connection, chance = Connection(server, ANOTHER), random.Random(7)
        async with session(project) as client:
            asks: dict[str, Ask] = {"HTTP": partial(ask_over_http, connection), "MCP": partial(ask_over_mcp, client)}
            for ask in asks.values():
                await ask(question(chance))
            await asyncio.sleep(max(0.0, begin - time.time()))
            found = [ask_each_second(ask, seconds, random.Random(name)) for name, ask in asks.items()]
            done = dict(zip(asks, await asyncio.gather(*found), strict=True))
        connection.close()
        return done

    alone = asyncio.run(lights(time.time() + CONNECTING))
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        begin = time.time() + start
        agents = pool.submit(crowd_of_sessions, project, sessions, begin, seconds)
        everyone = pool.submit(_from, begin, server, clients, seconds)
        found = asyncio.run(lights(begin))
        return Crowded(everyone.result(), agents.result(), alone, found)


def _from(begin: float, server: Server, clients: int, seconds: float) -> Counter[str]:
    time.sleep(max(0.0, begin - time.time()))
    return crowd_over_http(server, clients, seconds)


@contextmanager
def sample_project() -> Iterator[Path]:
    """Yield a synced copy of the sample project with folders of its own for what Lore keeps."""
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        for variable in ("LORE_HOME", "LORE_STATE", "XDG_CONFIG_HOME", VARIABLE):
            os.environ[variable] = str(Path(folder, variable))
        project = Path(folder, "sample")
        shutil.copytree(SAMPLE, project)
        subprocess.run([LORE, "--no-daemon", "sync"], cwd=project, check=True, capture_output=True)
        yield project


def shown(outcomes: Counter[str]) -> str:
    """Return outcomes as a sentence."""
    return ", ".join(f"{count:,} × {outcome}" for outcome, count in outcomes.most_common())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--clients", type=int, default=1_000)
    options.add_argument("--sessions", type=int, default=100)
    options.add_argument("--seconds", type=int, default=60)
    given = options.parse_args()
    with sample_project() as project, serving(project) as server:
        start = 10 + given.sessions * 1.0
        found = measure(project, server, given.clients, given.sessions, given.seconds, start)
    print(f"load average {os.getloadavg()[0]:.1f}\n")
    print(f"{given.clients:,} clients over HTTP for {given.seconds} s: {shown(found.clients)}")
    print(f"{given.sessions:,} sessions: {shown(found.sessions)}\n")
    print(
        "| light client | alone p50, p95 ms | within p50, p95 ms | ratio of p95 | its outcomes |\n|---|---|---|---|---|"
    )
    for name, alone in found.alone.items():
        within = found.within[name]
        times = [f"{1000 * statistics.median(one.seconds):.0f}, {1000 * one.p95:.0f}" for one in (alone, within)]
        print(f"| {name} | {' | '.join(times)} | {within.p95 / alone.p95:.1f} | {shown(within.outcomes)} |")


if __name__ == "__main__":
    main()
