"""Every write is a git commit that can be listed, shown, compared and reverted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lore_etl.core.errors import CommitNotFound, Conflict, DocumentNotFound, GitError, ProjectNotFound
from lore_server.knowledge.chapter_edit import ChapterName, add_part, rewrite, update_part
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.history import INTERRUPTED
from lore_server.knowledge.store import KnowledgeStore
from lore_server.operations.table import render
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import ProjectService
from tests.harness.knowledge import AGENT, PROJECT, assert_sound, create, git, messages
from tests.harness.refusals import assert_each_fails, refused


def chapter(store: KnowledgeStore, title: str, filename: str = "guide") -> str:
    return store.reader.document(PROJECT, filename).document.chapter(title).content


@pytest.mark.parametrize(
    "title",
    [
        "; rm -rf ~ & | `id` $(id) $HOME", "-m", "--amend", "'\"\\", "#hash", "{}", "{0!r}", "%H%x00", "日本 é",
        "<a> \x7f",
    ],
)  # fmt: skip
def test_any_text_survives_in_a_commit_message(store: KnowledgeStore, title: str) -> None:
    create(store)

    store.edit(PROJECT, "guide", add_part(ChapterName(title), "x"), Author(title, title))

    last = store.history.log(limit=1)[0]
    assert last.message == f"Update knowledge for {PROJECT}: Added chapter '{title}' to guide.md"
    assert git(store.home, "log", "-1", "--format=%B").startswith(last.message)
    assert_sound(store.home)


@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_message_and_author_make_a_valid_git_commit(
    tmp_path_factory: pytest.TempPathFactory, message: str, agent: str, session: str
) -> None:
    store = KnowledgeStore(tmp_path_factory.mktemp("home"))
    with store.writing():
        store.commit({"a.md": b"x"}, message, Author(agent, session))

    assert len(store.history.log()) == 1
    git(store.home, "fsck", "--strict")


def test_history_covers_everything_a_project_a_document_and_deleted_documents(store: KnowledgeStore) -> None:
    store.write_main(PROJECT, "x", AGENT)
    create(store)
    create(store, "other")
    store.delete_document(PROJECT, "other", AGENT)
    store.write_main("second", "y", AGENT)

    def subjects(project: str = "", filename: str | None = None, main: bool = False) -> list[str]:
        paths = store.paths(project, filename, main) if project else ()
        return [commit.message.partition(": ")[2] for commit in store.history.log(paths)]

    latest = ["Updated main.md", "Deleted other.md", "Created other.md", "Created guide.md", "Updated main.md"]
    assert subjects() == latest
    assert subjects(PROJECT) == ["Deleted other.md", "Created other.md", "Created guide.md", "Updated main.md"]
    assert subjects(PROJECT, "Other") == ["Deleted other.md", "Created other.md"]
    assert subjects(PROJECT, main=True) == ["Updated main.md"]
    assert [commit.message.partition(": ")[2] for commit in store.history.log(limit=2, skip=1)] == latest[1:3]
    store.delete_project(PROJECT, AGENT)
    assert subjects(PROJECT, "other") == ["Deleted other.md", "Created other.md"]
    with pytest.raises(ProjectNotFound):
        store.paths("never")


def test_a_commit_is_shown_with_its_patch_and_two_commits_are_compared(store: KnowledgeStore) -> None:
    first = create(store)["commit"]
    second = store.edit(PROJECT, "guide", update_part(ChapterName("First"), "changed"), AGENT)["commit"]
    assert first and second

    shown = store.show(second[:12])
    assert (shown["commits"][0]["author"], shown["commits"][0]["session"]) == AGENT
    assert shown["paths"] == ["projects/my-app/knowledge/guide.md"]
    assert "+changed" in shown["patch"] and "-Text of First." in shown["patch"]
    assert store.history.diff(first, second, store.paths(PROJECT, "guide")) == shown["patch"]
    assert "-changed" in store.history.diff(second, first)
    assert store.history.diff(first, second, store.paths(PROJECT, main=True)) == ""
    assert "index.json" in store.show(first)["paths"]
    assert "Text of First." in store.at(first).document(PROJECT, "guide").document.text
    assert not store.at(first).main(PROJECT)["exists"]
    with pytest.raises(DocumentNotFound):
        store.at(first).document(PROJECT, "later")


@pytest.mark.parametrize("name", ["", "0" * 40, "HEAD", "--all", "main", "abc..def", "g123", "\0"])
def test_an_unknown_commit_raises_commit_not_found(store: KnowledgeStore, name: str) -> None:
    diff = store.history.diff
    assert_each_fails(CommitNotFound, lambda: store.show(name), lambda: diff(None, None), lambda: store.at(name))
    create(store)
    assert_each_fails(
        CommitNotFound, lambda: store.show(name), lambda: store.revert(name, AGENT), lambda: diff(None, name)
    )


def test_a_commit_is_reverted_by_a_new_one_that_keeps_later_changes_unless_they_conflict(store: KnowledgeStore) -> None:
    create(store)
    changed = store.edit(PROJECT, "guide", update_part(ChapterName("First"), "bad"), AGENT)["commit"]
    store.edit(PROJECT, "guide", update_part(ChapterName("Second"), "good"), AGENT)
    assert changed

    reverted = store.revert(changed, AGENT)

    assert reverted["commit"] and reverted["paths"] == ["projects/my-app/knowledge/guide.md"]
    assert (chapter(store, "First"), chapter(store, "Second")) == ("Text of First.", "good")
    assert messages(store.home)[-1] == f"Revert \"Update knowledge for {PROJECT}: Updated chapter 'First' in guide.md\""
    again = store.revert(str(reverted["commit"]), AGENT)["commit"]
    assert again and chapter(store, "First") == "bad"

    store.edit(PROJECT, "guide", update_part(ChapterName("First"), "two"), AGENT)
    before = messages(store.home)
    with pytest.raises(Conflict, match="guide"):
        store.revert(again, AGENT)
    assert (chapter(store, "First"), messages(store.home)) == ("two", before)
    assert_sound(store.home)


def test_reverting_restores_a_deleted_project_and_keeps_later_documents_of_a_new_project(store: KnowledgeStore) -> None:
    begun = create(store)["commit"]
    create(store, "later")
    assert begun
    store.revert(begun, AGENT)
    assert [document.filename for document in store.listing.documents(PROJECT)] == ["later.md"]

    deleted = store.delete_project(PROJECT, AGENT)["commit"]
    assert store.reader.projects() == [] and deleted
    store.revert(deleted, AGENT)
    assert [document.filename for document in store.listing.documents(PROJECT)] == ["later.md"]
    assert store.revert(store.history.log()[0].id, AGENT)["paths"]
    assert store.reader.projects() == []
    assert_sound(store.home)


def test_restoring_a_document_restores_its_project(store: KnowledgeStore) -> None:
    create(store)
    deleted = store.delete_document(PROJECT, "guide", AGENT)["commit"]
    store.delete_project(PROJECT, AGENT)
    assert deleted

    store.revert(deleted, AGENT)

    assert [project.id for project in store.reader.projects()] == [PROJECT]
    assert [document.filename for document in store.listing.documents(PROJECT)] == ["guide.md"]


def test_external_changes_are_committed_before_they_are_replaced(store: KnowledgeStore) -> None:
    path = store.home / create(store)["filepath"]
    path.write_text("by hand", encoding="utf-8")

    store.edit(PROJECT, "guide", rewrite("by an agent"), AGENT)

    assert messages(store.home)[-2] == "Sync storage: 1 file updated"
    assert store.at(store.history.log()[1].id).document(PROJECT, "guide").document.text == "by hand"
    store.write_main("new", "x", AGENT)
    assert_sound(store.home)


NEXT_STEPS: dict[str, tuple[Callable[[KnowledgeStore], object], list[str]]] = {
    "opening": (lambda store: store.open(), []),
    "the next write": (lambda store: store.write_main(PROJECT, "x", AGENT), ["Updated main.md"]),
}


@pytest.mark.parametrize(("step", "more"), NEXT_STEPS.values(), ids=NEXT_STEPS)
def test_a_killed_write_is_committed_and_its_temporary_files_are_removed(
    store: KnowledgeStore, step: Callable[[KnowledgeStore], object], more: list[str]
) -> None:
    path = store.home / create(store)["filepath"]
    path.write_text("half way", encoding="utf-8")
    for place in (store.home, store.home / "projects", path.parent.parent, path.parent):
        (place / ".lore-123-4.tmp").write_text("x", encoding="utf-8")
    git_folder = store.home / ".git"
    (git_folder / "lore.lock").write_text("Update knowledge", encoding="utf-8")
    (git_folder / "index.lock").touch()
    (git_folder / "refs" / "heads" / "main.lock").touch()

    assert not step(KnowledgeStore(store.home)) or more

    done = [f"Update knowledge for {PROJECT}: {text}" for text in more]
    assert messages(store.home)[1:] == [f"{INTERRUPTED}Update knowledge", *done]
    assert_sound(store.home)


@pytest.mark.requirement("KB-004", "KB-070")
def test_a_log_that_was_committed_by_hand_leaves_the_history_at_the_next_start(store: KnowledgeStore) -> None:
    create(store)
    log = store.home / "activity.log"
    log.write_text("{}\n", encoding="utf-8")
    assert git(store.home, "status", "--porcelain") == ""
    git(store.home, "add", "-f", "activity.log")
    git(store.home, "commit", "-q", "-m", "by hand")

    KnowledgeStore(store.home).open()

    assert "activity.log" not in git(store.home, "ls-files").splitlines()
    assert log.read_text(encoding="utf-8") == "{}\n"
    assert_sound(store.home)


def test_a_git_index_that_could_not_be_written_is_updated_by_the_next_write(store: KnowledgeStore) -> None:
    create(store)
    lock = store.home / ".git" / "index.lock"
    with store.writing():
        lock.touch()  # like another git process at this moment
        store.commit({"projects/my-app/main.md": b"x"}, "x", AGENT)
    assert messages(store.home)[-1] == "x"
    assert git(store.home, "status", "--porcelain") != ""

    lock.unlink()
    store.write_main("other", "x", AGENT)
    assert_sound(store.home)


@pytest.mark.requirement("KB-065", "KB-066")
def test_the_users_configuration_hooks_and_environment_of_git_are_ignored(
    store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\nexit 1\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    config = f"[core]\nhooksPath={hooks}\nautocrlf=true\n[commit]\ngpgSign=true\n[user]\nname=Me\n"
    (tmp_path / "config").write_text(config, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    store.write_main(PROJECT, "a\r\nb\n", Author())
    store.sync(AGENT)

    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    assert not list(tmp_path.glob("ran-*")) and not (tmp_path / "elsewhere").exists()
    assert git(store.home, "log", "--format=%an") == "Lore\n"
    assert git(store.home, "cat-file", "-p", "HEAD:projects/my-app/main.md") == "a\r\nb\n"
    assert_sound(store.home)


def test_git_attributes_in_the_folder_do_not_change_a_byte(store: KnowledgeStore) -> None:
    create(store)
    (store.home / ".gitattributes").write_text("* text=auto eol=crlf ident\n", encoding="utf-8")
    store.sync(AGENT)

    store.write_main(PROJECT, "a\r\nb\n$Id$\n", AGENT)
    store.open()

    assert git(store.home, "cat-file", "-p", "HEAD:projects/my-app/main.md") == "a\r\nb\n$Id$\n"
    assert_sound(store.home)


@pytest.mark.requirement("KB-054")
def test_without_git_reading_works_but_no_write_does(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    create(store)
    monkeypatch.setenv("PATH", "")

    again = KnowledgeStore(store.home)
    assert len(again.listing.documents(PROJECT)) == 1
    assert "git" in ProjectService(Library(store.home, store.home)).status()["status_details"].lower()
    with refused(GitError, hint="Install git"):
        again.write_main(PROJECT, "x", AGENT)
    assert not again.reader.main(PROJECT)["exists"]


def test_history_continues_after_git_packs_it(store: KnowledgeStore) -> None:
    first = create(store)["commit"]
    git(store.home, "gc", "-q", "--prune=now")
    git(store.home, "pack-refs", "--all")

    again = KnowledgeStore(store.home)
    again.edit(PROJECT, "guide", update_part(ChapterName("First"), "x"), AGENT)

    assert first and again.at(first).document(PROJECT, "guide")
    assert_sound(store.home)


@pytest.mark.requirement("KB-038")
def test_status_and_sync_report_uncommitted_changes(store: KnowledgeStore) -> None:
    path = store.home / create(store)["filepath"]
    storage = ProjectService(Library(store.home, store.home))
    assert storage.status()["status_details"] == ""
    (path.parent / "by hand.md").write_text("x", encoding="utf-8")

    status = storage.status()
    assert (status["exists"], status["current_branch"], status["remote_status"]) == (True, "main", "no remote")
    assert status["status_details"] == "projects/my-app/knowledge/by hand.md"
    assert status["last_commit"].endswith("Created guide.md")
    (path.parent / "another.md").write_text("y", encoding="utf-8")
    synced = store.sync(AGENT)
    assert (synced.files_committed, synced.pushed) == (2, False)
    assert messages(store.home)[-1] == "Sync storage: 2 files updated"
    assert storage.status()["uncommitted_files"] == 0
    assert store.reader.document(PROJECT, "by hand.md").document.text == "x"


HEAD = "ref: refs/heads/main\n"
KILLED_INITS = {
    "HEAD.lock": {"HEAD.lock": ""},
    "HEAD": {"HEAD": HEAD},
    "config.lock": {"HEAD": HEAD, "config.lock": "[core]\n"},
    "no objects": {"HEAD": HEAD, "config": "[core]\n\trepositoryformatversion = 0\n", "txyzabc": ""},
}


@pytest.mark.promise(1)
@pytest.mark.parametrize("left", KILLED_INITS.values(), ids=KILLED_INITS)
def test_a_write_completes_the_repository_of_a_killed_git_init(store: KnowledgeStore, left: dict[str, str]) -> None:
    (store.home / ".git" / "refs" / "heads").mkdir(parents=True)
    for name, text in left.items():
        (store.home / ".git" / name).write_text(text)
    assert store.history.tip is None
    store.open()

    create(store)

    assert git(store.home, "symbolic-ref", "HEAD") == HEAD.removeprefix("ref: ")
    assert_sound(store.home)


@pytest.mark.parametrize("pack", [False, True], ids=["loose branch", "packed branch"])
def test_a_history_that_lost_its_objects_is_not_begun_anew(store: KnowledgeStore, pack: bool) -> None:
    create(store)
    if pack:
        git(store.home, "pack-refs", "--all")
    objects, lost, before = store.home / ".git" / "objects", store.home / "lost", messages(store.home)
    objects.rename(lost)

    with pytest.raises(GitError, match="lost its objects"):
        create(KnowledgeStore(store.home), "second")

    assert not objects.exists()
    lost.rename(objects)
    assert messages(store.home) == before
    create(KnowledgeStore(store.home), "third")
    assert messages(store.home)[: len(before)] == before


def test_a_history_says_that_it_goes_on_until_its_last_commit_is_shown(store: KnowledgeStore, tmp_path: Path) -> None:
    for number in range(5):
        create(store, f"document-{number}")
    service, found, skip = ProjectService(Library(store.home, tmp_path)), list[str](), 0
    while True:
        page = service.history(main=False, everything=True, limit=2, skip=skip)
        found += [commit["id"] for commit in page["commits"]]
        skip += 2
        text = render("get_knowledge_history", page).whole()
        if "truncated" not in page:
            break
        assert f"pass skip={skip}." in text

    assert found == [commit.id for commit in store.history.log()]
    assert "older commits" not in text
    beyond = service.history(main=False, everything=True, limit=2, skip=100)
    assert render("get_knowledge_history", beyond).whole() == "No such commits or changes."
