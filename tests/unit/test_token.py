"""The token is made once, readable by its owner alone, and shown nowhere."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lore_etl.core.errors import ConfigError, StorageError
from lore_etl.stores.claim import MARK, claim
from lore_server.http.token import FILE, VARIABLE, token_of


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index folder that Lore created."""
    claim(tmp_path / "index")
    return tmp_path / "index"


def test_it_is_made_at_the_first_need_and_stays(tmp_path: Path) -> None:
    first = token_of(tmp_path / "index")

    assert first == token_of(tmp_path / "index")
    assert len(first.value) >= 43
    assert stat.S_IMODE((tmp_path / "index" / FILE).stat().st_mode) == 0o600
    assert (tmp_path / "index" / ".gitignore").read_text().endswith("*\n")
    assert {one.name for one in (tmp_path / "index").iterdir()} == {FILE, ".gitignore", MARK}


def test_two_indexes_have_two_tokens(tmp_path: Path) -> None:
    assert token_of(tmp_path / "a").value != token_of(tmp_path / "b").value


def test_all_who_need_it_first_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: token_of(tmp_path / "index").value, range(64)))

    assert len(set(found)) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_one_that_others_may_read_came_with_the_project_and_is_replaced(index: Path, mode: int) -> None:
    known = index / FILE
    known.write_text("known-to-the-author-of-the-project\n")
    known.chmod(mode)

    assert token_of(index).value != "known-to-the-author-of-the-project"
    assert stat.S_IMODE(known.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "short", "with a space in the middle of it", "é" * 30, "x" * 600])
def test_one_that_no_header_can_carry_is_replaced(index: Path, content: str) -> None:
    (index / FILE).write_text(content)
    (index / FILE).chmod(0o600)

    assert token_of(index).value != content


def test_a_link_in_its_place_is_not_followed(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("somebody-elses-file-that-is-long-enough")
    (index / FILE).symlink_to(target)

    with pytest.raises(StorageError):
        token_of(index)
    assert target.read_text() == "somebody-elses-file-that-is-long-enough"


def test_the_variable_comes_first_and_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0123456789abcdef")

    assert token_of(tmp_path).value == "0123456789abcdef"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value", ["", "short", "x" * 15, "has a space in it, somewhere", "tab\tulator-0123456789", "é" * 20]
)
def test_a_variable_that_is_no_token_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(VARIABLE, value)

    with pytest.raises(ConfigError) as found:
        token_of(tmp_path)
    assert not value or value not in found.value.message + found.value.hint


def test_where_none_is_to_be_made_a_missing_one_is_an_error(index: Path) -> None:
    with pytest.raises(ConfigError, match="no token yet"):
        token_of(index, make=False)

    made = token_of(index)
    assert token_of(index, make=False) == made


def test_it_is_in_no_repr_and_its_place_is_told_instead(index: Path) -> None:
    token = token_of(index)

    assert token.value not in repr(token) + token.place
    assert os.fspath(index / FILE) in token.place


def test_only_the_very_token_passes(index: Path) -> None:
    token = token_of(index)
    value = token.value.encode()

    assert token.is_in(b"Bearer " + value)
    assert token.is_in(b"bearer  " + value + b" ")
    for wrong in (
        b"",
        b"Bearer",
        b"Bearer ",
        value,
        b"Basic " + value,
        b"Bearer " + value[:-1],
        b"Bearer " + value + b"x",
    ):
        assert not token.is_in(wrong)
