"""Several processes write to the same folder and some are killed; no acknowledged write is lost."""

import os
import random
import re
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from lore_server.knowledge.chapter_edit import ChapterName, add_part
from lore_server.knowledge.git.history import INTERRUPTED
from lore_server.knowledge.store import KnowledgeStore
from tests.harness.knowledge import AGENT, PROJECT, assert_sound, create, git, is_linear, messages
from tests.harness.processes import child, hear, tell
from tests.harness.trying import often

# each write increments a counter in a document with `expected_version`, and retries after a conflict
COUNTER = """
import sys
from pathlib import Path
from lore_etl.core.errors import Conflict
from lore_server.knowledge.chapter_edit import ChapterName, update_part
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.store import KnowledgeStore
store, name, count = KnowledgeStore(Path(sys.argv[1]), wait_seconds=300), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
done = 0
while done < count:
    stored = store.reader.document("My App", name)
    number = int(stored.document.chapter("Count").content)
    try:
        counted = update_part(ChapterName("Count"), str(number + 1))
        store.edit("My App", name, counted, Author(sys.argv[4]), expected_version=stored.info.version)
    except Conflict:
        continue
    done += 1
print("done", flush=True)
"""
# writes the numbers from `start` on and prints each acknowledged number; forks, so that a kill needs no restart
WRITER = """
import os, sys
from pathlib import Path
from lore_server.knowledge.chapter_edit import ChapterName, update_part
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.store import KnowledgeStore
print("ready", flush=True)
for line in sys.stdin:
    start = int(line)
    pid = os.fork()
    if not pid:
        store = KnowledgeStore(Path(sys.argv[1]), wait_seconds=600)
        os.write(1, b"pid %d\\n" % os.getpid())
        for number in range(start, start + 1000):
            store.edit("My App", "guide", update_part(ChapterName("Count"), str(number)), Author("writer"))
            os.write(1, b"wrote %d\\n" % number)
        os._exit(0)
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


FEW = [(3, 6, ["guide"]), (3, 6, ["a", "b", "c"])]
MANY = [(4, 100, ["guide"]), (4, 100, ["a", "b", "c", "d"])]


@pytest.mark.parametrize(("processes", "writes", "names"), often([*FEW, *MANY], FEW))
@pytest.mark.requirement("KB-078")
def test_concurrent_writers_lose_nothing(tmp_path: Path, processes: int, writes: int, names: list[str]) -> None:
    home = tmp_path / "home"
    store = KnowledgeStore(home)
    for name in names:
        create(store, name)
        store.edit(PROJECT, name, add_part(ChapterName("Count"), "0"), AGENT)
    begun = len(messages(home))
    with ExitStack() as stack:
        started = (child(COUNTER, home, names[n % len(names)], writes, f"agent {n}") for n in range(processes))
        running = [stack.enter_context(process) for process in started]
        for process in running:
            assert hear(process) == "ready\n"
        for process in running:
            tell(process, "go\n")
        for process in running:
            assert hear(process) == "done\n"
    counted = [int(store.reader.document(PROJECT, name).document.chapter("Count").content) for name in names]
    assert counted == [processes * writes // len(names)] * len(names)
    assert len(messages(home)) == begun + processes * writes
    agents = {f"agent {n}" for n in range(processes)}
    assert {commit.agent for commit in store.history.log(limit=5000)} == {"claude", *agents}
    assert is_linear(home)
    assert_sound(home)


@pytest.mark.parametrize("kills", often([6, 50], {6}))
@pytest.mark.requirement("KB-067")
def test_a_killed_writer_loses_no_acknowledged_write(tmp_path: Path, kills: int) -> None:
    """After each kill, the last acknowledged or the interrupted write exists, and the folder is consistent."""
    home = tmp_path / "home"
    store = KnowledgeStore(home)
    create(store)
    store.edit(PROJECT, "guide", add_part(ChapterName("Count"), "0"), AGENT)
    dice, last = random.Random(5), 0
    with child(WRITER, home) as writer:
        assert hear(writer) == "ready\n"
        for _ in range(kills):
            tell(writer, f"{last + 1}\n")
            pid = int(hear(writer).removeprefix("pid "))
            for _ in range(dice.randrange(1, 3)):
                last = int(hear(writer).removeprefix("wrote "))
            time.sleep(dice.uniform(0, 0.08))  # the moment of the kill; nothing waits for anything here
            os.kill(pid, signal.SIGKILL)
            while (line := hear(writer)) != "ended\n":
                last = int(line.removeprefix("wrote "))

            after = KnowledgeStore(home, wait_seconds=600)
            after.open()
            now = int(after.reader.document(PROJECT, "guide").document.chapter("Count").content)
            assert now in (last, last + 1)
            assert_sound(home)
            last = now
    commits = [line for line in messages(home) if "chapter 'Count' in" in line]
    assert len(commits) == last
    contents = git(home, "log", "-p", "--reverse", "--format=", "--", "projects/my-app/knowledge/guide.md")
    assert [int(found) for found in re.findall(r"^\+(\d+)$", contents, re.MULTILINE)] == list(range(last + 1))
    assert is_linear(home)
    assert all(line.startswith(("Update knowledge", INTERRUPTED)) for line in messages(home))
