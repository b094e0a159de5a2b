"""A new machine with a remote: its first use fetches, and all machines share the same history."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lore_server.knowledge.chapter_edit import rewrite
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.knowledge.store import KnowledgeStore
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import ProjectService
from tests.harness.knowledge import AGENT, PROJECT, assert_sound, bare_remote, create, git, is_linear, messages
from tests.harness.trying import often

BRANCHES = ["main", "master", "trunk"]
Machine = Callable[[str, str], KnowledgeStore]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare_remote(tmp_path / "remote.git")


@pytest.fixture
def machine(tmp_path: Path, remote: Path) -> Machine:
    """Prepare a knowledge folder like `git init` with that branch, and add the remote."""

    def prepared(name: str, branch: str) -> KnowledgeStore:
        git(tmp_path, "init", "-q", "-b", branch, name)
        git(tmp_path / name, "remote", "add", "origin", str(remote))
        return KnowledgeStore(tmp_path / name)

    return prepared


def library(store: KnowledgeStore, project: Path) -> Library:
    project.mkdir(exist_ok=True)
    return Library(store.home, project)


@pytest.fixture
def first(tmp_path: Path, machine: Machine) -> KnowledgeStore:
    """Return the store of a machine that has pushed the main document of the project."""
    store = library(machine("first", "main"), tmp_path / PROJECT).store
    store.write_main(PROJECT, "From the first machine.", AGENT)
    assert store.close(300)
    return store


def heads(remote: Path) -> list[str]:
    return git(remote, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    often(itertools.product(BRANCHES, repeat=2), {("main", "main"), ("main", "trunk"), ("master", "main")}),
)
def test_the_first_use_finds_all_documents(
    tmp_path: Path, remote: Path, machine: Machine, ours: str, theirs: str
) -> None:
    git(remote, "symbolic-ref", "HEAD", f"refs/heads/{theirs}")
    first = library(machine("first", theirs), tmp_path / PROJECT).store
    first.write_main(PROJECT, "From the first machine.", AGENT)
    assert first.close(300)
    second = library(machine("second", ours), tmp_path / PROJECT)

    assert f"`lore knowledge adopt '{PROJECT}'`" in ProjectService(second).main()["note"]
    second.adopt(PROJECT)
    assert ProjectService(second).main()["content"] == "From the first machine."
    create(second.store)
    assert second.store.close(300)

    assert first.sync(AGENT).pulled is True
    assert [document.filename for document in first.listing.documents(PROJECT)] == ["guide.md"]
    assert heads(remote) == [theirs]
    assert is_linear(first.home)
    assert is_linear(second.home)
    assert_sound(second.home)


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("first_call", ["list", "write"])
def test_the_first_call_of_any_operation_fetches(tmp_path: Path, machine: Machine, first_call: str) -> None:
    second = ProjectService(library(machine("second", "main"), tmp_path / PROJECT))

    if first_call == "list":
        assert [project["project_id"] for project in second.all()["projects"]] == [PROJECT]
    else:
        second.write(content="From the second machine.", request=WriteRequest())
        assert second.main()["exists"] is True
    assert is_linear(tmp_path / "second")


def test_a_remote_whose_head_has_another_name_does_not_split_the_history(remote: Path, machine: Machine) -> None:
    """Both machines already have commits on differently named branches; the remote's HEAD decides."""
    git(remote, "symbolic-ref", "HEAD", "refs/heads/master")
    first, second = machine("first", "master"), machine("second", "main")
    first.write_main(PROJECT, "First.", AGENT)
    assert first.close(300)
    git(second.home, "remote", "rename", "origin", "away")
    create(second, project="Other")
    git(second.home, "remote", "rename", "away", "origin")
    second = KnowledgeStore(second.home)

    assert second.sync(AGENT).pushed is True
    assert first.sync(AGENT).pulled is True

    assert heads(remote) == ["master"]
    for store in (first, second):
        assert [project.id for project in store.reader.projects()] == [PROJECT, "Other"]
    assert second.remote.state().state == "up to date"


def test_all_machines_push_to_the_same_branch_of_an_empty_remote(remote: Path, machine: Machine) -> None:
    git(remote, "symbolic-ref", "HEAD", "refs/heads/nowhere")
    first, second = machine("first", "main"), machine("second", "master")
    first.write_main(PROJECT, "First.", AGENT)
    assert first.close(300)
    assert second.open()
    create(second, project="Other")
    assert second.close(300)

    assert len(heads(remote)) == 1


@pytest.mark.requirement("KB-069")
@pytest.mark.usefixtures("first")
def test_an_initially_unreachable_remote_is_reported_and_fetched_later(
    tmp_path: Path, remote: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lore_server.services.knowledge_library.RETRY_SECONDS", -1.0)
    shutil.move(remote, tmp_path / "elsewhere")
    place = library(machine("second", "main"), tmp_path / PROJECT)
    second = ProjectService(place)

    assert "Nothing was fetched from the remote of the knowledge folder" in second.main()["note"]
    shutil.move(tmp_path / "elsewhere", remote)
    place.adopt(PROJECT)
    assert second.main()["content"] == "From the first machine."
    assert "note" not in second.main()


def test_the_reason_for_a_divergence_is_kept_for_the_next_process_until_resolved(machine: Machine) -> None:
    first = machine("first", "main")
    create(first)
    assert first.close(300)
    second = machine("second", "main")
    second.open()
    git(second.home, "remote", "rename", "origin", "away")
    for store, text in ((first, "one"), (KnowledgeStore(second.home), "two")):
        store.edit(PROJECT, "guide", rewrite(f"# {text}\n"), AGENT)
        assert store.close(300)
    git(second.home, "remote", "rename", "away", "origin")
    assert KnowledgeStore(second.home).sync(AGENT).pushed is False

    remote = KnowledgeStore(second.home).remote.state()
    assert (remote.state, remote.ahead, remote.behind) == ("diverged", 1, 1)
    assert "guide.md" in str(remote.problem)
    assert "merge them with git" in str(remote.problem)

    git(second.home, "merge", "-q", "-X", "ours", "-m", "By hand", "origin/main")
    assert KnowledgeStore(second.home).sync(AGENT).pushed is True
    assert KnowledgeStore(second.home).remote.state().problem is None
    assert messages(second.home)[-1] == "By hand"


def test_a_long_reason_is_shortened_and_not_lost(machine: Machine) -> None:
    first = machine("first", "main")
    create(first)
    assert first.close(300)
    (first.home / ".git" / "lore-remote-problem").write_text("x" + "€" * 3_000, encoding="utf-8")

    assert KnowledgeStore(first.home).remote.state().problem == "x" + "€" * 1_999
