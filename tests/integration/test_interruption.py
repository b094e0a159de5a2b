"""A sync interrupted by an error, a kill or a full disk is completed by the next sync."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError, StorageError
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_etl.stores.integrity import SEAL
from lore_server.query.parse import parse
from lore_server.query.retrieve import retrieve
from tests.harness.indexes import assert_equals_fresh
from tests.harness.models import HashModel
from tests.harness.processes import child, hear, tell
from tests.harness.projects import SMALL, open_index, write_project
from tests.harness.trying import often

pytestmark = pytest.mark.later

WORDS = " ".join(f"word{n}" for n in range(12))  # enough for a separate chunk
SECTIONS = 70  # three batches of embedding, and enough rows for a new generation, with the limits `SMALL`
MANY = 560  # more than a small disk can store


def tree(version: int, size: int = SECTIONS) -> dict[str, str]:
    """Return the files of the nth version: a large file with many changes, and small files that come, go and change."""
    keep = 0.2 if version % 3 == 0 else 0.9  # every third sync replaces more than half
    changed = [version if n > keep * size else 0 for n in range(size)]
    sections = (f"## Part {n}\n\nsubject{n} v{changed[n]} {WORDS}\n" for n in range(size))
    return {
        "docs/large.md": "\n".join(["# Large\n", "\n" * version, *sections]),
        f"docs/only-{version}.md": f"# Only\n\nversion{version}\n",
        "docs/edited.md": f"# Edited\n\nversion{version}\n",
        "src/base.py": f"class Base{version}:\n    pass\n",
        "src/derived.py": f"from base import Base{version}\n\n\nclass Derived(Base{version}):\n    pass\n",
    }


def become(root: Path, version: int, size: int = SECTIONS) -> None:
    for path in root.glob("docs/only-*.md"):
        path.unlink()
    write_project(root, tree(version, size))


class Stopped(Exception):
    """Raised by the progress callback."""


class StopAt:
    """Return a progress callback that raises at the nth step."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stopped(f"{stage} {done}/{total}")


@pytest.mark.parametrize("reopened", [True, False], ids=["another process goes on", "the same index goes on"])
@pytest.mark.promise(1)
def test_a_sync_stopped_at_any_step_is_completed_by_the_next_without_embedding_twice(
    tmp_path: Path, reopened: bool
) -> None:
    model = HashModel()
    become(tmp_path, 0)
    index = open_index(tmp_path, model=model, limits=SMALL)
    sync(index)
    stops = list[str]()
    for step in range(1, 100):
        become(tmp_path, step)
        model.embedder.embedded.clear()
        try:
            sync(index, StopAt(step))
        except Stopped as stop:
            stops.append(str(stop))
            assert not [thread for thread in threading.enumerate() if thread.name.startswith("embedding")]
        else:
            break
        if reopened:
            index.close()
            index = open_index(tmp_path, model=model, limits=SMALL)
        sync(index)
        assert len(model.embedder.embedded) == len(set(model.embedder.embedded)), stops[-1]
        assert_equals_fresh(index)
    assert_equals_fresh(index)
    index.close()
    assert {stop.partition(" ")[0] for stop in stops} == {"looking", "reading", "indexing", "reusing", "embedding"}


@pytest.mark.promise(1)
def test_a_first_sync_stopped_while_its_first_chunks_are_searchable_is_completed_by_the_next(tmp_path: Path) -> None:
    become(tmp_path, 0)
    limits, partly = replace(SMALL, first_words=2), set[int]()
    for step in range(1, 9):
        settings = Settings.model_validate({"index": {"path": str(tmp_path.with_name(f"lore-{step}"))}})
        with closing(open_index(tmp_path, settings, limits=limits)) as index:
            with pytest.raises(Stopped):
                sync(index, StopAt(step))
            partly.add(index.catalogue.total())
        with closing(open_index(tmp_path, settings, limits=limits)) as index:
            sync(index)
            assert_equals_fresh(index, settings)
            assert index.catalogue.metas("dirty", "chunks")[0] is None
    assert len(partly) > 2


@pytest.mark.promise(1)
def test_a_search_after_an_interruption_is_correct_or_reported_as_partial(tmp_path: Path) -> None:
    become(tmp_path, 0)
    for step in range(1, 30):
        with closing(open_index(tmp_path, limits=SMALL)) as index:
            try:
                sync(index, StopAt(step))
            except Stopped:
                pass
            else:
                break
        with closing(open_index(tmp_path, limits=SMALL)) as index:
            try:
                found = retrieve(index, parse("subject7"), None, 10).found
            except LoreError as error:
                assert "lore sync" in error.hint
            else:
                assert any("subject7 " in result.chunk.text for result in found)
                assert index.catalogue.waiting() > 0


# --- kills -------------------------------------------------------------------------------------------------------

