"""HEAD of a project's repository, read from its files: equal to what git says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from etl.head import Head, head
from tests.harness.evaluation import commit, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("a")
    commit(tmp_path, "first")
    git(tmp_path, "branch", "-M", "main")
    return tmp_path


def said(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_branch_and_its_commit(repository: Path) -> None:
    assert head(repository) == Head("main", said(repository, "rev-parse", "HEAD"))


def test_a_folder_within_the_repository(repository: Path) -> None:
    (repository / "deep" / "er").mkdir(parents=True)

    assert head(repository / "deep" / "er") == head(repository)


def test_a_branch_with_slashes_and_packed_refs(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature/one/two")
    git(repository, "pack-refs", "--all")

    assert head(repository) == Head("feature/one/two", said(repository, "rev-parse", "HEAD"))


def test_a_detached_head(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    assert head(repository) == Head(None, said(repository, "rev-parse", "HEAD"))


def test_a_worktree(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("worktree") / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    commit(other, "second")

    assert head(other) == Head("side", said(other, "rev-parse", "HEAD"))
    assert head(repository).branch == "main"


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")

    assert head(tmp_path) == Head("main", None)


@pytest.mark.parametrize("content", ["", "ref: ", "ref: ../../etc/passwd", "ref: /etc/passwd", "not a commit", "\xff"])
def test_a_broken_head_says_no_commit(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(content.encode("latin-1"))

    assert head(tmp_path).commit is None


def test_no_repository(tmp_path: Path) -> None:
    assert head(tmp_path) == Head(None, None)
