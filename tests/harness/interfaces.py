"""Call every interface of the real program from outside: the command line, MCP over stdio and HTTP, the HTTP API."""

import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from lore_server.contract import load_contract
from tests.harness.commands import LONG_SECONDS, LORE, PREPARED, as_lore, run_lore

ALL_TOOLSETS = ",".join(load_contract().toolsets())
JSON = dict[str, Any]
Calls = list[tuple[str, JSON]]
Answers = list[JSON]
"""The operation's result or the error record of each call."""


def through_shell(project: Path, calls: Calls) -> Answers:
    """Run `lore call` once for each call."""
    done = [run_lore("call", name, "--json-args", json.dumps(arguments), cwd=project) for name, arguments in calls]
    return [json.loads(process.stdout) for process in done]


def through_stdio(project: Path, calls: Calls, mode: str = "auto") -> Answers:
    """Call one `lore mcp` process through the official client."""
    return anyio.run(_call_all, lambda: over_pipes(project, "--toolsets", ALL_TOOLSETS), calls, mode)


def through_mcp_http(project: Path, calls: Calls, mode: str = "auto") -> Answers:
    """Call one `lore serve` process through the official MCP client, with the token."""
    with serving(project, ALL_TOOLSETS) as url:
        return anyio.run(_call_all, lambda: mcp_over_http(url, bearer(project)), calls, mode)


def through_http(project: Path, calls: Calls) -> Answers:
    """Call one `lore serve` process through its HTTP API."""
    with (
        serving(project) as url,
        httpx2.Client(base_url=f"{url}/api", timeout=LONG_SECONDS, headers=bearer(project)) as client,
    ):
        return [send_call(client, name, arguments).json() for name, arguments in calls]


INTERFACES: Mapping[str, Callable[[Path, Calls], Answers]] = {
    "lore call": through_shell,
    "mcp stdio": through_stdio,
    "mcp stdio 2025": lambda project, calls: through_stdio(project, calls, "legacy"),
    "mcp http": through_mcp_http,
    "mcp http 2025": lambda project, calls: through_mcp_http(project, calls, "legacy"),
    "http": through_http,
}


def bearer(project: Path) -> dict[str, str]:
    """Return the header that allows a client to change the index."""
    return {"Authorization": f"Bearer {(project / '.lore' / 'token').read_text(encoding='ascii').strip()}"}


def over_pipes(project: Path, *options: str) -> Any:
    """Return the official client's transport to a `lore mcp` process."""
    command, *arguments = as_lore()
    arguments += ["mcp", *options]
    return stdio_client(StdioServerParameters(command=command, args=arguments, cwd=project, env=dict(os.environ)))


@asynccontextmanager
async def mcp_over_http(url: str, headers: Mapping[str, str], path: str = "/mcp") -> AsyncIterator[Any]:
    """Open the official client's transport to `lore serve`."""
    async with (
        create_mcp_http_client(headers=dict(headers)) as client,
        streamable_http_client(f"{url}{path}", http_client=client) as streams,
    ):
        yield streams


@contextmanager
def serving(
    project: Path,
    toolsets: str = "",
    port: int = 0,
    variables: Mapping[str, str] | None = None,
    more: Sequence[str | Path] = (),
    **environment: str,
) -> Iterator[str]:
    """Run `lore serve`, on a free port unless a port is given, and yield its address."""
    command = [LORE, "serve", "--port", str(port), "--toolsets", toolsets, *map(str, more)]
    read, write = os.pipe()
    with open(read, encoding="utf-8") as output:
        with open(write, "wb") as errors:
            given = {**os.environ, **(variables or {}), **environment}
            server = PREPARED.start(command, project, given, errors, errors, LONG_SECONDS)
        try:
            line = output.readline()
            assert line.startswith("Lore serves"), line + output.read()
            match = re.search(r"http://[\d.]+:\d+", line)
            assert match, line
            yield match.group()
        finally:
            server.terminate()
            output.read()
            server.wait()


async def _call_all(target: Callable[[], Any], calls: Calls, mode: str) -> Answers:
    async with Client(target(), mode=mode) as client:
        answers = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert result.structured_content is not None
            assert result.is_error == bool(result.structured_content.get("error"))
            answers.append(result.structured_content)
        return answers


def send_call(client: httpx2.Client, name: str, arguments: JSON) -> httpx2.Response:
    """Send a call to the HTTP API, which is the base of the client's addresses."""
    operation = load_contract()[name]
    path = operation.path
    for key, value in arguments.items():
        path = path.replace("{" + key + "}", str(value))
    if operation.method == "GET":
        query = {key: value for key, value in arguments.items() if "{" + key + "}" not in operation.path}
        return client.get(path, params=query)
    return client.post(path, json=arguments)
