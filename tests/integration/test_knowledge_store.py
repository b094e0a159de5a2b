"""The knowledge folder: writes are committed, hostile names rejected, symlinks not followed."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.project import knowledge_home
from lore_etl.core.errors import (
    Busy,
    ChapterNotFound,
    Conflict,
    DocumentNotFound,
    FileExists,
    InvalidContent,
    InvalidFilename,
    InvalidPath,
    LoreError,
    ProjectNotFound,
    StorageError,
)
from lore_server.knowledge.chapter_edit import ChapterName, SectionName, add_part, remove_part, rewrite, update_part
from lore_server.knowledge.git import git_command
from lore_server.knowledge.safe_files import StoreLock
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import (
    AGENT,
    HOSTILE_FILENAMES,
    PROJECT,
    SAFE_FILENAMES,
    assert_sound,
    create,
    git,
    messages,
    seed_store,
)
from tests.harness.owners import wait_until
from tests.harness.processes import run
from tests.harness.refusals import assert_each_fails, refused

FAILING_DISK = """
import resource, sys
from pathlib import Path
from lore_etl.core.errors import StorageError
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.store import KnowledgeStore
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    KnowledgeStore(Path(sys.argv[1])).write_main("My App", "x", Author())
except StorageError as error:
    print(bool(error.hint))
