"""Test `lore mcp` between an agent and the owner: it is small and fast, and survives the death of an owner."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lore_server.owner import predecessor
from tests.harness.commands import LORE, SECONDS, run_lore, synced_project
from tests.harness.owners import kill, owner_of, owners, pause, resident_kilobytes, stop_owners, wait_until
from tests.harness.projects import write_project
from tests.harness.stdio import INITIALIZE, StdioClient

pytestmark = pytest.mark.later

PAGES = {f"docs/{n}.md": f"# Page {n}\n\nThe ferry number {n} crosses the river.\n" for n in range(5)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return synced_project(tmp_path, PAGES)


@pytest.mark.parametrize("moment", ["between calls", "during a call"])
def test_the_next_call_after_the_owner_dies_works(project: Path, moment: str) -> None:
    with StdioClient(project) as client:
        client.call("query_documents", query="ferry")
        dead = owner_of(project)
        if moment == "between calls":
            kill(dead)
            client.begin("tools/call", {"name": "query_documents", "arguments": {"query": "river"}})
        else:
            client.begin("tools/call", {"name": "query_documents", "arguments": {"query": "river"}})
            kill(dead)
        reply = client.reply()
        after = client.call("query_documents", query="ferry number 3")

        assert reply["result"]["structuredContent"]["total"] == 5
        assert after["results"][0]["source"] == "docs/3.md"
        assert owner_of(project).pid != dead.pid


def test_a_sync_that_lost_its_owner_is_repeated_by_the_next_owner(tmp_path: Path) -> None:
    write_project(tmp_path, {f"docs/{n}.md": f"# Page {n}\n\nText about subject {n}.\n" for n in range(400)})
    with StdioClient(tmp_path) as client:
        client.begin(
            "tools/call", {"name": "manage_knowledge_base", "arguments": {"action": "sync", "wait_seconds": 600}}
        )
        wait_until((tmp_path / ".lore" / "chunks.jsonl.gz").exists)
        kill(owner_of(tmp_path))
        job = client.reply()["result"]["structuredContent"]
        health = client.call("healthcheck")

    assert job["state"] == "done"
    assert health["status"] == "healthy"
    assert health["counts"] == {"guide": 400}


def test_a_call_that_must_not_be_repeated_is_reported_and_the_next_call_works(project: Path) -> None:
    with StdioClient(project) as client:
        client.call("query_documents", query="ferry")
        owner = owner_of(project)
        pause(owner.pid)  # the call is sent and stays unanswered
        client.begin("tools/call", {"name": "no_such_tool", "arguments": {}})
        wait_until(client.is_idle)  # until it is sent, the call could still go to the next owner
        kill(owner)
        reply = client.reply()

        assert "exited during this call" in reply["error"]["message"]
        assert client.call("query_documents", query="ferry")["total"] == 5


def test_requests_of_the_stateless_protocol_survive_the_death_of_an_owner(project: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "query_documents", "arguments": {"query": "ferry"}, "_meta": meta}
    with StdioClient(project, handshake=False) as client:
        first = client.request("tools/call", params)
        kill(owner_of(project))
        second = client.request("tools/call", params)

    assert [reply["result"]["structuredContent"]["total"] for reply in (first, second)] == [5, 5]


def test_an_agent_with_a_key_gets_a_new_owner_with_that_key(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k" * 20)
    with StdioClient(project) as client:
        client.call("query_documents", query="ferry")
        with_key = owner_of(project)
        client.process.send_signal(signal.SIGSTOP)  # so that the command runs before the bridge
        kill(with_key)
        monkeypatch.delenv("GEMINI_API_KEY")
        run_lore("search", "ferry", cwd=project)
        without = owner_of(project)
        client.process.send_signal(signal.SIGCONT)
        found = client.call("query_documents", query="ferry")["total"]

        assert (with_key.key != "", without.key, found) == (True, "", 5)
        assert owner_of(project).key == with_key.key


def test_the_bridge_ends_with_its_input_and_the_owner_keeps_running(project: Path) -> None:
    client = StdioClient(project)

    assert client.close() == 0
    assert len(owners()) == 1


def test_the_bridge_ends_when_its_parent_dies_even_if_its_input_stays_open(project: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "bridge = subprocess.Popen([sys.argv[1], 'mcp'], stdin=0, stdout=subprocess.PIPE)\n"
        "print(bridge.pid, flush=True)\n"
        "sys.stdin.close(); time.sleep(600)"
    )
    read, write = os.pipe()
    parent = subprocess.Popen([sys.executable, "-c", code, LORE], cwd=project, stdin=read, stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        bridge = int(parent.stdout.readline())
        wait_until(lambda: (predecessor.ask(owner_of(project), "status") or {}).get("clients") == 1)
        parent.kill()
        parent.wait()
        wait_until(lambda: not Path(f"/proc/{bridge}/status").exists() or "zombie" in _status(bridge))
    finally:
        os.close(read)
        os.close(write)
        assert parent.stdout is not None
        parent.stdout.close()


def test_every_line_on_standard_output_is_a_message(project: Path) -> None:
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "healthcheck"}}),
    ]
    done = subprocess.run(
        [LORE, "mcp", "-v"], cwd=project, input="\n".join(lines), capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip  # the last line has no line break

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


def test_the_bridge_imports_nothing_but_the_standard_library_and_lore(project: Path) -> None:
    bridge = imported(project, "-m", "lore_server.cli.main", "mcp")

    assert bridge - imported(project, "-c", "pass") - sys.stdlib_module_names == {"lore_etl", "lore_server"}


def test_a_search_in_the_shell_leaves_the_heavy_imports_to_the_owner(project: Path) -> None:
    modules = imported(project, "-m", "lore_server.cli.main", "search", "ferry", "--json")

    assert "typer" in modules
    assert modules.isdisjoint({"jsonschema", "jsonschema_rs", "yaml", "numpy", "tantivy", "chromadb"})


def imported(project: Path, *command: str) -> set[str]:
    """Return the packages that a Python process imports."""
    done = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", *command], cwd=project, capture_output=True, text=True,
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}


def test_a_bridge_uses_little_memory(project: Path) -> None:
    with StdioClient(project) as client:
        client.call("query_documents", query="ferry")

        assert resident_kilobytes(client.process.pid) < 30_000


def test_the_bridge_names_an_invalid_configuration_key_and_exits(tmp_path: Path) -> None:
    write_project(tmp_path, {**PAGES, "lore.toml": "[qurey]\n"})

    done = run_lore("mcp", cwd=tmp_path)

    assert done.returncode == 2
    assert "qurey" in done.stderr
    assert done.stdout == ""


def test_a_corrected_configuration_takes_effect_without_a_new_session(project: Path) -> None:
    with StdioClient(project) as client:
        client.call("query_documents", query="ferry")
        (project / "lore.toml").write_text("[qurey]\n", encoding="utf-8")
        stop_owners()
        failed = client.request("tools/call", {"name": "query_documents", "arguments": {"query": "ferry"}})
        (project / "lore.toml").write_text("[query]\nnResults = 50\n", encoding="utf-8")
        mended = client.call("query_documents", query="ferry")

    assert "qurey" in failed["error"]["message"]
    assert mended["total"] == 5


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "zombie"
