"""The user's state folder: its path, and that no other user can access it."""

import stat
import sys
from pathlib import Path

import pytest

from lore_etl.config.project import private_folder, user_state_folder


def test_a_configured_state_folder_takes_precedence(tmp_path: Path) -> None:
    assert user_state_folder({"LORE_STATE": str(tmp_path), "XDG_STATE_HOME": "/else"}) == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG folders are those of Linux")
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("/state", "/state/lore"),
        ("", "/home/me/.local/state/lore"),
        ("relative", "/home/me/.local/state/lore"),  # the XDG specification says to ignore it
    ],
)
def test_the_default_is_the_state_folder_of_the_platform(named: str, expected: str) -> None:
    assert user_state_folder({"XDG_STATE_HOME": named, "HOME": "/home/me"}) == Path(expected)


def test_the_temporary_and_runtime_folders_do_not_change_the_state_folder() -> None:
    home = {"HOME": "/home/me"}

    assert user_state_folder({**home, "TMPDIR": "/a", "XDG_RUNTIME_DIR": "/b"}) == user_state_folder(home)


def test_a_private_folder_is_inaccessible_to_other_users(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(mode=0o777, parents=True)

    assert stat.S_IMODE(private_folder(folder).stat().st_mode) == 0o700


def test_a_symlink_is_not_a_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(PermissionError):
        private_folder(tmp_path / "link")
