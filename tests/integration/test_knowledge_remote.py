"""A remote that is ahead, behind, diverged, unreachable or read-only never loses a local commit."""

import os
import subprocess
from pathlib import Path

import pytest

from lore_etl.core.errors import GitError
from lore_server.knowledge.chapter_edit import ChapterName, update_part
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.git.history import by_hand
from lore_server.knowledge.store import KnowledgeStore
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import ProjectService
from tests.harness.knowledge import AGENT, PROJECT, assert_sound, bare_remote, create, git, messages
from tests.harness.neighbours import huge, misbehaving
from tests.harness.trying import often

pytestmark = pytest.mark.later


class Pair:
    """Return two machines that share a remote and begin with the same document."""

    def __init__(self, folder: Path) -> None:
        self.ours = KnowledgeStore(folder / "ours")
        create(self.ours)
        self.remote = bare_remote(folder / "remote.git", self.ours.home)
        assert self.ours.sync(AGENT).pushed
        git(folder, "clone", "-q", str(self.remote), str(folder / "theirs"))
        self.theirs = KnowledgeStore(folder / "theirs")

    def update(self, store: KnowledgeStore, title: str, content: str) -> None:
        store.edit(PROJECT, "guide", update_part(ChapterName(title), content), AGENT)
        assert store.close(300)

    def forget_remote(self, store: KnowledgeStore) -> None:
        """Stop pushing later changes."""
        git(store.home, "remote", "rename", "origin", "away")

    def find_remote(self, store: KnowledgeStore) -> None:
        git(store.home, "remote", "rename", "away", "origin")


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def make_read_only(remote: Path) -> Path:
    """Let the remote refuse each push; return the hook that does so."""
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'read only' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    return hook


def content(store: KnowledgeStore, title: str) -> str:
    return store.reader.document(PROJECT, "guide").document.chapter(title).content


def heads(pair: Pair) -> set[str]:
    return {git(home, "rev-parse", "main").strip() for home in (pair.remote, pair.ours.home, pair.theirs.home)}


@pytest.mark.requirement("KB-068")
@pytest.mark.parametrize("waits", [True, False], ids=["at the start", "in the background"])
def test_commits_of_a_remote_that_is_ahead_are_fetched(pair: Pair, waits: bool) -> None:
    pair.update(pair.ours, "First", "from elsewhere")
    create(pair.ours, "new")
    pair.ours.delete_document(PROJECT, "new", AGENT)
    create(pair.ours, "newer", project="Other")
    pair.ours.close(300)
    notifications = list[str]()
    theirs = KnowledgeStore(pair.theirs.home, changed=lambda: notifications.append("changed"))

    assert theirs.open(wait_for_remote=waits) is waits
    assert waits or theirs.close(300)

    assert notifications == ["changed"]
    assert theirs.remote.state().problem is None
    assert content(theirs, "First") == "from elsewhere"
    assert [document.filename for document in theirs.listing.documents("Other")] == ["newer.md"]
    assert len(heads(pair)) == 1
    assert_sound(theirs.home)


def test_unpushed_commits_are_pushed_to_a_remote_that_is_behind(pair: Pair) -> None:
    pair.forget_remote(pair.ours)
    pair.ours = KnowledgeStore(pair.ours.home)
    pair.update(pair.ours, "First", "not pushed")
    pair.find_remote(pair.ours)
    assert pair.ours.remote.state().ahead == 1

    assert not pair.ours.open()
    assert pair.ours.close(300)

    assert git(pair.remote, "rev-parse", "main") == git(pair.ours.home, "rev-parse", "main")


def diverge(pair: Pair, ours: str, theirs: str) -> KnowledgeStore:
    pair.update(pair.theirs, theirs, "theirs")
    create(pair.theirs, "b", project="Theirs")
    assert pair.theirs.close(300)
    pair.forget_remote(pair.ours)
    store = KnowledgeStore(pair.ours.home)
    pair.update(store, ours, "ours")
    create(store, "a", project="Ours")
    pair.find_remote(store)
    return KnowledgeStore(store.home)


def test_histories_that_changed_different_lines_are_merged_and_pushed(pair: Pair) -> None:
    store = diverge(pair, "First", "Second")

    assert store.open()
    assert store.close(300)

    assert (content(store, "First"), content(store, "Second")) == ("ours", "theirs")
    assert [project.id for project in store.reader.projects()] == [PROJECT, "Ours", "Theirs"]
    assert messages(store.home)[-1] == "Merge origin/main"
    assert pair.theirs.sync(AGENT).pulled
    assert len(heads(pair)) == 1
    assert_sound(store.home)
    assert_sound(pair.theirs.home)