# imports everything, opens nothing, and forks a process for each sync, so that a kill needs no restart
ZYGOTE = """
import os, sys
from pathlib import Path
import chromadb, tantivy
import lore_etl.pipeline.load, lore_etl.stores.keywords, lore_etl.stores.chroma.vector_store
from lore_etl.pipeline.sync import sync
from lore_etl.stores.integrity import SEAL
from tests.harness.models import HashModel, counter
from tests.harness.projects import SMALL, open_index
counter()
print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        os.write(1, b"started %d\\n" % os.getpid())
        index = open_index(Path(sys.argv[1]), limits=SMALL)
        sync(index)
        index.close()
        os._exit(0)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


@pytest.fixture
def zygote(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with child(ZYGOTE, tmp_path / "project") as process:
        assert hear(process) == "ready\n"
        yield process


def start_sync(zygote: subprocess.Popen[str]) -> int:
    tell(zygote, "go\n")
    return int(hear(zygote).removeprefix("started "))


def kill(pid: int) -> bool:
    """Return False if the sync had already ended."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def wait_for_end(zygote: subprocess.Popen[str]) -> None:
    assert hear(zygote) == "ended\n"


@pytest.mark.promise(1)
@pytest.mark.parametrize("kills", often([3, 100], {3}))
def test_a_killed_sync_is_completed_by_the_next_without_a_manual_step(
    tmp_path: Path, zygote: subprocess.Popen[str], kills: int
) -> None:
    root = tmp_path / "project"
    become(root, 0)
    started = time.monotonic()
    start_sync(zygote)
    wait_for_end(zygote)
    whole = time.monotonic() - started
    dice, struck, version = random.Random(7), 0, 0
    while struck < kills:
        version += 1
        become(root, version)
        pid = start_sync(zygote)
        moment = dice.uniform(0, whole)
        time.sleep(moment)  # until the moment of the kill; nothing waits for anything here
        if kill(pid):
            struck += 1
        else:
            whole = moment  # this sync took less time than the first
        wait_for_end(zygote)
        with closing(open_index(root, limits=SMALL)) as index:
            report = sync(index)
            assert report.failed == []
            assert_equals_fresh(index)


@pytest.mark.promise(1)
def test_several_killed_syncs_are_completed_by_a_single_sync(tmp_path: Path, zygote: subprocess.Popen[str]) -> None:
    root, dice = tmp_path / "project", random.Random(11)
    for version in range(8):
        become(root, version)
        pid = start_sync(zygote)
        time.sleep(dice.uniform(0, 0.2))  # the moment of the kill
        kill(pid)
        wait_for_end(zygote)

    with closing(open_index(root, limits=SMALL)) as index:
        sync(index)
        assert_equals_fresh(index)


# --- a full disk -------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a separate small disk; mounting it requires root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def resize(disk: Path, kilobytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(disk)], check=True)


def open_on(disk: Path, root: Path) -> Index:
    return open_index(root, Settings.model_validate({"index": {"path": str(disk / "lore")}}))


@pytest.mark.parametrize("kilobytes", often([100, 400, 700, 1_000, 1_400, 1_800, 2_200], {100, 700, 2_200}))
@pytest.mark.promise(3)
def test_a_full_disk_is_reported_and_the_next_sync_recovers(tmp_path: Path, small_disk: Path, kilobytes: int) -> None:
    root = tmp_path / "project"
    become(root, 0, MANY)
    resize(small_disk, kilobytes)
    with closing_quietly(open_on(small_disk, root)) as index, pytest.raises(StorageError):
        sync(index)

    resize(small_disk, 60_000)
    with closing(open_on(small_disk, root)) as index:
        assert sync(index).failed == []
        assert_equals_fresh(index)


def test_an_index_whose_store_cannot_be_closed_is_released(tmp_path: Path) -> None:
    become(tmp_path, 0)
    index = open_index(tmp_path)
    sync(index)
    seal = next(index.folder.rglob("chroma.sqlite3")).parent / SEAL
    seal.unlink(missing_ok=True)
    (seal / "in the way").mkdir(parents=True)
    with pytest.raises(StorageError):
        index.close()
    shutil.rmtree(seal)

    with closing(open_index(tmp_path)) as again:
        assert sync(again).failed == []
        assert_equals_fresh(again)


class closing_quietly(closing[Index]):
    """Ignore the error of a full disk, which closing may also report."""

    def __exit__(self, *error: object) -> None:
        with suppress(StorageError):
            super().__exit__(*error)


@pytest.mark.parametrize("free", often(range(0, 2_100, 100), {0, 100, 1_000}))
@pytest.mark.promise(3)
def test_an_index_on_a_full_disk_is_searched_and_synced_once_there_is_space(
    tmp_path: Path, small_disk: Path, free: int
) -> None:
    root = tmp_path / "project"
    become(root, 0, MANY)
    resize(small_disk, 60_000)
    with closing(open_on(small_disk, root)) as index:
        sync(index)
    used = sum(path.stat().st_blocks * 512 for path in small_disk.rglob("*"))
    resize(small_disk, used // 1024 + free)
    become(root, 3, MANY)
    with closing_quietly(open_on(small_disk, root)) as index:
        with pytest.raises(StorageError):
            sync(index)
        assert retrieve(index, parse("subject77"), None, 10).found
    with closing_quietly(open_on(small_disk, root)) as index:
        assert retrieve(index, parse("subject77"), None, 10).found

    resize(small_disk, 60_000)
    with closing(open_on(small_disk, root)) as index:
        assert retrieve(index, parse("subject77"), None, 10).found
        sync(index)
        assert_equals_fresh(index)
