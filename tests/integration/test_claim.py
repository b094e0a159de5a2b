"""Lore uses only index folders that it created for this user, and follows no symlink in them."""

import itertools
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from lore_etl.config.settings import IndexSettings, Settings
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import ForeignIndex, IndexMissing, InvalidPath, StorageError
from lore_etl.pipeline.sync import sync
from lore_etl.stores import claim
from lore_etl.system.nofollow import open_regular
from tests.harness.processes import child, hear, locked_by_another_process, tell
from tests.harness.projects import open_index, sync_once, write_project
from tests.harness.refusals import refused
from tests.harness.trying import often

pytestmark = pytest.mark.later

PAGE = {"docs/ferry.md": "# Ferry\n\nThe ferry crosses the river at dawn.\n"}
SECRET = "what belongs to the user"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project", PAGE)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Return a folder of the user with files that must not be touched."""
    folder = tmp_path / "home"
    for name in ("file", "folder/file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(SECRET)
    return folder


def everything_in(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def synced(project: Path) -> Path:
    assert sync_once(project).failed == []
    return project.resolve() / ".lore"


LINKED = [
    "owner.log", "owner.lock", "owner.json", "catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.seal",
    "embeddings.sqlite", "chroma.log", "chunks.jsonl.gz", "class-hierarchy.json", "token", "chroma-id.json",
    "keywords/meta.json",
    "vectors-1/chroma.sqlite3", "keywords", "vectors-1", "index.id", ".gitignore", "anything/at/all",
]  # fmt: skip


def make_fifo(_: Path, path: Path) -> None:
    os.mkfifo(path)


SAMPLE = {"owner.lock", "catalogue.sqlite", "chunks.jsonl.gz", "keywords/meta.json", "keywords", "vectors-1"}
"""The files and folders that every run replaces with hard links and FIFOs as well; each is opened by another module."""
ADDED = {(os.symlink, name) for name in LINKED} | {(make, name) for make in (os.link, make_fifo) for name in SAMPLE}


@pytest.mark.parametrize(("make", "name"), often(itertools.product([os.symlink, os.link], LINKED), ADDED))
@pytest.mark.promise(19)
def test_symlinks_in_a_foreign_index_folder_are_not_followed(
    project: Path, outside: Path, name: str, make: Callable[[Path, Path], None]
) -> None:
    target = outside / ("folder" if name in ("keywords", "vectors-1") and make is os.symlink else "file")
    link = project / ".lore" / name
    link.parent.mkdir(parents=True)
    make(target, link)
    before = everything_in(outside)

    synced(project)

    assert everything_in(outside) == before
    assert (project / ".lore.foreign" / name).exists()
    assert claim.is_ours(project / ".lore")


@pytest.mark.parametrize(("make", "name"), often(itertools.product([os.symlink, os.link, make_fifo], LINKED), ADDED))
def test_symlinks_added_to_our_index_folder_by_a_checkout_are_not_followed(
    project: Path, outside: Path, name: str, make: Callable[[Path, Path], None]
) -> None:
    link = synced(project) / name
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.parent.mkdir(parents=True, exist_ok=True)
    make(outside / "file", link)
    before = everything_in(outside)

    with closing(open_index(project)) as index:
        if name == "index.id":  # without its mark it is a folder of unknown origin
            index.own()
            assert os.path.lexists(project / ".lore.foreign" / name)
        else:
            with refused(ForeignIndex, hint="Delete .lore/"):
                index.own()
            assert not claim.is_in_use(index.folder)

    assert everything_in(outside) == before


RUNNING = {"catalogue.seal", "catalogue.sqlite", "keywords"}


@pytest.mark.parametrize("name", often([*LINKED, "catalogue.suspect", "vectors-1.suspect"], RUNNING))
def test_symlinks_that_a_checkout_adds_while_the_index_is_in_use_are_not_followed(
    project: Path, outside: Path, name: str
) -> None:
    with closing(open_index(project)) as index:
        sync(index)
        link = index.folder / name
        if link.is_dir():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside / ("folder" if name in ("keywords", "vectors-1") else "file"))
        before = everything_in(outside)
        write_project(project, {"docs/ferry.md": "# Ferry\n\nIt also sails at noon.\n"})

        with refused(ForeignIndex, hint="Delete .lore/"):
            sync(index)

    assert everything_in(outside) == before


def test_a_catalogue_that_a_checkout_replaces_by_a_symlink_is_not_read(project: Path, tmp_path: Path) -> None:
    other = synced(write_project(tmp_path / "other", {"a.md": "# Other\n\nOnly this user may read it.\n"}))
    with closing(open_index(project)) as index:
        sync(index)
        (index.folder / "catalogue.sqlite").unlink()
        (index.folder / "catalogue.sqlite").symlink_to(other / "catalogue.sqlite")

        with pytest.raises(InvalidPath, match="is a symlink"):
            index.catalogue.check()  # needs a new connection, as do concurrent calls


def test_a_temporary_file_that_is_a_symlink_is_not_followed(project: Path, outside: Path) -> None:
    folder = synced(project)
    (folder / f"job.json.{os.getpid()}.tmp").symlink_to(outside / "file")
    before = everything_in(outside)

    with pytest.raises(StorageError, match=r"job\.json"):
        write_atomically(folder / "job.json", ["{}"])

    assert everything_in(outside) == before


def test_an_index_folder_that_is_a_symlink_is_not_entered(project: Path, outside: Path) -> None:
    (project / ".lore").symlink_to(outside)
    before = everything_in(outside)

    index = open_index(project)
    assert not index.exists()
    index.close()
    synced(project)

    assert everything_in(outside) == before
    assert (project / ".lore.foreign").is_symlink()
    assert not (project / ".lore").is_symlink()


@pytest.mark.parametrize("path", ["link/index", "link/deep/er/index", "link", "docs"])
def test_a_folder_behind_a_symlink_or_of_another_name_is_neither_entered_nor_renamed(
    project: Path, outside: Path, path: str
) -> None:
    """`index.path` may name another folder of the user by mistake."""
    (project / "link").symlink_to(outside)
    before, settings = sorted(outside.rglob("*")), Settings(index=IndexSettings(path=path))

    reason = None if path == "docs" else "symlink"
    with closing(open_index(project, settings)) as index, pytest.raises(ForeignIndex, match=reason):
        index.own()

    assert sorted(outside.rglob("*")) == before
    assert everything_in(project / "docs") == {"ferry.md": PAGE["docs/ferry.md"]}
    assert sorted(entry.name for entry in project.iterdir()) == ["docs", "link"]


def test_only_one_folder_is_set_aside(project: Path) -> None:
    for name in ("one", "two"):
        (project / ".lore").mkdir()
        (project / ".lore" / name).write_text(name)
        if name == "one":
            synced(project)
            shutil.rmtree(project / ".lore")

    with closing(open_index(project)) as index, pytest.raises(ForeignIndex):
        index.own()

    assert everything_in(project) == {**PAGE, ".lore.foreign/one": "one", ".lore/two": "two"}


@pytest.mark.parametrize("content", [(), (claim.MARK,)], ids=["empty", "an interrupted creation"])
def test_a_folder_without_content_is_used(project: Path, content: Iterable[str]) -> None:
    (project / ".lore").mkdir()
    for name in content:
        (project / ".lore" / name).touch()

    synced(project)

    assert sorted(path.name for path in project.iterdir()) == [".lore", "docs"]


def copied_by_a_stranger(folder: Path) -> Path:
    """Copy the project with the mark of its index folder."""
    copy = folder.parent.parent / "other"
    shutil.copytree(folder.parent, copy)
    return copy / ".lore"


def with_another_mark(folder: Path) -> Path:
    (folder / claim.MARK).write_text("0" * 32)  # a new folder may get the inode of one that was deleted
    return folder


def writable_by_others(folder: Path) -> Path:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o770)
    return folder


