"""Use the same memories through the official client over HTTP, the HTTP API and the command line."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from tests.harness import http_client
from tests.harness.commands import PREPARED
from tests.harness.interfaces import bearer, mcp_over_http, serving
from tests.harness.knowledge import assert_sound, git
from tests.harness.projects import write_project

JSON = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "some-app", {"README.md": "# App\n"})


@pytest.fixture
def url(project: Path, home: Path) -> Iterator[str]:
    with serving(project, "memories,projects", LORE_HOME=str(home)) as url:
        yield url


def test_a_client_with_the_token_adds_a_memory_that_every_client_finds(project: Path, home: Path, url: str) -> None:
    async def use(headers: dict[str, str], *calls: tuple[str, JSON]) -> list[JSON]:
        async with Client(mcp_over_http(url, headers)) as client:
            return [(await client.call_tool(*call)).structured_content or {} for call in calls]

    memory = {"name": "apt-28", "body": "Seen at a provider.\r\n", "group_id": "research"}
    large = {"project_id": "other", "content": "x" * 6_000_000}
    refused, found = anyio.run(use, {}, ("add_memory", memory), ("search_memories", {"query": "apt-28"}))
    added, again, written = anyio.run(
        use, bearer(project), ("add_memory", memory), ("add_memory", memory), ("update_project_main", large)
    )
    over_http = http_client.post(f"{url}/api/memories/search", json={"query": "apt-28"}).json()
    wrong = http_client.post(f"{url}/api/memories", json={"name": "x", "body": 1}, headers=bearer(project))

    assert (refused["code"], found["total"]) == ("TOKEN_REQUIRED", 0)
    assert (added["duplicate"], again["duplicate"], again["id"]) == (False, True, added["id"])
    assert written["success"] is True
    assert over_http["results"][0]["id"] == added["id"]
    assert (wrong.status_code, wrong.json()["code"], wrong.json()["error"]) == (400, "INVALID_ARGUMENT", True)
    assert (home / added["path"]).read_bytes().endswith(b"---\nSeen at a provider.\r\n")
    assert git(home, "log", "-1", "--format=%an", added["commit"]) == "mcp\n"
    text = (home / "activity.log").read_text(encoding="utf-8")
    log = [json.loads(line) for line in text.splitlines()]
    assert (log[-1]["method"], log[-1]["errorCode"]) == ("add_memory", "INVALID_ARGUMENT")
    assert not any(secret in text for secret in ("Seen at a provider", "apt-28"))
    assert_sound(home)


def test_the_command_line_adds_searches_and_deletes_memories(project: Path, home: Path, tmp_path: Path) -> None:
    def lore(*arguments: str, given: bytes = b"") -> tuple[int, str]:
        environment = {**os.environ, "LORE_HOME": str(home)}
        command = [PREPARED.lore(), "memory", *arguments]
        done = subprocess.run(command, cwd=project, input=given, capture_output=True, check=False, env=environment)
        return done.returncode, done.stdout.decode() or done.stderr.decode()

    (tmp_path / "note.md").write_bytes("Größe\r\n".encode())

    code, output = lore("add", "C++ flags", "-g", "Build", "--source", "here", given=b"Use -O2 with C++.\n")
    assert (code, output.splitlines()[0]) == (0, "Remembered: C++ flags")
    first = output.splitlines()[1].removeprefix("id: ")
    assert lore("add", "Sizes", "-f", str(tmp_path / "note.md"), "--replaces", "main/gone-000000000000")[0] == 0
    assert next(home.glob("projects/*/memories/main/*.md")).read_bytes().endswith("---\nGröße\r\n".encode())

    assert f"id: {first}" in lore("search", '"C++"', "-g", "Build")[1]
    assert lore("delete", first) == (0, f"Deleted: C++ flags\nid: {first}\n")
    code, output = lore("search", "C++", "-g", "Build")
    assert (code, output.startswith("Nothing found. ")) == (1, True)
    assert lore("add", "x", "-f", "nowhere.md")[0] == 74
    assert lore("add", "x", given=b"\xff")[0] == 74
    assert_sound(home)
