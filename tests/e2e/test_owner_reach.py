"""Find, stop and replace an owner from every shell, whatever happens to its note, socket or index."""

import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lore_etl.config.project import place_of
from lore_etl.core.errors import Busy
from lore_etl.stores.owner_file import Note, living_note, note_of, write_note
from lore_server.owner import find, line, predecessor
from tests.harness.commands import run_lore, synced_project
from tests.harness.owners import kill, owner_of, pause, wait_until
from tests.harness.processes import child
from tests.harness.trying import often

pytestmark = pytest.mark.later

HOLD = """
import sys
from pathlib import Path
from filelock import FileLock
lock = FileLock(Path(sys.argv[1]) / "owner.lock")
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""

SILENT = """
import json, socket, sys, time
from pathlib import Path
from filelock import FileLock
from lore_etl.stores.owner_file import Note, my_note, write_note
folder, note, work_seconds = Path(sys.argv[1]), Note(**json.loads(sys.argv[2])), float(sys.argv[3])
lock = FileLock(folder / "owner.lock")
lock.acquire()
listener = socket.create_server(("127.0.0.1", 0))
me = my_note("background", address=f"tcp:127.0.0.1:{listener.getsockname()[1]}")
write_note(folder, note._replace(pid=me.pid, born=me.born, address=me.address))
print("held", flush=True)
end = time.monotonic() + work_seconds
while time.monotonic() < end:
    sum(range(1000))
if not work_seconds:
    sys.stdin.read()
while True:
    try:
        listener.accept()[0].sendall(b'{"ok": true}\\n')
    except OSError:
        pass  # a client that has given up
"""
"""An owner that accepts connections, but answers none; or only after it has computed for some seconds."""


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Return a folder for the sockets of one test, with a short name."""
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        yield Path(folder) / "r"


@pytest.fixture
def project(tmp_path: Path, runtime: Path) -> Path:
    """Return a small project with an index and a running owner."""
    files = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}
    return synced_project(tmp_path, files, LORE_RUNTIME=str(runtime))