def of_another_user(folder: Path) -> Path:
    record = claim.record_folder(folder) / "record.json"
    values = json.loads(record.read_text())
    record.write_text(json.dumps({**values, "uid": values["uid"] + 1}))  # only root can change that of the folder
    return folder


@pytest.mark.parametrize("change", [copied_by_a_stranger, with_another_mark, writable_by_others, of_another_user])
def test_a_folder_that_differs_from_its_record_is_not_ours(project: Path, change: Callable[[Path], Path]) -> None:
    folder = synced(project)
    assert claim.is_ours(folder)

    assert not claim.is_ours(change(folder))


def test_a_moved_project_keeps_its_index_and_a_copy_is_rebuilt_or_adopted(project: Path) -> None:
    synced(project)
    copy = project.parent / "copy"
    shutil.copytree(project, copy)
    moved = project.rename(project.parent / "moved")
    with closing(open_index(moved)) as index:
        assert index.exists()
        assert sync(index).unchanged == 1
    assert list(claim.recorded()).count(moved / ".lore") == 1
    assert project / ".lore" not in claim.recorded()

    with closing(open_index(copy)) as index, refused(IndexMissing, hint="`lore adopt`"):
        index.require()
    claim.adopt(copy / ".lore")
    with closing(open_index(copy)) as index:
        assert index.exists()
        assert sync(index).embedded == 0


