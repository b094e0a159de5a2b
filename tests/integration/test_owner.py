"""A single process owns an index: others learn its name, and a dead owner blocks nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy
from lore_etl.index import Index
from lore_etl.stores.claim import claim
from lore_etl.stores.index_lock import Ownership
from lore_etl.stores.owner_file import living_note, my_note, note_of, read_note, remove_note, write_note
from lore_server.owner.find import holder
from tests.harness.models import HashModel
from tests.harness.processes import child, run

HOLD = """
import sys
from pathlib import Path
from lore_etl.stores.index_lock import Ownership
sys.argv = ["lore", "serve"]
owner = Ownership(Path(FOLDER))
owner.take()
print("held", flush=True)
sys.stdin.read()
"""
TRY = """
import sys
from pathlib import Path
from lore_etl.core.errors import Busy
from lore_etl.stores.index_lock import Ownership
try:
    Ownership(Path(sys.argv[1])).take()
    print("took it")
except Busy as error:
    print(error.message, error.exit_code)
"""


def holding(folder: Path) -> str:
    return HOLD.replace("FOLDER", repr(str(folder)))


@pytest.mark.promise(4)
def test_a_second_process_learns_who_owns_the_index(tmp_path: Path) -> None:
    with child(holding(tmp_path)) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"

        second = run(TRY, tmp_path)

        assert f"`lore serve` (pid {holder.pid}) since " in second.stdout
        assert second.stdout.endswith(" 75\n")


@pytest.mark.promise(6)
def test_a_killed_owner_blocks_nobody(tmp_path: Path) -> None:
    with child(holding(tmp_path)) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        holder.kill()
        holder.wait(120)

        ownership = Ownership(tmp_path)
        ownership.take()
        ownership.release()


@pytest.mark.long  # it measures time
@pytest.mark.promise(4, 6)
def test_taking_an_index_does_not_wait_for_its_owner(tmp_path: Path) -> None:
    with child(holding(tmp_path)) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        ownership, started = Ownership(tmp_path), time.monotonic()
        with pytest.raises(Busy):
            ownership.take()
        assert time.monotonic() - started < 0.5

        holder.kill()
        holder.wait(120)
        started = time.monotonic()
        ownership.take()
        assert time.monotonic() - started < 0.5
        ownership.release()


def test_an_index_can_be_opened_after_its_owner_releases_it(tmp_path: Path) -> None:
    first, second = Ownership(tmp_path), Ownership(tmp_path)
    first.take()
    with pytest.raises(Busy, match=str(os.getpid())):
        second.take()

    first.release()
    second.take()
    second.release()


def test_an_index_opened_in_one_thread_can_be_closed_in_another(tmp_path: Path) -> None:
    index = Index(tmp_path.resolve(), Settings(), HashModel())
    thread = threading.Thread(target=index.own)
    thread.start()
    thread.join()

    index.close()

    other = Index(tmp_path.resolve(), Settings(), HashModel())
    other.own()
    other.close()


def test_two_indexes_of_a_folder_exclude_each_other_even_within_a_process(tmp_path: Path) -> None:
    first, second = (Index(tmp_path.resolve(), Settings(), HashModel()) for _ in range(2))
    first.own()

    with pytest.raises(Busy):
        second.own()

    first.close()


@pytest.mark.parametrize("has_note", [True, False])
def test_an_index_is_taken_once_an_ended_owner_releases_it(tmp_path: Path, has_note: bool) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    first, second = Ownership(tmp_path), Ownership(tmp_path)
    first.take()
    remove_note(tmp_path, my_note())
    if has_note:
        write_note(tmp_path, my_note()._replace(pid=ended.pid))

    with ThreadPoolExecutor() as pool:
        taking = pool.submit(second.take, 120)
        wait([taking], timeout=0.2)  # without patience, it has failed by now
        first.release()
        taking.result()

    second.release()


def test_an_owner_that_is_starting_is_found_once_it_listens(tmp_path: Path) -> None:
    write_note(tmp_path, my_note("background"))

    with ThreadPoolExecutor() as pool:
        finding = pool.submit(holder, tmp_path)
        wait([finding], timeout=0.2)  # without patience, it has returned by now
        write_note(tmp_path, listening := my_note("background", address="tcp:127.0.0.1:7317"))

        assert finding.result() == listening


@pytest.mark.parametrize("note", ["garbage", "[]", "{}", ""])
def test_a_broken_owner_record_hides_only_the_name_of_the_owner(tmp_path: Path, note: str) -> None:
    first = Ownership(tmp_path)
    first.take()
    note_of(tmp_path).write_text(note, encoding="utf-8")

    with pytest.raises(Busy, match="it is unidentified"):
        Ownership(tmp_path).take(wait_seconds=0)

    first.release()


def test_half_written_files_of_a_crash_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / ".lore"
    claim(folder)
    (folder / "chunks.jsonl.gz.123.tmp").write_text("half", encoding="utf-8")
    index = Index(tmp_path.resolve(), Settings(), HashModel())

    index.own()

    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "index.id", "owner.lock"]
    index.close()


RACE = """
import sys
from pathlib import Path
from lore_etl.core.errors import Busy
from lore_etl.pipeline.sync import sync
from tests.harness.projects import open_index
index = open_index(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    print(sync(index).created)
    sys.stdin.readline()
except Busy as error:
    print("busy")
index.close()
"""


@pytest.mark.promise(4)
def test_only_one_of_several_processes_starting_on_an_empty_folder_owns_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nferry\n", encoding="utf-8")
    with child(RACE, tmp_path) as first, child(RACE, tmp_path) as second, child(RACE, tmp_path) as third:
        processes = (first, second, third)
        for process in processes:
            assert process.stdout and process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()

        assert sorted(process.stdout.readline() for process in processes if process.stdout) == [
            "1\n", "busy\n", "busy\n",
        ]  # fmt: skip


def test_an_owner_that_ends_leaves_the_note_of_its_successor(tmp_path: Path) -> None:
    claim(tmp_path / "index")
    mine, successor = my_note(), my_note()._replace(pid=os.getppid(), born="another time")
    write_note(tmp_path / "index", successor)

    remove_note(tmp_path / "index", mine)
    assert read_note(tmp_path / "index") == successor

    remove_note(tmp_path / "index", successor)
    assert read_note(tmp_path / "index") is None


def test_a_process_that_got_the_id_of_an_ended_owner_is_not_taken_for_it(tmp_path: Path) -> None:
    claim(tmp_path / "index")
    mine = my_note()
    write_note(tmp_path / "index", mine)
    assert living_note(tmp_path / "index") == mine

    for other in (mine._replace(born=f"{mine.born}0"), mine._replace(pid=2**22 + 1)):
        write_note(tmp_path / "index", other)
        assert living_note(tmp_path / "index") is None