def test_conflicting_histories_are_kept_and_reported_and_writing_continues(pair: Pair) -> None:
    store = diverge(pair, "First", "First")
    before = messages(store.home)

    assert not store.open()

    state = store.remote.state()
    assert (state.state, state.ahead, state.behind) == ("diverged", 2, 2)
    assert "guide.md" in (state.problem or "")
    assert messages(store.home) == before
    assert content(store, "First") == "ours"
    pair.update(store, "Second", "more")
    assert not store.sync(AGENT).pushed
    assert content(store, "Second") == "more"
    assert git(pair.remote, "rev-parse", "main") == git(pair.theirs.home, "rev-parse", "main")
    assert_sound(store.home)


@pytest.mark.requirement("KB-072")
def test_a_write_is_pushed_in_the_background_and_merged_first_after_a_remote_commit(pair: Pair) -> None:
    pair.update(pair.theirs, "Second", "theirs")
    assert git(pair.remote, "rev-parse", "main") == git(pair.theirs.home, "rev-parse", "main")

    pair.update(pair.ours, "First", "ours")

    assert (content(pair.ours, "First"), content(pair.ours, "Second")) == ("ours", "theirs")
    assert git(pair.remote, "rev-parse", "main") == git(pair.ours.home, "rev-parse", "main")
    assert pair.ours.remote.state().state == "up to date"


def test_a_rewritten_remote_loses_no_local_commit(pair: Pair, tmp_path: Path) -> None:
    pair.update(pair.ours, "First", "ours")
    git(tmp_path, "clone", "-q", str(pair.remote), "rewriter")
    git(tmp_path / "rewriter", "commit", "-q", "--amend", "-m", "rewritten")
    git(tmp_path / "rewriter", "push", "-q", "--force")
    before = set(git(pair.ours.home, "rev-list", "main").split())

    pair.ours.open()

    assert before <= set(git(pair.ours.home, "rev-list", "main").split())
    assert content(pair.ours, "First") == "ours"


ADDRESSES = ["/nowhere/at/all.git", "ssh://127.0.0.1:1/x.git", "http://127.0.0.1:1/x.git", "ext::sh -c id"]


@pytest.mark.parametrize("address", [*ADDRESSES, "read only"])
@pytest.mark.requirement("KB-073")
def test_an_unreachable_or_read_only_remote_is_reported_and_does_not_block_writes(pair: Pair, address: str) -> None:
    hook = make_read_only(pair.remote)
    if address != "read only":
        hook.unlink()
        git(pair.ours.home, "remote", "set-url", "origin", address)
    store = KnowledgeStore(pair.ours.home)

    assert not store.open()
    pair.update(store, "First", "offline")

    assert content(store, "First") == "offline"
    state = store.remote.state()
    assert (state.state, state.ahead) == ("failed", 1)
    assert state.problem
    assert address != "read only" or "read only" in state.problem or "declined" in state.problem
    hook.unlink(missing_ok=True)
    git(store.home, "remote", "set-url", "origin", str(pair.remote))
    assert store.sync(AGENT).pushed
    assert store.remote.state().problem is None


@pytest.mark.promise(27)
def test_a_reply_without_end_is_given_up_before_it_fills_the_memory(pair: Pair) -> None:
    with misbehaving(huge) as port, pytest.raises(GitError, match="over limit"):
        pair.ours.history.git.run("ls-remote", f"http://127.0.0.1:{port}/x.git", seconds=10, remote=True)


def tree_with(remote: Path, path: str, mode: str) -> str:
    """Return a new commit of the bare remote that has a file at this path, which no work tree could contain."""
    blob = git(remote, "hash-object", "-w", "-t", "blob", os.devnull)
    entry = f"commit {git(remote, 'rev-parse', 'main')}" if mode == "160000" else f"blob {blob}"
    *folders, name = path.split("/")
    line = f"{mode} {entry.strip()}\t{name}"
    for folder in [*reversed(folders), None]:
        written = subprocess.run(
            ["git", "mktree", "--missing"], cwd=remote, input=f"{line}\n", capture_output=True, text=True, check=True
        )
        line = f"040000 tree {written.stdout.strip()}\t{folder}"
    return git(remote, "commit-tree", "-m", "x", "-p", "main", written.stdout.strip()).strip()