@pytest.fixture
def patient(prepared_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the owner longer than a busy machine may suspend it."""
    for name in ("START_SECONDS", "REFUSED_SECONDS", "SILENT_SECONDS", "NAMELESS_SECONDS"):
        monkeypatch.setattr(find, name, 120.0)


def found(project: Path, **environment: str) -> list[str]:
    done = run_lore("search", "ferry", "--json", cwd=project, **environment)
    return [result["source"] for result in json.loads(done.stdout)["results"]]


def test_every_shell_finds_and_stops_the_owner(project: Path, tmp_path: Path) -> None:
    """Shells differ in LORE_RUNTIME and, if it is not set, in XDG_RUNTIME_DIR and TMPDIR."""
    owner = owner_of(project)
    other = {name: str(tmp_path / "other") for name in ("LORE_RUNTIME", "XDG_RUNTIME_DIR", "TMPDIR")}
    (tmp_path / "other").mkdir()

    assert found(project, **other) == ["docs/ferry.md"]
    assert owner_of(project) == owner
    listed = json.loads(run_lore("ps", "--json", cwd=project, **other).stdout)["owners"]
    assert [(owner["pid"], owner["answers"]) for owner in listed if owner["index"] == str(project / ".lore")] == [
        (owner.pid, True)
    ]
    assert json.loads(run_lore("stop", "--json", cwd=project, **other).stdout) == {"stopped": [owner.pid]}
    assert not owner.is_alive


def test_a_shell_with_another_temporary_folder_can_replace_the_owner(project: Path, tmp_path: Path) -> None:
    owner = owner_of(project)
    (project / "lore.toml").write_text("[query]\nnResults = 50\n", encoding="utf-8")

    assert found(project, LORE_RUNTIME=str(tmp_path / "o")) == ["docs/ferry.md"]
    assert not owner.is_alive


def remove_socket(owner: Note) -> None:
    Path(owner.address.removeprefix("unix:")).unlink()


def remove_folder(owner: Note) -> None:
    shutil.rmtree(Path(owner.address.removeprefix("unix:")).parent)


@pytest.mark.parametrize(
    ("sweep", "command"),
    often(
        itertools.product([remove_socket, remove_folder], ["search", "stop"]),
        {(remove_socket, "search"), (remove_folder, "stop")},
    ),
)
def test_an_owner_recreates_its_deleted_socket(
    project: Path, sweep: Callable[[Note], None], command: str, patient: None
) -> None:
    owner = owner_of(project)
    sweep(owner)

    if command == "search":
        connected, _ = find.connect(place_of(project), {"want": "call"})
        connected.close()
        assert owner_of(project) == owner
    else:
        assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": [owner.pid]}
        assert not owner.is_alive


DAMAGE: dict[str, Callable[[Path, Note], object]] = {
    "gone": lambda note, _: note.unlink(),
    "empty": lambda note, _: note.write_text(""),
    "garbage": lambda note, _: note.write_bytes(b"\xa5" * 300),
    "of another process": lambda note, owner: note.write_text(json.dumps({**owner._asdict(), "pid": 1, "born": "1"})),
    "elsewhere": lambda note, owner: note.write_text(json.dumps({**owner._asdict(), "address": "tcp:127.0.0.1:9"})),
}


@pytest.mark.parametrize("damage", often(DAMAGE, {"gone", "garbage", "of another process"}))
def test_an_owner_restores_its_note(project: Path, damage: str, patient: None) -> None:
    owner = owner_of(project)
    DAMAGE[damage](note_of(project / ".lore"), owner)

    connected, _ = find.connect(place_of(project), {"want": "call"})
    connected.close()

    assert owner_of(project) == owner


@pytest.mark.parametrize("damage", often(["gone", "garbage", "of another process"], {"gone"}))
def test_stop_finds_an_owner_whose_note_was_damaged(project: Path, damage: str) -> None:
    owner = owner_of(project)

    DAMAGE[damage](note_of(project / ".lore"), owner)

    assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": [owner.pid]}


def test_a_new_owner_rebuilds_an_index_that_was_deleted(project: Path) -> None:
    owner = owner_of(project)

    shutil.rmtree(project / ".lore")
    done = json.loads(run_lore("sync", "--json", cwd=project).stdout)

    assert done["report"]["created"] == 1
    assert not owner.is_alive
    assert found(project) == ["docs/ferry.md"]


@pytest.mark.parametrize("sweep", [lambda owner: None, remove_socket])
def test_an_owner_that_hangs_is_replaced(
    project: Path, sweep: Callable[[Note], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = owner_of(project)
    pause(owner.pid)
    sweep(owner)
    monkeypatch.setattr(predecessor, "KILL_SECONDS", 0.2)
    for where, name in ((find, "SILENT_SECONDS"), (find, "REFUSED_SECONDS"), (line, "CONNECT_SECONDS")):
        monkeypatch.setattr(where, name, 2.0)  # long enough for the new owner to answer

    connected, _ = find.connect(place_of(project), {"want": "call"})

    connected.close()
    assert not owner.is_alive
    assert owner_of(project).pid != owner.pid


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that stops a process")
def test_a_command_does_not_wait_for_an_owner_that_a_signal_has_stopped(project: Path) -> None:
    owner = owner_of(project)
    pause(owner.pid)
    began = time.monotonic()

    connected, reply = find.connect(place_of(project), {"want": "call"})

    connected.close()
    assert reply["ok"]
    assert time.monotonic() - began < find.SILENT_SECONDS
    assert not owner.is_alive


@pytest.fixture
def hasty(prepared_python: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up waiting for an owner earlier than a user would."""
    monkeypatch.setattr(find, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(line, "CONNECT_SECONDS", 0.4)
    monkeypatch.setattr(predecessor, "KILL_SECONDS", 0.2)


@contextmanager
def silent_owner(project: Path, work_seconds: float) -> Iterator[Note]:
    """Replace the owner by a process that accepts connections but does not answer while it works, or ever."""
    kill(note := owner_of(project))
    with child(SILENT, project / ".lore", json.dumps(note._asdict()), work_seconds) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield owner_of(project)


@pytest.mark.promise(6)
def test_an_owner_that_accepts_connections_but_never_answers_is_replaced(
    project: Path, hasty: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with silent_owner(project, work_seconds=0) as silent:
        connected, reply = find.connect(place_of(project), {"want": "mcp"})
        connected.close()

        assert reply["pid"] == owner_of(project).pid != silent.pid
        assert not silent.is_alive
        assert f"pid {silent.pid}) has not answered" in capsys.readouterr().err


def test_an_owner_that_is_silent_because_it_works_hard_is_not_ended(project: Path, hasty: None) -> None:
    with silent_owner(project, work_seconds=1.8) as busy:
        connected, _ = find.connect(place_of(project), {"want": "call"})
        connected.close()

        assert owner_of(project) == busy


@pytest.mark.long
def test_a_command_gives_up_waiting_for_an_owner_that_works_hard(
    project: Path, hasty: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "START_SECONDS", 2.0)
    with silent_owner(project, work_seconds=600) as busy:
        with pytest.raises(Busy, match="does not respond"):
            find.connect(place_of(project), {"want": "call"})

        assert busy.is_alive


@pytest.mark.parametrize("command", ["search", "stop"])
def test_a_process_that_holds_the_index_without_a_note_is_reported(project: Path, command: str) -> None:
    kill(owner_of(project))
    with child(HOLD, project / ".lore") as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"

        done = run_lore(*((command, "ferry") if command == "search" else (command,)), "--json", cwd=project)

    assert done.returncode == 75
    found = json.loads(done.stdout)
    assert "An unidentified process holds this index" in found["message"]
    assert "in another container" in found["hint"]  # where this one cannot see it


def test_stop_works_despite_the_note_of_a_dead_process(project: Path) -> None:
    owner = owner_of(project)
    kill(owner)
    write_note(project / ".lore", owner)

    assert json.loads(run_lore("stop", "--json", cwd=project).stdout) == {"stopped": []}
    assert living_note(project / ".lore") is None


def test_an_owner_stops_soon_after_its_index_is_deleted(project: Path) -> None:
    owner = owner_of(project)

    shutil.rmtree(project / ".lore")

    wait_until(lambda: not owner.is_alive)
