"""Run `lore hook session-start` as an agent does: without a terminal, with servers in other processes."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from lore_server.hook.upload_state import read_state
from tests.harness.commands import LORE, PREPARED, SECONDS, run_lore
from tests.harness.interfaces import serving
from tests.harness.memory_server import MemoryServer
from tests.harness.owners import wait_until
from tests.harness.processes import guarded
from tests.harness.projects import ROOT, write_project

pytestmark = pytest.mark.later

JSON = dict[str, Any]
TOKEN = "0123456789abcdef-token"


class Place:
    """A project, a folder of memories, and a home for the state."""

    def __init__(self, folder: Path) -> None:
        self.project, self.memories, self.home = folder / "p", folder / "m", folder / "home"
        self.project.mkdir()

    def write(self, count: int) -> None:
        files = {
            f"{'LEARNING' if n % 2 else 'RESEARCH'}/2026-0{n % 3 + 1}/{n}.md": f"# Title {n}\n\nText {n}."
            for n in range(count)
        }
        write_project(self.memories, files)

    def command(self, *arguments: str) -> list[str]:
        patient = ("--budget", "600")  # a test may pass a different one
        return [LORE, "hook", "session-start", *patient, "--memory-dir", str(self.memories), *arguments]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        environment = {"LORE_HOME": str(self.home), **environment}
        return run_lore(*self.command(*arguments)[1:], cwd=self.project, **environment)

    def report(self, *arguments: str, **environment: str) -> JSON:
        done = self.run("--json", *arguments, **environment)
        assert done.returncode == 0, done.stderr
        report: JSON = json.loads(done.stdout)
        return report


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def counts(report: JSON) -> JSON:
    return {name: report[name] for name in ("processed", "succeeded", "failed", "skipped")}


@pytest.mark.requirement("HOOK-023")
def test_fr_016_verbose_reports_each_step(place: Place, server: MemoryServer) -> None:
    place.write(20)
    first = place.run("--url", server.url, "--verbose")

    assert first.stdout == f"Memories for {server.url}: 20 processed, 20 succeeded, 0 failed, 0 skipped.\n"
    assert ": protocol 2024-11-05" in first.stderr
    assert first.stderr.count("sent ") == len(server.episodes) == 20
    again = place.run("--url", server.url)
    assert again.stdout == f"Memories for {server.url}: 20 processed, 0 succeeded, 0 failed, 20 skipped.\n"
    assert again.stderr == ""
    status = place.report("--status", "--url", server.url)
    assert (status["files"], status["is_running"], status["last"]["succeeded"]) == (20, False, 20)
    assert "sent LEARNING/" in Path(status["log"]).read_text(encoding="utf-8")
    assert f"Sent to {server.url}: 20 memory files.\n" in place.run("--status", "--url", server.url).stdout


@pytest.mark.long  # it measures time
@pytest.mark.requirement("HOOK-029")
def test_sc_001_20_files_are_sent_within_15_seconds(place: Place, server: MemoryServer) -> None:
    place.write(20)
    started = time.monotonic()
    assert counts(place.report("--url", server.url))["succeeded"] == 20
    assert time.monotonic() - started < 15


@pytest.mark.requirement("HOOK-021", "HOOK-025")
def test_fr_014_a_dry_run_lists_the_files_without_using_the_network(place: Place, server: MemoryServer) -> None:
    place.write(2)
    guard = guarded(place.home.parent / "guard")
    outside = {**guard, "PYTHONPATH": os.pathsep.join([guard["PYTHONPATH"], str(ROOT)])}

    done = place.run("--dry-run", "--url", server.url, **outside)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "would send LEARNING/2026-02/1.md", "would send RESEARCH/2026-01/0.md",
        f"Memories for {server.url}: 0 processed, 0 succeeded, 0 failed, 0 skipped, 2 waiting.",
    ]  # fmt: skip
    sent = place.report("-n", "--url", server.url, **outside)["send"]
    assert sent == ["LEARNING/2026-02/1.md", "RESEARCH/2026-01/0.md"]
    assert server.asked == []
    assert not place.home.exists()


@pytest.mark.requirement("HOOK-018")
def test_sc_002_a_session_does_not_wait_and_the_rest_is_sent_once_the_server_is_available(
    place: Place, server: MemoryServer
) -> None:
    place.write(3)
    server.set(*[{"do": "drop", "on": "initialize"}] * 2)

    done = place.report("--url", server.url, "--budget", "0")

    assert counts(done) == {"processed": 0, "succeeded": 0, "failed": 0, "skipped": 0}
    assert (done["waiting"], done["in_background"]) == (3, True)
    wait_until(lambda: len(server.episodes) == 3)
    log = next((place.home / "hook").glob("*.log")).read_text(encoding="utf-8")
    assert log.count("the connection failed") == 2


def test_fr_013_a_hanging_server_delays_a_session_only_for_the_budget(place: Place, server: MemoryServer) -> None:
    place.write(2)
    server.set(*[{"do": "hang"}] * 100)  # a hanging call is abandoned after 10 seconds and retried

    done = place.run("--url", server.url, "--budget", "1")

    assert done.returncode == 0
    assert "2 waiting. The rest continues in the background; --status shows the progress." in done.stdout
    wait_until(lambda: bool(server.calls()))
    status = place.report("--status", "--url", server.url)
    assert status["is_running"] is True
    server.reset()  # releases the hanging call
    state = Path(status["state"])
    wait_until(lambda: "ended" in read_state(state).last)
    assert len(server.episodes) == 2


@pytest.mark.requirement("HOOK-028")
def test_two_simultaneous_hooks_send_each_file_once(place: Place, server: MemoryServer) -> None:
    place.write(12)
    command, environment = place.command("--json", "--url", server.url), {**os.environ, "LORE_HOME": str(place.home)}
    both = [
        subprocess.Popen(
            [PREPARED.lore(), *command[1:]], cwd=place.project, env=environment, text=True,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]  # fmt: skip
    outcomes = [json.loads(process.communicate(timeout=SECONDS)[0]) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert sorted(outcome["succeeded"] for outcome in outcomes) == [0, 12]
    assert len(server.calls()) == len(server.episodes) == 12


def test_memories_are_stored_once_in_a_local_or_a_remote_lore(place: Place) -> None:
    place.write(3)
    (place.memories / "LEARNING/long.md").write_text("# Long\n\n" + "A paragraph of words.\n\n" * 600, encoding="utf-8")
    (place.memories / "RESEARCH/cti.md").write_text("# CTI\n\nThe group apt-28 uses it.", encoding="utf-8")
    own = place.report()
    assert counts(own) == {"processed": 5, "succeeded": 5, "failed": 0, "skipped": 0}
    found = run_lore("hook", "search", "apt-28", cwd=place.project, LORE_HOME=str(place.home))
    assert "CTI" in found.stdout
    kept = [path.read_text(encoding="utf-8") for path in place.home.glob("projects/*/memories/*/*.md")]
    assert sum("name: Title" in text for text in kept) == 3
    assert sum("name: Long" in text for text in kept) == 3  # three parts with up to 5,000 characters each
    history = subprocess.run(
        ["git", "log", "--name-only", "--format="], cwd=place.home, capture_output=True, text=True, check=True
    ).stdout
    assert "memories/research/cti" in history
    assert "hook/" not in history  # the state of this machine is not shared
    environment = {"LORE_TOKEN": TOKEN, "LORE_HOME": str(place.home.with_name("other"))}
    with serving(place.project, variables=environment) as url:
        assert counts(place.report("--url", f"{url}/mcp/", LORE_HOOK_TOKEN=TOKEN)) == counts(own)
        log = Path(place.report("--status", "--url", f"{url}/mcp/")["log"]).read_text(encoding="utf-8")
        assert ": protocol 2026-07-28" in log  # this protocol version has no sessions
        assert TOKEN not in log
        (place.memories / "LEARNING/long.md").write_text("# Short\n\nOne line.\n", encoding="utf-8")
        changed = place.report("--url", f"{url}/mcp/", LORE_HOOK_TOKEN=TOKEN)
    assert (changed["succeeded"], changed["skipped"]) == (1, 4)
    texts = [file.read_text("utf-8") for file in place.home.with_name("other").glob("projects/*/memories/*/*.md")]
    assert (len(texts), sum("One line." in text for text in texts)) == (5, 1)


def test_a_search_on_another_server_is_escaped_for_its_database(place: Place, server: MemoryServer) -> None:
    server.set(database="falkordb")
    search = ("hook", "search", "apt-28", "--url", server.url, "-g", "research")

    done = run_lore(*search, cwd=place.project, MADEINOZ_KNOWLEDGE_DB="falkordb")
    refused = run_lore(*search, cwd=place.project, MADEINOZ_KNOWLEDGE_DB="mysql")

    assert json.loads(done.stdout)["nodes"] == []
    assert server.calls("search_nodes") == [{"query": r"apt\-28", "group_ids": ["research"]}]
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "neo4j, falkordb, falkorodb" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        ((), {"MADEINOZ_KNOWLEDGE_DB": "mysql"}, "neo4j, falkordb, falkorodb"),
        (("-c", "nothing.toml"), {}, "nothing.toml"),
        ((), {"LORE_HOME": "/dev/null/lore"}, "Cannot write to the folder of the hook: Not a directory."),
    ],
)
def test_a_session_starts_despite_an_invalid_environment(
    place: Place, arguments: tuple[str, ...], environment: dict[str, str], expected: str
) -> None:
    place.write(1)

    done = place.run(*arguments, **environment)

    assert (done.returncode, done.stdout) == (0, "")
    assert expected in done.stderr


def test_a_wrong_command_line_is_reported_with_the_usual_exit_code(place: Place) -> None:
    assert place.run("--url", "nonsense").returncode == 2
