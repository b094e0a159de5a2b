"""The memories of a project: unique in their group, each write a commit, also under concurrency and kills."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lore_etl.core.errors import InvalidPath, MemoryNotFound
from lore_server.knowledge.git.history import INTERRUPTED
from lore_server.knowledge.memory_store import MemoryStore, new_memory
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import AGENT, PROJECT, assert_sound, create, git, messages
from tests.harness.processes import child, hear, tell

if TYPE_CHECKING:
    from lore_server.replies.records import MemoryAddedRecord

NOW = "2026-01-02T03:04:05.000Z"
LONG = "".join(f"Line {number} of something long.\n\n" for number in range(900))
# adds a memory that another process adds at the same moment
ADDER = """
import sys
from pathlib import Path
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.memory_store import new_memory
from lore_server.knowledge.memory_store import MemoryStore
from lore_server.knowledge.store import KnowledgeStore
memories = MemoryStore(KnowledgeStore(Path(sys.argv[1]), wait_seconds=600))
print("ready", flush=True)
for line in sys.stdin:
    done = memories.add("My App", new_memory(sys.argv[2], "g", line * 1000, "", {}, ""), Author(sys.argv[2]))
    print(done["id"], done["duplicate"], done["parts"], flush=True)
"""

KILLED = f"""
import os, signal, sys
left = 5
def watch(event, given):
    global left
    if event == "os.rename" and str(given[1]).endswith(".md"):
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
{ADDER}"""
"""Dies before its fifth file has its name."""


@pytest.fixture
def memories(home: Path) -> MemoryStore:
    return MemoryStore(KnowledgeStore(home))


def add(
    memories: MemoryStore, name: str = "A name", body: str = "A body.\n", group: str = "g", **more: str | None
) -> MemoryAddedRecord:
    return memories.add(PROJECT, new_memory(name, group, body, "", {}, NOW), AGENT, **more)


def files(home: Path) -> list[str]:
    return sorted(path.relative_to(home).as_posix() for path in home.glob("projects/*/memories/**/*.md"))


def of(home: Path, *added: MemoryAddedRecord) -> list[str]:
    """Return the files of memories."""
    stems = [f"projects/my-app/memories/{one['id']}." for one in added]
    return [path for path in files(home) if path.startswith(tuple(stems))]


def test_a_memory_is_a_file_with_the_projects_knowledge_and_a_commit(home: Path, memories: MemoryStore) -> None:
    create(KnowledgeStore(home))

    done = add(memories)

    path = f"projects/my-app/memories/g/a-name-{done['sha256'][:12]}.md"
    assert (done["id"], done["path"], done["parts"]) == (f"g/a-name-{done['sha256'][:12]}", path, 1)
    assert (home / path).read_text(encoding="utf-8").endswith("---\nA body.\n")
    last = git(home, "log", "-1", "--format=%H %an %s")
    assert last == f"{done['commit']} claude Update knowledge for {PROJECT}: Remembered 'A name'\n"
    assert_sound(home)


def test_the_same_body_in_a_group_is_not_written_again_under_another_name(home: Path, memories: MemoryStore) -> None:
    for body in ("A body.\n", LONG):
        first, again = add(memories, body=body), add(memories, "Another name", body)

        assert (again["duplicate"], again["commit"], again["path"]) == (True, None, first["path"])
        assert not add(memories, body=body, group="G")["duplicate"]
    assert len(messages(home)) == 4


def test_a_long_memory_has_one_commit_and_id_and_is_deleted_with_all_parts(home: Path, memories: MemoryStore) -> None:
    done = add(memories, body=LONG)

    assert done["parts"] == len(files(home)) == 6
    stored, commit = memories.delete(PROJECT, done["id"], AGENT)
    assert (stored.id, stored.memory.body, files(home)) == (done["id"], LONG, [])
    assert [line.partition(": ")[2] for line in messages(home)] == ["Remembered 'A name'", "Forgot 'A name'"]
    KnowledgeStore(home).revert(commit, AGENT)
    assert len(files(home)) == 6
    assert_sound(home)


def test_a_newer_text_replaces_the_old_text_in_a_single_commit(home: Path, memories: MemoryStore) -> None:
    old = add(memories, body=LONG)

    new = add(memories, body="new", replaces=old["id"])
    gone = add(memories, body="newer", replaces=old["id"])

    assert (new["replaced"], gone["replaced"]) == (old["id"], None)
    assert files(home) == of(home, new, gone)
    assert len(messages(home)) == 3

    same = add(memories, "three", "new", replaces=gone["id"])  # a memory that exists: the other is only deleted
    assert (same["duplicate"], same["id"], same["replaced"]) == (True, new["id"], gone["id"])
    assert files(home) == [new["path"]]
    assert messages(home)[-1].endswith("Forgot 'A name'")


def test_a_memory_that_replaces_itself_gets_its_metadata_or_is_unchanged(home: Path, memories: MemoryStore) -> None:
    first = add(memories)

    same = add(memories, replaces=first["id"])
    renamed = add(memories, "New name", replaces=first["id"])
    newer = new_memory("New name", "g", "A body.\n", "", {"rating": 5}, NOW)
    rated = memories.add(PROJECT, newer, AGENT, renamed["id"])

    assert (same["duplicate"], same["commit"], same["replaced"]) == (True, None, None)
    assert (renamed["duplicate"], renamed["replaced"]) == (False, first["id"])
    assert rated["path"] == renamed["path"]
    assert "rating: 5" in (home / rated["path"]).read_text(encoding="utf-8")
    assert files(home) == [rated["path"]]


def test_a_memory_edited_by_hand_is_neither_overwritten_nor_unchanged(home: Path, memories: MemoryStore) -> None:
    first = add(memories)
    path = home / first["path"]
    path.write_text(path.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")

    again = add(memories)

    assert not again["duplicate"]
    assert again["id"] == f"g/a-name-{again['sha256']}"
    assert path.read_text(encoding="utf-8").endswith("By hand.\n")
    assert add(memories)["duplicate"]
    memories.delete(PROJECT, first["id"], AGENT)
    assert files(home) == [again["path"]]
    assert "By hand." in git(home, "log", "-p", "--all")


def test_an_unknown_memory_id_is_not_found_and_nothing_is_changed(home: Path, memories: MemoryStore) -> None:
    create(KnowledgeStore(home))
    add(memories)
    (home / "projects/my-app/memories/link").symlink_to(home / "projects/my-app/knowledge")
    before = git(home, "rev-parse", "HEAD")

    nothing = "g/nothing-000000000000"
    for name in ("", "g", "g/", "/", nothing, "../knowledge/guide", "g/../g/x", "g/.hidden", "g\0/x", "link/x"):
        with pytest.raises(MemoryNotFound):
            memories.delete(PROJECT, name, AGENT)
    assert git(home, "rev-parse", "HEAD") == before


def test_symlinks_in_the_folder_of_memories_are_not_followed(home: Path, memories: MemoryStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    add(memories)
    folder = home / "projects/my-app/memories"
    (folder / "linked").symlink_to(outside)
    name = add(memories, "B", "b")["path"].rpartition("/")[2]
    (folder / "h").mkdir()
    (folder / "h" / name).symlink_to(outside / "x.md")

    for group, body in (("linked", "x"), ("h", "b")):
        with pytest.raises(InvalidPath):
            add(memories, "B", body, group)
    assert not list(outside.iterdir())


def test_two_processes_that_add_the_same_memory_concurrently_create_it_once(home: Path) -> None:
    with ExitStack() as stack:
        running = [stack.enter_context(child(ADDER, home, name)) for name in ("one", "two")]
        for process in running:
            assert hear(process) == "ready\n"
        for text in ("a\n", "bb bb bb\n"):
            for process in running:
                tell(process, text)
            replies = [hear(process).split() for process in running]
            assert replies[0][0] == replies[1][0]
            assert sorted(line[1] for line in replies) == ["False", "True"]
    assert len(messages(home)) == 2
    assert len(files(home)) == 1 + 2
    assert_sound(home)


def test_a_memory_that_a_killed_writer_left_incomplete_is_added_again(home: Path, memories: MemoryStore) -> None:
    line = "word " * 50 + "\n"
    add(memories)
    with child(KILLED, home, "writer") as writer:
        assert writer.communicate(line, timeout=120)[0] == "ready\n"
    assert len(files(home)) == 1 + 4  # of 52; they are written one after another

    done = add(memories, "writer", line * 1000)

    assert not done["duplicate"]
    assert files(home) == of(home, done, add(memories))
    assert add(memories, "writer", line * 1000)["duplicate"]
    assert messages(home)[1].startswith(INTERRUPTED)
    assert_sound(home)
