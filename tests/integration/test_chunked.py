"""Child processes chunk the documents of a large project exactly as this process does, and nothing depends on them."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lore_etl.chunking.tokens import TokenCounter
from lore_etl.core.model import Document, FrontMatter
from lore_etl.pipeline.chunked import BATCH_CHARACTERS, Chunked, all_chunked, chunked
from lore_etl.system.processes import born
from tests.harness.models import counter
from tests.harness.owners import wait_until
from tests.harness.processes import child, hear
from tests.harness.texts import document

pytestmark = pytest.mark.later

MANY = 5_000  # more documents than a test has
LONG = "\n\n".join(f"## Part {n}\n\n{'harbour master ' * 40}" for n in range(60))
TEXTS = {
    "a.md": f"# Boats\n\n{LONG}\n",
    "b.py": "import a\n\n\nclass Boat(a.Vessel):\n" + "".join(f"    sail{n} = {n}\n" for n in range(900)),
    "c.js": "export class Ship extends Boat { sail() { return 1 } }\n",
    "d.py": "def broken(:\n",
    "e.txt": "",
}


class Fatal:
    """Ends the process that receives it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


class Waiting:
    """Stops the process that receives it until another one opens the FIFO."""

    def __init__(self, fifo: Path) -> None:
        self._fifo = fifo

    def __reduce__(self) -> tuple[Any, ...]:
        return os.open, (str(self._fifo), os.O_RDONLY)


class Releasing(Document):
    """Opens the FIFO when it is chunked, whether or not another process waits for that."""

    @property
    def lines(self) -> list[str]:
        opened = self.front.values["opened"]
        assert isinstance(opened, list)
        opened.append(os.open(str(self.front.values["fifo"]), os.O_RDWR))
        return super().lines


def documents(rounds: int = 2, front: dict[str, object] | None = None) -> Iterator[Document]:
    """Yield enough documents for several batches."""
    copies = BATCH_CHARACTERS // len(LONG) * rounds
    for n in range(copies):
        for path, text in TEXTS.items():
            found = document(f"{n}/{path}", text)
            yield replace(found, front=FrontMatter(values=front)) if front and n == copies // 2 else found


def summary(found: Chunked) -> tuple[object, ...]:
    return [record.row() for record in found.records], found.facts, found.warning


@cache
def expected() -> list[tuple[str, tuple[object, ...]]]:
    return [(document.source, summary(chunked(document, counter()))) for document in documents()]


def running() -> set[str]:
    """Return the processes that this thread has started and that still run."""
    return set(Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("children", "front"),
    [(1, None), (2, None), (2, {"x": Fatal()}), (1, {"x": lambda: 0})],
    ids=["one", "two", "one dies", "one cannot be sent a document"],
)
def test_the_chunks_are_those_of_this_process_in_order(children: int, front: dict[str, object] | None) -> None:
    found = all_chunked(documents(front=front), counter, MANY, alone=4, children=children)

    assert [(document.source, summary(chunks)) for document, chunks in found] == expected()


def test_this_process_chunks_documents_instead_of_waiting_for_a_child(tmp_path: Path) -> None:
    fifo, opened = tmp_path / "fifo", list[int]()
    os.mkfifo(fifo)
    first, *others, last = documents(rounds=3)
    values = {field.name: getattr(last, field.name) for field in fields(last)}
    all_documents = [
        replace(first, front=FrontMatter(values={"x": Waiting(fifo)})),
        *others,
        Releasing(**values | {"front": FrontMatter(values={"fifo": fifo, "opened": opened})}),
    ]

    found = list(all_chunked(all_documents, counter, MANY, alone=0, children=1))  # otherwise this would wait forever

    for descriptor in opened:
        os.close(descriptor)
    assert opened
    assert [document for document, _ in found] == all_documents


def test_no_process_is_started_for_a_small_project_or_on_one_core() -> None:
    before = running()
    for alone, children in ((0, 0), (30, 1)):
        found = all_chunked(islice(documents(), 30), counter, 30, alone, children)
        assert {len(running() - before) for _ in found} == {0}


def test_neither_tokens_nor_children_are_needed_if_nothing_has_to_be_chunked() -> None:
    before, loaded = running(), list[bool]()

    def load() -> TokenCounter:
        loaded.append(True)
        return counter()

    assert list(all_chunked((), load, MANY, alone=4, children=1)) == []
    assert loaded == []
    assert_ended(before)


def test_children_work_before_and_while_this_process_reads_and_end_with_an_error_of_it() -> None:
    before, seen = running(), list[set[str]]()

    def reading() -> Iterator[Document]:
        for found in documents(rounds=3):
            seen.append(running() - before)
            yield found
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(all_chunked(reading(), counter, MANY, alone=4, children=2))

    assert {len(children) for children in seen} == {2}
    assert_ended(before)


def test_children_end_when_the_caller_stops() -> None:
    before = running()
    with closing(all_chunked(documents(rounds=3), counter, MANY, alone=4, children=2)) as found:
        list(islice(found, 5))
        assert len(running() - before) == 2

    assert_ended(before)


def assert_ended(before: set[str]) -> None:
    assert running() - before == set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("chunking")]


def test_children_end_when_this_process_is_killed() -> None:
    code = (
        "from itertools import islice\n"
        "from tests.integration.test_chunked import all_chunked, counter, documents, running\n"
        "found = all_chunked(documents(rounds=3), counter, 5_000, alone=4, children=2)\n"
        "list(islice(found, 5))\n"
        "print(*running(), flush=True)\n"
        "input()"
    )
    with child(code) as process:
        started = hear(process).split()
        assert len(started) == 2
        process.kill()

    wait_until(lambda: not any(born(int(pid)) for pid in started))
