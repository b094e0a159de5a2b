"""Compare sessions with Lore and with grep: `python -m benchmarks.agent_sessions neo=CHECKOUT waypoint=CHECKOUT`.

Two scripted agents without a model do the tasks of `agent_sessions.toml`. Each decides its next call only from what its
client shows; a session ends when the needed lines were shown, or when its policy has no further call. Each checkout has
to be synced before. `--show` prints the calls.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import mcp_types as types
from mcp.client._memory import InMemoryTransport as wired
from mcp.client.client import Client

from benchmarks.reply_tokens import READ_BY, Reader, as_json, estimate, text_of
from lore_etl.config.settings import load_settings
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.execution.threads import Calls
from lore_server.mcp.mcp_server import build_server

TEXT, DATA = "claude-code", "a client that reads data"
STOPPED = frozenset(
    "about after again already also before between comes could does during each from have here into long many more "
    "much often over same several should some than that their them then there they this those time what when where "
    "which while will with within would yet your".split()
)
MOST_TERMS, MOST_PLACES, MOST_LINES = 6, 5, 100  # of grep: words tried, files opened, lines of output
WINDOW = 120  # lines read at once
LONGEST_FOUND, LONGEST_READ = 500, 2000  # characters of a line, as in Claude Code
PLACE = re.compile(r"^\d+\. (?P<path>\S+?):(?P<first>\d+)(?:-(?P<last>\d+))?(?=  \[)", re.MULTILINE)


class Task(NamedTuple):
    """A question, and the lines that answer it."""

    question: str
    file: str
    lines: frozenset[str]


class Call(NamedTuple):
    """A call as an agent made it, with the text that its client showed."""

    name: str
    tokens: int
    shown: str


class Session(NamedTuple):
    """The calls of one task, and whether the needed lines were shown."""

    calls: list[Call]
    is_answered: bool

    @property
    def tokens(self) -> int:
        return sum(call.tokens for call in self.calls)


def tasks_of(name: str, root: Path) -> Iterator[Task]:
    """Yield the tasks of a project. Raises ValueError for a checkout of another revision."""
    every = tomllib.loads((Path(__file__).parent / "agent_sessions.toml").read_text(encoding="utf-8"))
    for question, needed in every[name].items():
        first, last = needed["lines"]
        lines = (root / needed["file"]).read_text(encoding="utf-8").splitlines()[first - 1 : last]
        if needed["has"] not in "\n".join(lines):
            raise ValueError(f"{needed['file']}:{first} is not what the tasks were written for")
        yield Task(question, needed["file"], frozenset(filter(None, map(str.strip, lines))))


def terms_of(question: str) -> list[str]:
    """Return the words that a person would grep for, names first."""
    words = dict.fromkeys(re.findall(r"[A-Za-z_][\w.-]*\w", question))
    wanted = [re.sub(r"(?<=[a-z]{4})s$", "", word) for word in words if len(word) > 3 and word.lower() not in STOPPED]
    return sorted(wanted, key=lambda word: not re.search(r"[a-z][A-Z]|[._]|[A-Z]{2}", word))[:MOST_TERMS]


def shows(call: Call, task: Task) -> bool:
    """Return whether a reply shows every needed line, and the path of their file was in the call or the reply."""
    return task.file in call.name + call.shown and task.lines <= {line.strip() for line in call.shown.splitlines()}


async def lore_calls(client: Client, read: Reader, question: str) -> AsyncIterator[Call]:
    """Search with the question, open the best places, then search with its words too, and open further places."""
    opened: set[tuple[str, int]] = set()
    for query in (question, [question, " ".join(terms_of(question))]):
        found = await _called(client, read, "query_documents", {"query": query})
        yield found
        places = [(match["path"], int(match["first"]), match["last"]) for match in PLACE.finditer(found.shown)]
        for path, first, last in [place for place in places if place[:2] not in opened][:MOST_PLACES]:
            opened.add((path, first))
            start = max(1, (first + int(last or first) - WINDOW) // 2)
            yield await _called(client, read, "get_source", {"path": path, "start": start, "end": start + WINDOW - 1})


async def _called(client: Client, read: Reader, tool: str, arguments: dict[str, Any]) -> Call:
    result = await client.call_tool(tool, arguments)
    read_text, name = read(result), f"{tool} {as_json(arguments)}"
    return Call(name, estimate(name) + estimate(read_text), _lines_of(result, read_text))


def _lines_of(result: types.CallToolResult, read_text: str) -> str:
    """Return the lines that the model reads, also if they are strings in JSON, under the places of the results."""
    if read_text == text_of(result) or result.structured_content is None:
        return read_text
    places = (
        f"{number}. {row['source']}:{row['lines'][0]}-{row['lines'][1]}  []\n{row['excerpt']}"
        for number, row in enumerate(result.structured_content.get("results", []), 1)
    )
    return "\n".join([*places, str(result.structured_content.get("text", ""))])


async def grep_calls(root: Path, question: str) -> AsyncIterator[Call]:
    """List the files of each word, and read the densest part of the best files; a word in few files counts more."""
    terms, listed = terms_of(question), dict[str, float]()
    for term in terms:
        call = _run(root, "grep", "-rIilF", "--exclude-dir=.?*", "--", term, ".")
        paths = call.shown.splitlines()
        for path in paths:
            listed[path.removeprefix("./")] = listed.get(path.removeprefix("./"), 0) + 1 / len(paths)
        yield call

    def worth(path: str) -> tuple[float, int, int]:
        return (-listed[path], -sum(term.lower() in path.lower() for term in terms), len(path))

    for path in sorted(listed, key=worth)[:MOST_PLACES]:
        call = _run(root, "grep", "-niE", "--", "|".join(map(re.escape, terms)), path)
        yield call
        rows = [
            (int(number), text.lower()) for number, _, text in (row.partition(":") for row in call.shown.splitlines())
        ]
        first = max((number for number, _ in rows), key=lambda start: _variety(start, rows, terms), default=1)
        last = first + WINDOW - WINDOW // 4
        yield _run(root, "sed", "-n", f"{max(1, first - WINDOW // 4)},{last}p", path)


def _variety(start: int, rows: list[tuple[int, str]], terms: list[str]) -> int:
    """Return how many of the words are in the lines that follow."""
    near = " ".join(text for number, text in rows if start <= number < start + WINDOW // 2)
    return sum(term.lower() in near for term in terms)


def _run(root: Path, *command: str) -> Call:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    most, longest = (WINDOW, LONGEST_READ) if command[0] == "sed" else (MOST_LINES, LONGEST_FOUND)
    shown, name = "\n".join(line[:longest] for line in done.stdout.splitlines()[:most]), " ".join(command)
    return Call(name, estimate(name) + estimate(shown), shown)


async def session(calls: AsyncIterator[Call], task: Task) -> Session:
    """Make calls until one of them shows the needed lines."""
    made = []
    async with aclosing(calls) as following:  # type: ignore[type-var]
        async for call in following:
            made.append(call)
            if shows(call, task):
                return Session(made, True)
    return Session(made, False)


async def sessions(app: App, root: Path, tasks: list[Task], agent: str) -> list[Session]:
    """Do the tasks with Lore as a client shows it, or with grep."""
    if agent == "grep":
        return [await session(grep_calls(root, task.question), task) for task in tasks]
    server = build_server(app.contract, Calls(app.contract, app.call), None)
    read: Callable[[types.CallToolResult], str] = READ_BY.get(agent, lambda result: as_json(result.structured_content))
    async with Client(wired(server), client_info=types.Implementation(name=agent, version="1")) as client:
        return [await session(lore_calls(client, read, task.question), task) for task in tasks]


AGENTS = {"grep": "grep and read", TEXT: "Lore, text of replies", DATA: "Lore, data of replies"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    print("| project | agent | needed lines read | calls, median | tokens, median | tokens, all |")
    print("|---|---|---|---|---|---|")
    for name, _, path in (checkout.partition("=") for checkout in given.checkouts):
        root = Path(path).resolve()
        tasks = list(tasks_of(name, root))
        with (
            tempfile.TemporaryDirectory() as home,
            closing(App(root, load_settings(root), load_contract(), home=Path(home))) as app,
        ):
            for agent, title in AGENTS.items():
                done = anyio.run(sessions, app, root, tasks, agent)
                calls, tokens = [len(one.calls) for one in done], [one.tokens for one in done]
                print(
                    f"| {name} | {title} | {sum(one.is_answered for one in done)} of {len(done)} | "
                    f"{statistics.median(calls):g} | {statistics.median(tokens):,.0f} | {sum(tokens):,} |"
                )
                for task, one in zip(tasks, done, strict=True) if given.show else ():
                    print(
                        json.dumps([task.question, one.is_answered, [(c.name, c.tokens) for c in one.calls]], indent=1)
                    )


if __name__ == "__main__":
    main()