"""


def test_the_folder_can_be_set_in_the_environment() -> None:
    assert knowledge_home({"LORE_HOME": "/a", "KNOWLEDGE_MCP_HOME": "/b"}) == Path("/a")
    assert knowledge_home({"LORE_HOME": "", "KNOWLEDGE_MCP_HOME": "/b"}) == Path("/b")
    assert knowledge_home({}) == Path.home() / ".lore"


def test_reading_a_missing_document_creates_nothing(store: KnowledgeStore) -> None:
    assert store.reader.projects() == []
    assert not store.reader.project(PROJECT).exists
    main = store.reader.main(PROJECT)
    assert (main["project_id"], main["exists"], main["content"], main["version"]) == (PROJECT, False, "", None)
    assert store.listing.documents(PROJECT) == []
    assert store.history.log() == []
    assert store.history.exists is False
    assert not store.open()
    with pytest.raises(ProjectNotFound):
        store.reader.document(PROJECT, "guide")
    assert not store.home.exists()


def test_missing_projects_and_documents_have_their_own_errors_and_create_no_project(store: KnowledgeStore) -> None:
    assert_each_fails(
        ProjectNotFound,
        lambda: store.delete_project(PROJECT, AGENT),
        lambda: store.edit(PROJECT, None, update_part(SectionName("## A"), "x"), AGENT),
        lambda: store.delete_document(PROJECT, "guide", AGENT),
        lambda: store.edit(PROJECT, "guide", update_part(ChapterName("A"), "x"), AGENT),
    )
    assert_each_fails(InvalidContent, lambda: store.write_main(PROJECT, "x\0", AGENT))
    assert store.reader.projects() == []

    create(store)
    assert_each_fails(DocumentNotFound, lambda: store.delete_document(PROJECT, "nope", AGENT))
    missing = update_part(ChapterName("None"), "x")
    assert_each_fails(ChapterNotFound, lambda: store.edit(PROJECT, "guide", missing, AGENT))
    assert len(messages(store.home)) == 1


def test_the_message_of_a_write_names_chapters_and_the_subchapters_that_went_too(store: KnowledgeStore) -> None:
    create(store, "guide", "A", "B")
    for title, place in (("B1", "B"), ("B2", "B1")):
        store.edit(PROJECT, "guide", add_part(ChapterName(title), "x", "after", ChapterName(place)), AGENT)
    text = store.reader.document(PROJECT, "guide").document.text
    store.edit(PROJECT, "guide", rewrite(text.replace("## B1", "### B1").replace("## B2", "#### B2")), AGENT)

    updated = store.edit(PROJECT, "guide", update_part(ChapterName(index=1), "y"), AGENT)
    part = store.edit(PROJECT, "guide", remove_part(ChapterName(index=3)), AGENT)
    whole = store.edit(PROJECT, "guide", remove_part(ChapterName(index=1)), AGENT)
    store.edit(PROJECT, "guide", rewrite(text.replace("## B", "### B")), AGENT)
    all_below = store.edit(PROJECT, "guide", remove_part(ChapterName(index=0)), AGENT)

    prefix = f"Update knowledge for {PROJECT}: "
    assert updated["message"] == f"{prefix}Updated chapter 'B' in guide.md"
    assert part["message"] == f"{prefix}Removed chapter 'B2' from guide.md"
    assert whole["message"] == f"{prefix}Removed chapter 'B' with its subchapter 'B1' from guide.md"
    assert all_below["message"] == f"{prefix}Removed chapter 'A' with its subchapters 'B', 'B1', 'B2' from guide.md"


@pytest.mark.requirement("KB-001", "KB-002", "KB-003")
def test_the_layout_matches_the_original_and_each_write_is_a_commit_by_its_author(store: KnowledgeStore) -> None:
    store.write_main(PROJECT, "# App\n", AGENT)
    written = create(store, "API Guide", "A", "B")
    store.edit(PROJECT, "API Guide", update_part(ChapterName("A"), "new", "short"), AGENT)
    store.edit(PROJECT, "api-guide.md", add_part(ChapterName("C"), "c", "before", ChapterName("A")), AGENT)
    store.edit(PROJECT, "api-guide", remove_part(ChapterName("B")), AGENT)
    store.edit(PROJECT, None, add_part(SectionName("## Build"), "make"), AGENT)
    store.edit(PROJECT, None, update_part(SectionName("## Build"), "ninja"), AGENT)
    store.edit(PROJECT, None, remove_part(SectionName("## Build")), AGENT)
    store.delete_document(PROJECT, "api-guide", AGENT)
    store.delete_project(PROJECT, AGENT)

    assert written["filepath"] == "projects/my-app/knowledge/api-guide.md"
    prefix = f"Update knowledge for {PROJECT}: "
    assert [line.removeprefix(prefix) for line in messages(store.home)] == [
        "Updated main.md", "Created api-guide.md", "Updated chapter 'A' in api-guide.md",
        "Added chapter 'C' to api-guide.md", "Removed chapter 'B' from api-guide.md",
        "Added section '## Build' to main.md",
        "Updated section '## Build' in main.md", "Removed section '## Build' from main.md",
        "Deleted api-guide.md", "Deleted project",
    ]  # fmt: skip
    assert git(store.home, "log", "--format=%an %ae %cn") == "claude lore@localhost Lore\n" * 10
    assert {commit.session for commit in store.history.log()} == {"session-1"}
    assert sorted(path.name for path in store.home.iterdir()) == [".git", ".gitignore", "index.json", "projects"]
    assert_sound(store.home)


@pytest.mark.requirement("KB-028")
def test_a_document_keeps_each_byte_also_those_that_are_no_text_and_has_its_git_version(store: KnowledgeStore) -> None:
    create(store)
    text = "\ufeff---\r\ntitle: x\r\n---\r\n\r\n## A\r\nno final line end \u2028 \x0c"

    written = store.edit(PROJECT, "guide", rewrite(text), AGENT)

    stored = store.reader.document(PROJECT, "guide")
    assert stored.document.text == text
    blob = git(store.home, "rev-parse", f"HEAD:{written['filepath']}").strip()
    assert stored.info.version == written["version"] == blob
    path = store.home / written["filepath"]
    assert path.read_bytes() == text.encode()
    assert git(store.home, "status", "--porcelain") == ""

    path.write_bytes(b"\xff\xfe broken\n\n## A\n\nx\n\n## B\n\n\xe9\n")
    store.edit(PROJECT, "guide", update_part(ChapterName("A"), "new"), AGENT)
    assert path.read_bytes() == b"\xff\xfe broken\n\n## A\n\nnew\n\n## B\n\n\xe9\n"
    assert "\ufffd" in store.reader.document(PROJECT, "guide").document.text


def test_a_write_that_expects_another_version_is_a_conflict(store: KnowledgeStore) -> None:
    first = create(store)["version"]
    second = store.edit(PROJECT, "guide", update_part(ChapterName("First"), "mine"), AGENT, first)["version"]
    store.write_main(PROJECT, "first", AGENT, "")  # an empty version expects a new document

    assert_each_fails(
        Conflict,
        lambda: store.edit(PROJECT, "guide", update_part(ChapterName("First"), "yours"), AGENT, expected_version=first),
        lambda: store.edit(PROJECT, "guide", rewrite("yours"), AGENT, first),
        lambda: store.delete_document(PROJECT, "guide", AGENT, first),
        lambda: store.write_main(PROJECT, "yours", AGENT, first),
        lambda: store.write_main(PROJECT, "second", AGENT, ""),
    )

    assert store.reader.document(PROJECT, "guide").info.version == second
    assert store.reader.main(PROJECT)["content"] == "first"


def test_a_write_without_changes_makes_no_commit(store: KnowledgeStore) -> None:
    create(store, "guide", "A", "B")
    writes: list[Callable[[], Any]] = [
        lambda: store.write_main(PROJECT, "x", AGENT),
        lambda: store.edit(PROJECT, "guide", update_part(ChapterName("A"), "new"), AGENT),
    ]
    for write in writes:
        first, again = write(), write()
        assert (again["version"], again["commit"]) == (first["version"], None)
    assert len(messages(store.home)) == 3


@pytest.mark.requirement("KB-005", "KB-007")
def test_projects_with_the_same_slug_have_separate_folders_also_after_a_deletion(store: KnowledgeStore) -> None:
    def folders() -> list[tuple[str, str]]:
        return [(project.id, str(project.slug)) for project in store.reader.projects()]

    for name in ("My App", "my-app", "my app!", "日本"):
        store.write_main(name, name, AGENT)
    others = [("My App", "my-app"), ("my app!", "my-app-2"), ("日本", "日本")]
    assert folders() == sorted([*others, ("my-app", "my-app-1")])

    store.delete_project("my-app", AGENT)
    assert folders() == others
    assert [store.reader.main(name)["content"] for name in ("My App", "my-app", "my app!")] == ["My App", "", "my app!"]
    for name in ("MY APP", "my-app"):
        store.write_main(name, name, AGENT)
    assert folders() == sorted([*others, ("my-app", "my-app-1"), ("MY APP", "my-app-3")])


@pytest.mark.requirement("KB-048")
def test_hostile_file_names_are_rejected_by_every_method_and_write_nothing(store: KnowledgeStore) -> None:
    written = store.home / create(store, "ok")["filepath"]
    uses: list[Callable[[str], object]] = [
        lambda name: create(store, name),
        lambda name: store.reader.document(PROJECT, name),
        lambda name: store.delete_document(PROJECT, name, AGENT),
        lambda name: store.edit(PROJECT, name, rewrite("x"), AGENT),
        lambda name: store.paths(PROJECT, name),
    ]
    for use, name in itertools.product(uses, HOSTILE_FILENAMES):
        with pytest.raises(InvalidFilename):
            use(name)
    assert [*store.home.parent.rglob("*.md")] == [written]


@pytest.mark.requirement("KB-022")
def test_sanitized_names_are_found_by_their_original_form_and_taken_only_once(store: KnowledgeStore) -> None:
    for name in dict.fromkeys(SAFE_FILENAMES.values()):
        create(store, next(given for given, safe in SAFE_FILENAMES.items() if safe == name))

    for given, safe in SAFE_FILENAMES.items():
        assert store.reader.document(PROJECT, given).info.filename == safe
        with pytest.raises(FileExists):
            create(store, given)
    with pytest.raises(FileExists):
        create(store, "Api Guide.md")
    assert_sound(store.home)


@pytest.mark.requirement("KB-063")
def test_symlinks_in_the_folder_are_not_followed(store: KnowledgeStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.md").write_text("secret", encoding="utf-8")
    (outside / "x.md").write_text("secret", encoding="utf-8")
    create(store, "real")
    store.write_main("other", "x", AGENT)
    knowledge = store.home / "projects" / "my-app" / "knowledge"
    (knowledge / "link.md").symlink_to(outside / "x.md")
    (knowledge / "dangling.md").symlink_to(outside / "new.md")
    (store.home / "projects" / "my-app" / "main.md").symlink_to(outside / "main.md")
    (store.home / "projects" / "other" / "main.md").unlink()
    (store.home / "projects" / "other").rmdir()
    (store.home / "projects" / "other").symlink_to(outside)

    assert [document.filename for document in store.listing.documents(PROJECT)] == ["real.md"]
    assert_each_fails(
        InvalidPath,
        lambda: store.reader.document(PROJECT, "link"),
        lambda: store.reader.main(PROJECT),
        lambda: store.reader.main("other"),
        lambda: store.listing.documents("other"),
        lambda: store.write_main(PROJECT, "x", AGENT),
        lambda: store.write_main("other", "x", AGENT),
        lambda: store.edit(PROJECT, "link", rewrite("x"), AGENT),
        lambda: create(store, "new", project="other"),
        lambda: store.delete_project("other", AGENT),
    )
    for name in ("link", "dangling"):
        with pytest.raises((FileExists, InvalidPath)):
            create(store, name)
    store.delete_project(PROJECT, AGENT)
    assert sorted(path.name for path in outside.iterdir()) == ["main.md", "x.md"]
    assert {path.read_text(encoding="utf-8") for path in outside.iterdir()} == {"secret"}


@pytest.mark.parametrize("is_link", [False, True], ids=["a file with the path", "a symlink"])
def test_a_git_folder_that_is_elsewhere_is_rejected(home: Path, tmp_path: Path, is_link: bool) -> None:
    outside = tmp_path / "elsewhere"
    home.mkdir()
    outside.mkdir()
    if is_link:
        (home / ".git").symlink_to(outside)
    else:
        (home / ".git").write_text("gitdir: ../elsewhere\n", encoding="utf-8")

    with pytest.raises(InvalidPath if is_link else LoreError):
        KnowledgeStore(home).write_main(PROJECT, "x", AGENT)
    assert not list(outside.iterdir())


def test_files_that_only_look_like_documents_are_neither_listed_nor_opened(store: KnowledgeStore) -> None:
    folder = (store.home / create(store)["filepath"]).parent
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"\xff.md")).touch()

    assert [document.filename for document in store.listing.documents(PROJECT)] == ["guide.md"]
    for name in ("folder", "pipe"):
        with pytest.raises(InvalidPath):
            store.reader.document(PROJECT, name)
        with pytest.raises(InvalidPath):
            store.edit(PROJECT, name, rewrite("x"), AGENT)


def test_a_folder_without_a_repository_becomes_a_repository_with_all_its_files(tmp_path: Path) -> None:
    home = seed_store(tmp_path / "seed")
    shutil.rmtree(home / ".git")

    KnowledgeStore(home).open()

    names = git(home, "ls-files").splitlines()
    assert len(names) == 6
    assert "activity.log" not in names
    assert_sound(home)


def test_a_folder_of_the_original_opens_unchanged_and_keeps_its_layout(tmp_path: Path) -> None:
    home = seed_store(tmp_path / "seed")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file() and ".git" not in path.parts}
    store = KnowledgeStore(home)

    assert not store.open()
    assert [project.id for project in store.reader.projects()] == ["My App", "git@host:team/other.git"]
    assert store.reader.main("My App")["content"].startswith("# My App\r\n")
    assert [
        (document.filename, document.title, document.metadata.keywords)
        for document in store.listing.documents("My App")
    ] == [("API_Notes.md", "API_Notes", ()), ("api-guide.md", "API Documentation Guide", ("api", "rest"))]
    assert store.reader.document("My App", "API_Notes.md").document.introduction == "no front matter"
    assert before == {path: path.read_bytes() for path in before}
    assert len(messages(home)) == 1

    store.edit("My App", None, update_part(SectionName("## Build"), "ninja"), AGENT)
    store.edit("My App", "api-guide", update_part(ChapterName("Errors"), "Some."), AGENT)
    store.write_main("git@host:team/other.git", "x", AGENT)

    assert (home / "projects" / "git-host-team-other-git" / "main.md").read_text(encoding="utf-8") == "x"
    assert store.history.branch == "master"
    assert len(store.history.log()) == 4
    assert_sound(home)


@pytest.mark.parametrize("front", ["a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]", "a: !!python/name:os.system", "{" * 5000])
@pytest.mark.requirement("KB-084")
def test_hostile_front_matter_is_listed_with_its_problem_and_can_be_edited(store: KnowledgeStore, front: str) -> None:
    path = store.home / create(store)["filepath"]
    path.write_text(f"---\ntitle: x\n{front}\n---\n\n## A\n\nold\n", encoding="utf-8")

    assert store.listing.documents(PROJECT)[0].metadata.problem
    store.edit(PROJECT, "guide", update_part(ChapterName("A"), "new"), AGENT)

    assert path.read_text(encoding="utf-8") == f"---\ntitle: x\n{front}\n---\n\n## A\n\nnew\n"


@pytest.mark.requirement("KB-053")
def test_a_damaged_index_is_an_error_that_names_it_and_nothing_is_overwritten(store: KnowledgeStore) -> None:
    create(store)
    (store.home / "index.json").write_text("{", encoding="utf-8")

    for act in (store.reader.projects, lambda: store.reader.main("new"), lambda: store.write_main("new", "x", AGENT)):
        with refused(StorageError, match="cannot be read", hint="index.json"):
            act()
    assert (store.home / "index.json").read_text(encoding="utf-8") == "{"


def test_a_listing_includes_changes_made_in_place(store: KnowledgeStore) -> None:
    path = store.home / create(store)["filepath"]
    assert store.listing.documents(PROJECT)[0].title == "Guide"
    for title in ("Aaaaa", "Bbbbb", "Ccccc"):
        path.write_text(f"---\ntitle: {title}\n---\n", encoding="utf-8")
        assert store.listing.documents(PROJECT)[0].title == title


def test_threads_queue_like_processes_and_time_out_at_the_deadline(tmp_path: Path) -> None:
    store = KnowledgeStore(tmp_path / "home", wait_seconds=0.05)
    with store.writing():
        for other in (store, KnowledgeStore(store.home, wait_seconds=0.05)):
            with pytest.raises(Busy):
                other.write_main(PROJECT, "x", AGENT)

    store = KnowledgeStore(tmp_path / "home", wait_seconds=300)
    create(store)
    parts = [add_part(ChapterName(f"T{number}"), "x") for number in range(8)]
    threads = [threading.Thread(target=store.edit, args=(PROJECT, "guide", part, AGENT)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.reader.document(PROJECT, "guide").document.chapters) == 10


@contextmanager
def git_in(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a git process in a folder, which waits for its input."""
    with subprocess.Popen(
        ["git", "hash-object", "--stdin"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        name = Path(f"/proc/{process.pid}/comm")
        wait_until(lambda: name.read_text(encoding="utf-8") == "git\n")  # Popen returns a moment before that
        yield process


def test_a_concurrent_git_command_of_the_user_is_waited_for(tmp_path: Path) -> None:
    store = KnowledgeStore(tmp_path / "home", wait_seconds=0.05)
    create(store)
    lock = store.home / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (time.time() + 60, time.time() + 60))  # however slow this machine is
    with pytest.raises(Busy, match="Git is running"):  # by a program that is not called git, a moment ago
        store.write_main(PROJECT, "x", AGENT)

    os.utime(lock, (0, 0))
    with git_in(store.home), pytest.raises(Busy, match="Git is running"):
        store.write_main(PROJECT, "x", AGENT)
    assert lock.exists()


@pytest.mark.parametrize(
    ("name", "place"),
    [("index", ""), ("index", "elsewhere"), ("index", "."), ("HEAD", ""), ("refs/heads/main", "")],
)
def test_the_lock_of_a_git_process_that_was_killed_is_removed(tmp_path: Path, name: str, place: str) -> None:
    """The lock outlives git, whoever started it; git processes in other folders do not matter."""
    store = KnowledgeStore(tmp_path / "home", wait_seconds=0.05)
    create(store)
    (tmp_path / "elsewhere").mkdir()
    with git_in(store.home) as editing:
        lock = store.home / ".git" / f"{name}.lock"
        lock.touch()
        editing.kill()
    os.utime(lock, (0, 0))

    with ExitStack() as running:
        if place:
            running.enter_context(git_in(tmp_path / place))
        store.write_main(PROJECT, "x", AGENT)

    assert_sound(store.home)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.promise(2)
def test_an_error_of_the_system_during_a_write_is_reported_with_a_hint(tmp_path: Path) -> None:
    """No file may grow in this process, so each write fails in the system: EFBIG, as a failing disk gives EIO."""
    create(KnowledgeStore(tmp_path / "home"))
    done = run(FAILING_DISK, tmp_path / "home")
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_every_use_of_a_lock_file_that_fails_is_a_storage_error(tmp_path: Path) -> None:
    lock = StoreLock(tmp_path / "lore.lock", 1.0)
    uses: list[Callable[[], object]] = [lambda: lock.note("x"), lock.read_note]
    for use in uses:
        with pytest.raises(StorageError) as failed, lock.hold():
            os.close(lock.descriptor)
            use()
        assert failed.value.hint
    with lock.hold():  # and it can be used again
        lock.note("")


def test_a_branch_locked_briefly_by_git_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(git_command._OPTIONS, "core.filesRefLockTimeout", "120000")
    store = KnowledgeStore(tmp_path / "home")
    main = store.home / create(store)["filepath"].replace("knowledge/guide.md", "main.md")
    lock = store.home / ".git" / "refs" / "heads" / "main.lock"
    with store.writing():
        lock.touch()  # like another git process at this moment
        writer = threading.Thread(target=store.commit, args=({"projects/my-app/main.md": b"x"}, "x", AGENT))
        writer.start()
        wait_until(main.exists)  # which is written before the branch is moved
        lock.unlink()
        writer.join()

    assert messages(store.home)[-1] == "x"
    assert_sound(store.home)
