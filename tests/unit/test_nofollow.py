"""Files that others may have placed are opened only if they are regular, also without `O_NOFOLLOW`."""

import importlib.util
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lore_etl.core.atomic import read_if_any
from lore_etl.system import nofollow, open_folder
from tests.harness.foreign_platform import View, importing, windows

SECRET = b"what belongs to the user"


def as_on_windows(module: ModuleType, **views: ModuleType) -> ModuleType:
    """Reload a module as on Windows, with these modules in place of its imports."""
    spec = importlib.util.find_spec(module.__name__)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    imports = importing({**windows(), **views}, frozenset())
    vars(loaded)["__builtins__"] = {**vars(__import__("builtins")), "__import__": imports}
    spec.loader.exec_module(loaded)
    return loaded


def windows_folders() -> ModuleType:
    return as_on_windows(open_folder, **{nofollow.__name__: as_on_windows(nofollow)})


@pytest.fixture(params=["Linux", "Windows"])
def files(request: pytest.FixtureRequest) -> ModuleType:
    """Return the module that opens files."""
    return nofollow if request.param == "Linux" else as_on_windows(nofollow)


@pytest.fixture(params=["Linux", "Windows"])
def folders(request: pytest.FixtureRequest) -> ModuleType:
    """Return the module that opens folders."""
    return open_folder if request.param == "Linux" else windows_folders()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(SECRET)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def opened(folders: ModuleType, home: Path) -> Iterator[Any]:
    folder = folders.open_folder(home)
    yield folder
    folder.close()


def everything_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_windows_uses_the_implementation_without_folder_descriptors(home: Path) -> None:
    assert type(open_folder.open_folder(home)) is open_folder.OpenFolder
    assert type(windows_folders().open_folder(home)).__name__ == "FolderByPath"
    assert as_on_windows(nofollow)._NOFOLLOW == 0


