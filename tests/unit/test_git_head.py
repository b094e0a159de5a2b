"""The HEAD of a repository, read from its files, equals the HEAD that git reports."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lore_etl.files.git_folder import Head, excludes, head
from tests.harness.evaluation import commit, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("a")
    commit(tmp_path, "first")
    git(tmp_path, "branch", "-M", "main")
    return tmp_path


def commit_of(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("commands", "branch"),
    [
        ([], "main"),
        (["checkout -q -b feature/one/two", "pack-refs --all"], "feature/one/two"),
        (["checkout -q --detach"], None),
    ],
    ids=["a branch", "packed refs", "detached"],
)
def test_a_branch_and_its_commit_are_read(repository: Path, commands: list[str], branch: str | None) -> None:
    for command in commands:
        git(repository, *command.split())

    assert head(repository) == Head(branch, commit_of(repository))


def test_the_head_and_the_exclude_file_of_a_worktree_are_read_and_those_above_a_folder_of_the_repository(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("worktree") / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    commit(other, "second")
    (repository / "deep" / "er").mkdir(parents=True)
    (repository / ".git/info/exclude").write_text("a.txt")

    assert head(other) == Head("side", commit_of(other))
    assert head(repository / "deep" / "er") == head(repository)
    assert head(repository).branch == "main"
    assert excludes(other) == excludes(repository) == b"a.txt"
    assert excludes(other.parent) is None


def test_a_folder_without_a_repository_or_a_commit_has_no_commit(tmp_path: Path) -> None:
    assert head(tmp_path) == Head(None, None)

    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    assert head(tmp_path) == Head("main", None)


@pytest.mark.parametrize("content", ["", "ref: ", "ref: ../../etc/passwd", "ref: /etc/passwd", "not a commit", "\xff"])
def test_a_broken_head_has_no_commit(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(content.encode("latin-1"))

    assert head(tmp_path).commit is None


def link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_a_file(path: Path) -> None:
    path.with_name("elsewhere").write_text("a" * 40)
    path.symlink_to(path.with_name("elsewhere"))


def endless(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("name", ["", "HEAD", "packed-refs", "commondir", "refs/heads/main"])
@pytest.mark.parametrize("hinder", [os.mkfifo, os.mkdir, link_to_a_device, link_to_a_file, endless])
def test_fifos_devices_symlinks_and_endless_files_are_not_read(
    tmp_path: Path, name: str, hinder: Callable[[Path], None]
) -> None:
    if name:
        (tmp_path / ".git" / name).parent.mkdir(parents=True)
        (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (tmp_path / ".git" / name).unlink(missing_ok=True)
    hinder(tmp_path / ".git" / name)

    assert head(tmp_path).commit is None


@pytest.mark.parametrize("hinder", [os.mkfifo, os.mkdir, link_to_a_device, link_to_a_file])
def test_an_exclude_file_is_read_only_if_it_is_a_file(repository: Path, hinder: Callable[[Path], None]) -> None:
    (repository / ".git/info/exclude").unlink()
    hinder(repository / ".git/info/exclude")

    assert excludes(repository) is None


def test_the_exclude_file_of_another_repository_is_not_read(repository: Path) -> None:
    for name in ("linked", "named"):
        (repository / name).mkdir()
    (repository / "linked/.git").symlink_to(repository / ".git")
    (repository / "named/.git").write_text(f"gitdir: {repository / '.git'}")

    assert [excludes(repository / name) for name in ("linked", "named")] == [None, None]


@pytest.mark.parametrize(
    "ref", ["refs/../../secret", "secret", "refs/heads/a b", "refs/heads/\x1b[31m", "refs/" + "a" * 400]
)
def test_an_invalid_ref_is_neither_opened_nor_reported(tmp_path: Path, ref: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "secret").write_text("a" * 40)
    (tmp_path / ".git" / "secret").write_text("b" * 40)
    (tmp_path / ".git" / "HEAD").write_text(f"ref: {ref}\n")

    assert head(tmp_path) == Head()
