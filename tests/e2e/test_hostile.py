"""Use a hostile project: Lore reads, writes, runs and contacts nothing outside it, and escapes its text."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

from lore_etl.config.project import STATE, cache_folder
from tests.harness import hostile
from tests.harness.commands import LONG_SECONDS, LORE, PREPARED, Command, run_lore, start_lore
from tests.harness.evaluation import git
from tests.harness.hostile import CANARY, PRIVATE, SECRETS, World
from tests.harness.owners import stop_owners
from tests.harness.projects import write_project
from tests.harness.stdio import INITIALIZE
from tests.harness.trying import is_long

COMMANDS = (
    "init --no-sync", "sync", "search harbour", "search harbour --json", "ask harbour", "docs", "status", "doctor",
    "trust --show", "ps", "memory search vault", "knowledge list", "hook session-start", "install claude-code",
    "install cursor",
)  # fmt: skip
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
KEY = "chroma-key-of-the-user"
SECONDS = 120
SHIPPED: dict[str, Callable[[World], None]] = {
    "no index": lambda world: None,
    "an index folder": hostile.ship_index,
    "an owner": hostile.ship_owner,
    "a link as index folder": hostile.ship_link,
    "an unknown key": hostile.ship_unknown_key,
    "a link as lore.toml": hostile.ship_linked_settings,
}
REFUSED = {"an unknown key", "a link as lore.toml"}
IN_THE_FOLDER = {"sync", "doctor", "hook session-start", "search harbour"}
"""The commands that every run starts where the project's modules could be imported; the long run starts all so."""
IN_EVERY_CASE = {"init --no-sync", "sync", "search harbour", "doctor", "status", "memory search vault"}
"""The commands for a project that ships more than settings and files; the long run runs all in every case."""
MARKS = {case: [pytest.mark.later] for case in SHIPPED} | {"no index": [], "a link as lore.toml": [pytest.mark.long]}
"""The first case runs most commands; the last is refused like an unknown key."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with hostile.world(tmp_path) as world:
        monkeypatch.setenv("LORE_CACHE", str(cache_folder()))
        monkeypatch.setenv("HOME", str(world.home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / ".config"))
        monkeypatch.setenv("LORE_HOME", str(world.folder / "knowledge"))
        monkeypatch.setenv("CHROMA_API_KEY", KEY)
        monkeypatch.setenv("CHROMA_ANYTHING", KEY)
        yield world
        stop_owners(world.folder)


@pytest.mark.parametrize("shipped", [pytest.param(case, marks=MARKS[case]) for case in SHIPPED])
@pytest.mark.promise(19, 21)
def test_a_hostile_project_reaches_nothing_outside_it(world: World, shipped: str) -> None:
    keep_a_secret(world)
    hostile.write_hostile(world)
    SHIPPED[shipped](world)
    before = world.state()

    imports = set() if shipped != "no index" else set(COMMANDS) if is_long() else IN_THE_FOLDER
    outputs = {
        line: printed((start_lore if line in imports else run_lore)(*line.split(), cwd=world.project))
        for line in COMMANDS
        if imports or is_long() or line in IN_EVERY_CASE
    }
    outputs["stop"] = printed(run_lore("stop", cwd=world.project))
    assert {line: found.group() for line, text in outputs.items() if (found := RAW.search(text))} == {}
    outputs |= {
        "mcp": through_mcp(world, LORE if imports else PREPARED.lore()),
        "serve": through_http(world, start_server if imports else fork_server),
        "stop again": printed(run_lore("stop", cwd=world.project)),
    }

    assert world.contacts == []
    assert world.state() == before
    assert world.victim.poll() is None
    everything = "\n".join(outputs.values())
    for kept in (CANARY, PRIVATE, KEY, *SECRETS.values()):
        assert kept not in everything
        assert kept not in stored(world)
    assert ("harbour master" in everything) is (shipped not in REFUSED)  # the project remains usable


def keep_a_secret(world: World) -> None:
    """Write a memory of the user's own project, whose name and remote end like those of the hostile project."""
    write_project(world.finance, {"README.md": "# Backend\n"})
    git(world.finance, "init", "--quiet")
    git(world.finance, "remote", "add", "origin", "https://git.example.org/finance/backend.git")
    (world.finance / "secret.txt").write_text(PRIVATE, encoding="utf-8")
    done = run_lore("memory", "add", "The vault", "-f", "secret.txt", cwd=world.finance)
    assert done.returncode == 0, done.stderr
    found = run_lore("memory", "search", "vault", cwd=world.finance)
    assert PRIVATE in found.stdout


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a command, which must end by itself with any exit code."""
    assert done.returncode >= 0
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def through_mcp(world: World, program: str) -> str:
    """Return the output of `lore mcp` for the requests of an agent."""
    calls = [("query_documents", {"query": "harbour"}), ("search_memories", {"query": "vault"}), ("healthcheck", {})]
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(
            {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, start=1)
        ),
    ]
    done = subprocess.run(
        [program, "mcp", "--toolsets", "query,documents,manage,projects,memories"], cwd=world.project, check=False,
        capture_output=True, text=True, timeout=SECONDS,
        input="".join(f"{json.dumps(message)}\n" for message in messages),
    )  # fmt: skip
    return done.stdout + done.stderr


SERVE = ("serve", "--port", "0")


def start_server(world: World, errors: IO[Any]) -> subprocess.Popen[bytes]:
    """Start the server as a shell does."""
    return subprocess.Popen(
        [LORE, *SERVE], cwd=world.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
    )


def fork_server(world: World, errors: IO[Any]) -> Command:
    """Start the server from the parent that has imported everything."""
    return PREPARED.start([LORE, *SERVE], world.project, os.environ, errors, errors, LONG_SECONDS)


def through_http(world: World, start: Callable[[World, IO[Any]], subprocess.Popen[bytes] | Command]) -> str:
    """Return the replies to the page and an HTTP client, or nothing if the server refuses to start."""
    read, write = os.pipe()
    outputs = ""
    with open(read, encoding="utf-8") as errors:
        with open(write, "wb") as written:
            server = start(world, written)
        for line in errors:
            outputs += line
            if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                url = address.group()
                outputs += httpx2.get(f"{url}/", timeout=SECONDS).text
                outputs += httpx2.post(f"{url}/api/query", json={"query": "harbour"}, timeout=SECONDS).text
                server.terminate()
        server.wait()
    return outputs


def stored(world: World) -> str:
    """Return everything that Lore wrote about the hostile project."""
    index, state = world.project / ".lore", Path(os.environ[STATE])
    files = [
        path
        for place in (index, state)
        if not place.is_symlink()
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)