def test_a_regular_file_is_read_up_to_the_limit_and_a_missing_one_is_created_with_its_mode(
    files: ModuleType, home: Path, outside: Path
) -> None:
    with open(files.open_regular(home / "new", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(b"text")

    assert files.read_regular(outside / "secret", 4) == SECRET[:4]
    assert (home / "new").read_bytes() == b"text"
    assert stat.S_IMODE((home / "new").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "place",
    [
        lambda path, outside: path.symlink_to(outside / "secret"),
        lambda path, outside: path.symlink_to(outside),
        lambda path, outside: path.symlink_to(outside / "nothing"),
        lambda path, outside: os.mkfifo(path),
        lambda path, outside: path.mkdir(),
    ],
    ids=["link to a file", "link to a folder", "link to nothing", "FIFO", "folder"],
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_APPEND])
def test_a_special_file_is_neither_opened_nor_created(
    files: ModuleType, home: Path, outside: Path, place: Callable[[Path, Path], object], flags: int
) -> None:
    place(home / "name", outside)

    with pytest.raises(OSError):
        files.open_regular(home / "name", flags)

    assert everything_in(outside) == {"secret": SECRET}


def test_a_file_replaced_with_a_symlink_during_the_open_is_rejected(home: Path, outside: Path) -> None:
    """Without `O_NOFOLLOW` the path is checked before it is opened, and an attacker may replace it in between."""
    path = home / "name"
    path.write_bytes(b"harmless")

    def exchanged(name: Any, flags: int, mode: int = 0o777, **_: Any) -> int:
        path.unlink()
        path.symlink_to(outside / "secret")
        return os.open(name, flags, mode)

    files = as_on_windows(nofollow, os=View(os, ["O_NOFOLLOW"], open=exchanged))

    with pytest.raises(OSError, match="not followed"):
        files.read_regular(path, 100)


def test_files_in_a_folder_can_be_written_and_removed(opened: Any, home: Path) -> None:
    below = opened.enter("notes", make=True)
    with open(below.open("draft", os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(b"text")
    below.replace("draft", "final")
    below.sync()

    assert (home / "notes" / "final").read_bytes() == b"text"
    assert [entry.name for entry in below.entries()] == ["final"]
    assert below.facts("final").st_size == 4
    assert below.facts("draft") is None

    below.unlink("final")
    below.close()
    opened.rmdir("notes")

    assert list(home.iterdir()) == []


def test_a_symlink_in_a_folder_is_neither_entered_nor_opened_but_can_be_removed(
    opened: Any, home: Path, outside: Path
) -> None:
    (home / "name").symlink_to(outside / "secret")
    (home / "notes").symlink_to(outside, target_is_directory=True)

    for make in (False, True):
        with pytest.raises(OSError):
            opened.enter("notes", make)
    with pytest.raises(OSError):
        opened.open("name", os.O_RDONLY)
    opened.unlink("name")

    assert not os.path.lexists(home / "name")
    assert everything_in(outside) == {"secret": SECRET}


def test_a_folder_replaced_with_a_symlink_is_not_written_to(
    opened: Any, home: Path, outside: Path, tmp_path: Path
) -> None:
    below = opened.enter("notes", make=True)
    (home / "notes").rename(tmp_path / "moved")
    (home / "notes").symlink_to(outside, target_is_directory=True)

    for act in (
        lambda: os.close(below.open("secret", os.O_WRONLY)),
        lambda: os.close(below.open("new", os.O_WRONLY | os.O_CREAT)),
        lambda: below.unlink("secret"),
        lambda: below.replace("secret", "other"),
    ):
        try:
            act()
        except OSError:
            continue  # refused; with descriptors, the operation happened in the opened folder

    below.close()
    shutil.rmtree(tmp_path / "moved")
    assert everything_in(outside) == {"secret": SECRET}


@pytest.mark.parametrize("name", ["..", ".", "C:evil", "C:", "a\\b", "..\\up", "file:stream", "name.", "name "])
def test_names_that_escape_the_folder_are_rejected_on_windows(home: Path, outside: Path, name: str) -> None:
    folder = windows_folders().open_folder(home)

    with pytest.raises(OSError, match="not the name of an entry"):
        folder.open(name, os.O_WRONLY | os.O_CREAT)


@pytest.mark.parametrize("tag", [0xA000_000C, 0xA000_0003])
def test_windows_symlinks_and_junctions_are_recognized(outside: Path, tag: int) -> None:
    info = outside.lstat()
    reported: Any = SimpleNamespace(st_mode=info.st_mode, st_reparse_tag=tag)

    assert nofollow.leads_elsewhere(reported)
    assert not nofollow.leads_elsewhere(info)


@pytest.mark.parametrize("name", [".git", ".GIT", ".git.", ".git ", "git~1", "GIT~12"])
def test_every_spelling_of_the_git_folder_is_recognized(name: str) -> None:
    assert nofollow.names_git_folder(name)
    assert not nofollow.names_git_folder(f"x{name}")


@pytest.mark.promise(19)
def test_a_path_below_a_folder_is_opened_only_without_symlinks(home: Path, outside: Path) -> None:
    (home / "a/b").mkdir(parents=True)
    (home / "a/b/file").write_bytes(b"inside")
    (home / "out").symlink_to(outside)
    (home / "a/up").symlink_to(home / "a/b")
    (home / "a/link").symlink_to(outside / "secret")
    with open_folder.open_folder(home) as folder:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with folder.below("a/b") as inside, open(inside.open("file", os.O_RDONLY), "rb") as file:
            assert file.read() == b"inside"
        for path in ("out", "out/secret", "a/up", "a/link", "a/b/gone", "a/b/file/x"):
            with pytest.raises(OSError, match=r"symbolic links|No such file|Not a directory"):
                folder.below(path)
        for path in ("../home/a/b", "a/../../outside", "/etc", "a//b", "a/\0"):
            with pytest.raises(OSError, match="not a path below"):
                folder.below(path)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_note_is_read_only_from_a_regular_file_of_text(home: Path, outside: Path) -> None:
    (home / "note").write_text("7", encoding="utf-8")
    (home / "link").symlink_to(outside / "secret")
    (home / "binary").write_bytes(b"\xff")

    assert read_if_any(home / "note") == "7"
    assert [read_if_any(home / name) for name in ("link", "binary", "missing")] == [None] * 3
