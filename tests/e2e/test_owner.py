"""Test the owner process of an index: it is found, started, replaced and stopped, and serves every command."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lore_etl.stores.owner_file import note_of, read_note, write_note
from lore_server.owner import predecessor
from lore_server.owner.line import dial
from lore_server.owner.listen import runtime_folder
from tests.harness.commands import run_lore, synced_project
from tests.harness.interfaces import serving
from tests.harness.owners import kill, owner_of, owners, pause, stop_owners, wait_until, without_clients
from tests.harness.processes import child
from tests.harness.projects import write_project
from tests.harness.stdio import StdioClient
from tests.harness.trust import approve
from tests.harness.trying import often

pytestmark = pytest.mark.later

PAGE = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}
HOLD = """
import sys
from pathlib import Path
from lore_etl.index import Ownership
owner = Ownership(Path(sys.argv[1]))
owner.take()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a small project with an index and a running owner."""
    return synced_project(tmp_path, PAGE)


def search(project: Path, *options: str, **environment: str) -> dict[str, Any]:
    done = run_lore("search", "ferry", "--json", *options, cwd=project, **environment)
    return {"exit": done.returncode, **json.loads(done.stdout)}


def test_commands_share_one_owner_and_leave_it_running(project: Path) -> None:
    before = owner_of(project)

    found = [search(project)["results"][0]["source"] for _ in range(2)]

    assert found == ["docs/ferry.md"] * 2
    assert owner_of(project) == before
    assert len(owners()) == 1


@pytest.mark.promise(4)
def test_concurrent_starts_result_in_one_owner(tmp_path: Path) -> None:
    write_project(tmp_path, PAGE)
    with ThreadPoolExecutor(6) as pool:
        jobs = list(pool.map(lambda _: run_lore("sync", "--json", cwd=tmp_path), range(6)))

    assert [job.returncode for job in jobs] == [0] * 6
    assert len(owners()) == 1
    assert {json.loads(job.stdout)["report"]["failed"].__len__() for job in jobs} == {0}


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe on Windows does not report that its reader has left")
def test_an_owner_whose_starter_has_gone_does_not_take_the_index(project: Path) -> None:
    stop_owners(project)
    reader, writer = os.pipe()
    os.close(reader)  # as a command that found another owner meanwhile
    late = subprocess.Popen(
        [sys.executable, "-P", "-m", "lore_server.owner.owner_main", str(project), ""],
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)

    late.communicate(timeout=120)  # an owner would keep its standard error open

    assert owners() == []


@pytest.mark.promise(6)
def test_a_killed_owner_is_replaced_by_the_next_command(project: Path) -> None:
    dead = owner_of(project)
    kill(dead)

    result = search(project)

    assert result["results"][0]["source"] == "docs/ferry.md"
    assert owner_of(project).pid != dead.pid


def test_a_note_with_a_reused_process_id_is_recognised(project: Path) -> None:
    note = owner_of(project)
    kill(note)
    write_note(project / ".lore", note._replace(pid=os.getpid(), born="1"))  # alive, but started at another time

    result = search(project)

    assert result["exit"] == 0
    assert owner_of(project).pid not in (os.getpid(), note.pid)


@pytest.mark.parametrize(
    "content", often(["", "garbage", "[]", "{}", '{"pid": "x"}', '{"pid": 1, "born": 7}'], {"garbage", "{}"})
)
def test_a_broken_note_does_not_prevent_a_start(project: Path, content: str) -> None:
    kill(owner_of(project))
    note_of(project / ".lore").write_text(content, encoding="utf-8")

    assert search(project)["exit"] == 0


def test_a_new_key_replaces_the_owner_but_a_missing_key_does_not(project: Path) -> None:
    without = owner_of(project).pid
    search(project, GEMINI_API_KEY="k" * 20)
    with_key = owner_of(project)
    search(project)

    assert with_key.pid != without
    assert owner_of(project).pid == with_key.pid
    assert "k" * 20 not in note_of(project / ".lore").read_text()


def test_a_client_without_the_token_gets_no_answer(project: Path) -> None:
    note = owner_of(project)

    for token in ("", "x" * 32):
        line, reply = dial(note.address, {"want": "status", "token": token})
        assert reply == {"ok": False}
        line.close()
    wait_until(lambda: predecessor.ask(note, "status") is not None)


def test_only_this_user_can_reach_the_owner(project: Path) -> None:
    note = owner_of(project)
    socket = Path(note.address.removeprefix("unix:"))

    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(note_of(project / ".lore").stat().st_mode) == 0o600
    assert stat.S_IMODE(runtime_folder().stat().st_mode) == 0o700


def test_the_owner_listens_on_loopback_if_unix_sockets_are_missing(tmp_path: Path) -> None:
    approve(write_project(tmp_path, {**PAGE, "lore.toml": '[owner]\ntransport = "loopback"\n'}))

    assert run_lore("sync", cwd=tmp_path).returncode == 0
    assert search(tmp_path)["exit"] == 0
    assert owner_of(tmp_path).address.startswith("tcp:127.0.0.1:")


def test_inspecting_a_project_without_an_index_leaves_no_trace(tmp_path: Path) -> None:
    for command in (["search", "x"], ["status"], ["docs"], ["hierarchy", "X"]):
        run_lore(*command, cwd=tmp_path)

    assert list(tmp_path.iterdir()) == []
    assert owners() == []


def test_ps_lists_running_owners_and_stop_ends_them(project: Path) -> None:
    note = without_clients(project)

    listed = json.loads(run_lore("ps", "--json", cwd=project).stdout)["owners"]
    listing = run_lore("ps", cwd=project).stdout
    stopped = json.loads(run_lore("stop", "--json", cwd=project).stdout)
    after = json.loads(run_lore("ps", "--json", cwd=project).stdout)

    assert [(owner["pid"], owner["project"], owner["clients"], owner["answers"]) for owner in listed] == [
        (note.pid, str(project), 0, True)
    ]
    assert str(note.pid) in listing
    assert stopped == {"stopped": [note.pid]}
    assert after == {"owners": []}
    assert not note_of(project / ".lore").exists()
    assert not Path(note.address.removeprefix("unix:")).exists()


def test_stop_ends_an_owner_that_does_not_answer(project: Path) -> None:
    note = owner_of(project)
    pause(note.pid)

    done = run_lore("stop", cwd=project)

    assert done.returncode == 0
    assert not note.is_alive


def test_stop_ends_the_projects_owner_and_stop_all_ends_every_owner(tmp_path: Path) -> None:
    projects = [write_project(tmp_path / name, PAGE) for name in ("one", "two", "three")]
    for project in projects:
        run_lore("sync", cwd=project)

    run_lore("stop", cwd=projects[0])
    left = len(owners())
    run_lore("stop", "--all", cwd=projects[0])

    assert (left, owners()) == (2, [])


def test_an_idle_owner_ends_by_itself(tmp_path: Path) -> None:
    write_project(tmp_path, {**PAGE, "lore.toml": "[owner]\nidle_minutes = 0.02\n"})
    with StdioClient(tmp_path):  # a connected client keeps the owner running
        note = owner_of(tmp_path)

    wait_until(lambda: not note.is_alive)

    assert read_note(tmp_path / ".lore") is None


def test_no_daemon_opens_the_index_in_process_and_stops_an_idle_owner(project: Path) -> None:
    before = owner_of(project)

    result = search(project, "--no-daemon")
    job = json.loads(run_lore("sync", "--json", "--no-daemon", cwd=project).stdout)

    assert result["results"][0]["source"] == "docs/ferry.md"
    assert (job["state"], job["report"]["unchanged"]) == ("done", 1)
    assert not before.is_alive
    assert owners() == []


def test_an_index_held_by_another_command_is_reported_with_its_holder(project: Path) -> None:
    stop_owners()
    with child(HOLD, project / ".lore") as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"

        result = search(project)

    assert (result["exit"], result["code"]) == (75, "BUSY")
    assert f"pid {holder.pid}" in result["message"]


def test_an_owner_that_cannot_start_reports_the_reason(tmp_path: Path) -> None:
    write_project(tmp_path, {**PAGE, "lore.toml": '[sources]\nnonsense = ["x"]\n'})

    done = run_lore("sync", "--json", cwd=tmp_path)

    assert done.returncode == 2
    assert json.loads(done.stdout)["code"] == "CONFIG_ERROR"
    assert owners() == []


def test_a_serving_process_takes_over_the_index_and_is_not_replaced(project: Path) -> None:
    background = owner_of(project)
    with serving(project):
        result = search(project)
        second = run_lore("serve", "--port", "0", "--json", cwd=project)
        (project / "lore.toml").write_text("[query]\nnResults = 50\n", encoding="utf-8")
        read = run_lore("search", "ferry", cwd=project)
        other = run_lore("sync", "--json", cwd=project)

    assert not background.is_alive
    assert result["exit"] == 0
    assert (second.returncode, json.loads(second.stdout)["code"]) == (75, "BUSY")
    assert (read.returncode, "has another configuration" in read.stderr) == (0, True)
    assert (other.returncode, json.loads(other.stdout)["code"]) == (75, "BUSY")
    assert "lore serve" in json.loads(other.stdout)["message"]


def test_health_names_the_owner_and_its_clients(project: Path) -> None:
    without_clients(project)
    health = json.loads(run_lore("status", "--json", cwd=project).stdout)

    assert health["owner"]["pid"] == owner_of(project).pid
    assert health["owner"]["clients"] == 1
