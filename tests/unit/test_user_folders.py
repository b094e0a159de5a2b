"""The user's state folder: its path, and that no other user can access it."""

import stat
import sys
from pathlib import Path

import pytest

from lore_etl.config.project import private_folder, user_state_folder


def test_a_configured_state_folder_takes_precedence_and_temporary_and_runtime_folders_change_nothing(
    tmp_path: Path,
) -> None:
    home = {"HOME": "/home/me"}

    assert user_state_folder({"LORE_STATE": str(tmp_path), "XDG_STATE_HOME": "/else"}) == tmp_path
    assert user_state_folder({**home, "TMPDIR": "/a", "XDG_RUNTIME_DIR": "/b"}) == user_state_folder(home)


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


def test_a_private_folder_is_inaccessible_to_other_users_and_a_symlink_is_none(tmp_path: Path) -> None:
    folder, link = tmp_path / "a" / "b", tmp_path / "link"
    folder.mkdir(mode=0o777, parents=True)
    link.symlink_to(folder)

    assert stat.S_IMODE(private_folder(folder).stat().st_mode) == 0o700
    with pytest.raises(PermissionError):
        private_folder(link)
