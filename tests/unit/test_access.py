"""Named tokens: rights per project, hashed at rest, expiring and revocable, with a limit of requests."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lore_etl.core.errors import Conflict, InvalidArgument, LoreError, NotFound, StorageError
from lore_server.http.access import ALL, NAMED_FILE, Access, Level, Limits, NamedTokens


@pytest.fixture
def tokens(tmp_path: Path) -> NamedTokens:
    return NamedTokens(tmp_path / "state")


def test_a_token_gives_its_rights_and_is_not_stored(tokens: NamedTokens) -> None:
    token = tokens.add("ci", {"app": "write", "lib": "read"}, days=1, per_minute=5)

    assert tokens.access(token) == Access("ci", {"app": Level.WRITE, "lib": Level.READ}, 5)
    stored = tokens.folder / NAMED_FILE
    assert token.removeprefix("lore_") not in stored.read_text(encoding="utf-8")
    assert stored.stat().st_mode & 0o077 == 0


def test_an_expired_a_revoked_and_an_unknown_token_give_nothing(tokens: NamedTokens) -> None:
    expired, revoked = tokens.add("old", {ALL: "read"}, days=0), tokens.add("gone", {ALL: "read"}, days=1)
    other = NamedTokens(tokens.folder)  # as another process revokes it
    assert tokens.access(revoked) is not None
    other.revoke("gone")

    assert [tokens.access(one) for one in (expired, revoked, "", "lore_x", "ü\udcff")] == [None] * 5


def test_rights_for_several_projects_are_the_least_of_them() -> None:
    access = Access("x", {"a": Level.ADMIN, "b": Level.READ, ALL: Level.NONE})

    assert [access.level(names) for names in (("a",), ("a", "b"), ("c",), ())] == [
        Level.ADMIN, Level.READ, Level.NONE, Level.NONE
    ]  # fmt: skip
    assert Access("x", {ALL: Level.READ, "a": Level.WRITE}).level(("a",)) == Level.WRITE


def test_tokens_that_are_added_at_the_same_time_are_all_kept(tokens: NamedTokens) -> None:
    names = [f"agent-{number}" for number in range(32)]
    with ThreadPoolExecutor(16) as pool:  # each as another process would
        given = list(pool.map(lambda name: NamedTokens(tokens.folder).add(name, {ALL: "read"}, days=1), names))

    assert [access.author for token in given if (access := tokens.access(token))] == names


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "a\n", "*"])
def test_a_name_that_the_log_could_not_show_is_refused(tokens: NamedTokens, name: str) -> None:
    with pytest.raises(InvalidArgument):
        tokens.add(name, {ALL: "read"}, days=1)


def test_mistakes_are_reported(tokens: NamedTokens) -> None:
    tokens.add("ci", {ALL: "read"}, days=1)
    for kind, rights, name in ((Conflict, {ALL: "read"}, "ci"), (InvalidArgument, {}, "other")):
        with pytest.raises(kind):
            tokens.add(name, rights, days=1)
    with pytest.raises(NotFound):
        tokens.revoke("nobody")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'{"a": 1', b'{"a": 1}', b'{"a": {}}'])
def test_a_damaged_file_is_an_error_and_lets_nobody_in(tokens: NamedTokens, content: bytes) -> None:
    token = tokens.add("ci", {ALL: "read"}, days=1)
    (tokens.folder / NAMED_FILE).unlink()
    (tokens.folder / NAMED_FILE).write_bytes(content)

    with pytest.raises(StorageError):
        tokens.access(token)


def test_a_link_in_place_of_the_file_is_not_read(tokens: NamedTokens, tmp_path: Path) -> None:
    other = NamedTokens(tmp_path / "other")
    token = other.add("ci", {ALL: "admin"}, days=1)
    tokens.folder.mkdir()
    (tokens.folder / NAMED_FILE).symlink_to(other.folder / NAMED_FILE)

    with pytest.raises(LoreError):
        tokens.access(token)


def test_a_limit_counts_the_requests_of_each_token() -> None:
    limits, small, free = Limits(), Access("small", {}, 2), Access("free", {})

    assert [limits.admit(small) for _ in range(3)] == [True, True, False]
    assert all(limits.admit(free) for _ in range(100))