REFUSED = [
    ("projects/my-app/knowledge/link.md", "120000"),
    ("projects/my-app/knowledge/part", "160000"),
    (".git/hooks/post-merge", "100755"),
    ("projects/my-app/.GIT/config", "100644"),
    ("projects/git~1/config", "100644"),
    ("projects/my-app/../../x.md", "100644"),
]


@pytest.mark.parametrize(
    ("path", "mode", "machine"),
    often(
        [(*refused, machine) for refused in REFUSED for machine in ("new", "with commits")],
        [*((*refused, "new") for refused in REFUSED), (*REFUSED[0], "with commits"), (*REFUSED[2], "with commits")],
    ),
)
def test_a_remote_with_a_hostile_path_is_refused_as_a_whole_and_reported(
    pair: Pair, tmp_path: Path, path: str, mode: str, machine: str
) -> None:
    git(pair.remote, "update-ref", "refs/heads/main", tree_with(pair.remote, path, mode))
    store = pair.ours
    if machine == "new":
        git(tmp_path, "init", "-q", "-b", "main", "new")
        git(tmp_path / "new", "remote", "add", "origin", str(pair.remote))
        store = KnowledgeStore(tmp_path / "new")
    before = git(store.home, "ls-files")
    storage = ProjectService(Library(store.home, tmp_path))

    assert not store.open()
    for _ in range(2):
        with pytest.raises(GitError, match=r"^Neither pulled nor pushed: The remote was refused") as refused:
            storage.sync(request=WriteRequest())
        assert path.rpartition("/")[2] in refused.value.message
        assert refused.value.exit_code == 74
    assert store.close(300)
    status = storage.status()
    assert "The remote was refused" in status["remote_status"]
    assert git(store.home, "ls-files") == before
    assert git(store.home, "status", "--porcelain") == ""


@pytest.mark.parametrize("cause", ["read-only", "unreachable", "conflict"])
@pytest.mark.requirement("KB-039")
def test_a_sync_that_did_not_finish_is_an_error_that_says_what_was_done(pair: Pair, cause: str) -> None:
    store = diverge(pair, "First", "First") if cause == "conflict" else pair.ours
    storage = ProjectService(Library(store.home, store.home))
    storage.status()
    store.close(300)
    if cause == "read-only":
        pair.update(pair.theirs, "Second", "theirs")
        make_read_only(pair.remote)
    elif cause == "unreachable":
        git(store.home, "remote", "set-url", "origin", "/nowhere")
    main = store.home / "projects" / "my-app" / "main.md"
    main.write_text("by hand", encoding="utf-8")
    done = {"read-only": "pulled but not pushed", "unreachable": "neither", "conflict": "neither"}[cause]

    with pytest.raises(GitError, match=f"^1 changed file committed here, {done}"):
        storage.sync(request=WriteRequest())

    assert git(store.home, "log", "-1", "--format=%s", "--", str(main)).strip() == by_hand(1)


def test_the_status_says_that_the_state_of_the_remote_and_its_problem_are_those_last_seen(pair: Pair) -> None:
    storage = ProjectService(Library(pair.ours.home, pair.ours.home))
    pair.update(pair.theirs, "First", "unseen")
    assert storage.status()["remote_status"] == "origin/main as last seen (up to date)"

    store = diverge(pair, "Second", "Second")
    with pytest.raises(GitError):
        storage.sync(request=WriteRequest())
    git(store.home, "merge", "-q", "-X", "ours", "origin/main")

    status = storage.status()["remote_status"]
    assert "; the last attempt: Both sides changed" in status
    assert storage.sync(request=WriteRequest())["remote_status"] == "origin/main as last seen (up to date)"


def test_an_empty_remote_receives_everything_and_an_empty_folder_fetches_everything(tmp_path: Path) -> None:
    first = KnowledgeStore(tmp_path / "first")
    create(first)
    remote = bare_remote(tmp_path / "remote.git", first.home)
    assert not first.open()
    assert first.sync(AGENT).pushed

    second = tmp_path / "second"
    second.mkdir()
    git(second, "init", "-q", "-b", "main")
    git(second, "remote", "add", "origin", str(remote))
    store = KnowledgeStore(second)
    assert store.open()
    assert content(store, "First") == "Text of First."
    assert_sound(second)