def test_a_folder_set_aside_can_be_adopted(project: Path) -> None:
    folder = synced(project)
    (folder / claim.MARK).unlink()  # like the folder of an earlier version
    with closing(open_index(project)) as index:
        index.own()
    shutil.rmtree(folder)

    claim.adopt(folder)

    assert sync_once(project).embedded == 0
    assert not (project / ".lore.foreign").exists()


def test_a_folder_with_links_leading_outside_is_not_adopted(project: Path, outside: Path) -> None:
    (project / ".lore").mkdir()
    (project / ".lore" / "owner.log").symlink_to(outside / "file")

    with pytest.raises(ForeignIndex, match=r"owner\.log"):
        claim.adopt(project / ".lore")


def test_hard_links_within_the_folder_do_not_lead_outside(project: Path) -> None:
    """A token whose writer was killed also has two names."""
    folder = synced(project)
    (folder / "token").write_text("x")
    os.link(folder / "token", folder / "token.1")

    claim.inspect(folder)


def test_a_foreign_folder_in_use_by_a_process_is_not_set_aside(project: Path) -> None:
    """The process may be a Lore in a container or with another state folder."""
    (project / ".lore").mkdir()
    (project / ".lore" / "catalogue.sqlite").touch()
    with (
        locked_by_another_process(project / ".lore" / "owner.lock"),
        closing(open_index(project)) as index,
        pytest.raises(ForeignIndex, match="a process is using it"),
    ):
        index.own()

    assert not (project / ".lore.foreign").exists()


CREATE = """
import sys
from pathlib import Path
from lore_etl.stores.claim import claim, is_ours
sys.stdin.readline()
claim(Path(sys.argv[1]))
print(is_ours(Path(sys.argv[1])), flush=True)
"""


def test_processes_that_create_the_folder_concurrently_agree(project: Path) -> None:
    folder = project / ".lore"
    with child(CREATE, folder) as first, child(CREATE, folder) as second, child(CREATE, folder) as third:
        for process in (first, second, third):
            tell(process, "\n")
        lines = [hear(process) for process in (first, second, third)]

    assert lines == ["True\n"] * 3
    assert not (project / ".lore.foreign").exists()


def test_records_are_readable_only_by_the_user_and_ignored_if_they_are_damaged(project: Path) -> None:
    folder = synced(project)
    records = claim.record_folder(folder)
    assert stat.S_IMODE(records.stat().st_mode) == 0o700
    assert json.loads((records / "record.json").read_text())["path"] == str(project / ".lore")

    for content in (b"", b"[]", b"{}", b'{"path": 1}', b"\xff"):
        (records / "record.json").write_bytes(content)
        assert not claim.is_ours(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="the device is Linux's")
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/"])
@pytest.mark.promise(19)
def test_only_regular_files_are_opened(path: str) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(Path(path))


def test_a_folder_that_replaced_ours_is_not_ours_whatever_it_contains(project: Path) -> None:
    folder = synced(project)
    shutil.copytree(folder, project / "copy")  # while the other exists, so that it gets another inode
    shutil.rmtree(folder)
    (project / "copy").rename(folder)

    assert not claim.is_ours(folder)
    synced(project)
    assert (project / ".lore.foreign").is_dir()
