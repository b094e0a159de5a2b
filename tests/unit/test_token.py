"""The token is created once, readable only by its owner, and never shown."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lore_etl.core.errors import ConfigError, Conflict, InvalidArgument, LoreError, NotFound, StorageError
from lore_etl.stores.claim import MARK, claim
from lore_server.contract import load_contract
from lore_server.http.access import ALL, FILE, NAMED_FILE, VARIABLE, Access, Level, Limits, NamedTokens, token_of


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return an index folder that Lore created."""
    claim(tmp_path / "index")
    return tmp_path / "index"


def test_the_token_of_each_index_is_created_at_the_first_of_concurrent_uses_and_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: token_of(tmp_path / "index").value, range(64)))
    first = token_of(tmp_path / "index")

    assert set(found) == {first.value} != {token_of(tmp_path / "other").value}
    assert len(first.value) >= 43
    assert stat.S_IMODE((tmp_path / "index" / FILE).stat().st_mode) == 0o600
    assert (tmp_path / "index" / ".gitignore").read_text().endswith("*\n")
    assert {entry.name for entry in (tmp_path / "index").iterdir()} == {FILE, ".gitignore", MARK}


@pytest.mark.parametrize(
    ("content", "mode"),
    [
        *(("known-to-the-author-of-the-project\n", mode) for mode in (0o644, 0o640, 0o604, 0o660)),
        *((text, 0o600) for text in ("", "short", "with a space in the middle of it", "é" * 30, "x" * 600)),
    ],
)
def test_a_token_that_others_can_read_or_that_is_invalid_in_a_header_is_replaced(
    index: Path, content: str, mode: int
) -> None:
    (index / FILE).write_text(content)
    (index / FILE).chmod(mode)

    assert token_of(index).value != content.strip()
    assert stat.S_IMODE((index / FILE).stat().st_mode) == 0o600


def test_a_symlink_in_place_of_the_token_is_not_followed(index: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("somebody-elses-file-that-is-long-enough")
    (index / FILE).symlink_to(target)

    with pytest.raises(StorageError):
        token_of(index)
    assert target.read_text() == "somebody-elses-file-that-is-long-enough"


@pytest.mark.parametrize(
    "value", ["", "short", "x" * 15, "has a space in it, somewhere", "tab\tulator-0123456789", "é" * 20]
)
def test_a_valid_token_in_the_environment_takes_precedence_and_an_invalid_one_prevents_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(VARIABLE, "0123456789abcdef")
    assert token_of(tmp_path).value == "0123456789abcdef"
    assert list(tmp_path.iterdir()) == []

    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ConfigError) as found:
        token_of(tmp_path)
    assert not value or value not in found.value.message + found.value.hint


def test_a_token_that_must_not_be_created_is_an_error_and_its_repr_shows_only_its_path(index: Path) -> None:
    with pytest.raises(ConfigError, match="no token yet"):
        token_of(index, make=False)
    token = token_of(index)

    assert token_of(index, make=False) == token
    assert token.value not in repr(token) + token.place
    assert os.fspath(index / FILE) in token.place


def test_only_the_exact_token_is_accepted(index: Path) -> None:
    token = token_of(index)
    value = token.value.encode()

    assert token.is_in(b"Bearer " + value)
    assert token.is_in(b"bearer  " + value + b" ")
    for scheme, wrong in ((b"", value), (b"Basic ", value), (b"Bearer ", value[:-1]), (b"Bearer ", value + b"x")):
        assert not token.is_in(scheme + wrong)
    assert not any(map(token.is_in, (b"", b"Bearer", b"Bearer ")))


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


@pytest.mark.parametrize(
    ("operation", "rights", "is_allowed"),
    [
        ("query_documents", {"app": Level.READ}, True),
        ("query_documents", {ALL: Level.NONE}, False),
        ("search_memories", {"app": Level.ADMIN}, False),  # memories belong to no served project
        ("search_memories", {ALL: Level.READ}, True),
        ("add_memory", {ALL: Level.READ, "app": Level.ADMIN}, False),
        ("manage_knowledge_base", {"app": Level.READ}, False),
        ("manage_knowledge_base", {"app": Level.WRITE}, True),
        ("manage_database", {"app": Level.WRITE}, False),
        ("manage_database", {"app": Level.ADMIN}, True),
        ("get_insights", {"app": Level.WRITE}, False),
    ],
)
def test_an_operation_needs_the_right_for_its_project_or_for_all_if_it_is_about_knowledge(
    operation: str, rights: dict[str, Level], is_allowed: bool
) -> None:
    assert Access("x", rights).may(load_contract()[operation], ["app"]) is is_allowed


def test_tokens_that_are_added_at_the_same_time_are_all_kept(tokens: NamedTokens) -> None:
    names = [f"agent-{number}" for number in range(32)]
    with ThreadPoolExecutor(16) as pool:  # each as another process would
        given = list(pool.map(lambda name: NamedTokens(tokens.folder).add(name, {ALL: "read"}, days=1), names))

    assert [access.author for token in given if (access := tokens.access(token))] == names


def test_mistakes_and_names_that_the_log_could_not_show_are_refused(tokens: NamedTokens) -> None:
    tokens.add("ci", {ALL: "read"}, days=1)
    wrong = [(InvalidArgument, {ALL: "read"}, name) for name in ("", "a b", "x" * 101, "a\n", "*")]
    for kind, rights, name in ((Conflict, {ALL: "read"}, "ci"), (InvalidArgument, {}, "other"), *wrong):
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
