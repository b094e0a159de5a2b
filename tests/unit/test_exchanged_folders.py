"""Folders of a project are exchanged for symlinks while Lore looks at it: nothing outside the project is read.

Each operation runs once for each moment at which it opens or lists something, and the exchange happens at that moment.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_etl.files.ignore import rules_for
from lore_etl.files.indexed import ProjectFiles
from lore_etl.files.scan import Unreadable, walk
from lore_etl.pipeline.extraction import claim_of
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_server.framework.reading import DocReader
from lore_server.hook.memory_files import UnreadableMemory, find_memory_files, read_memory_file
from lore_server.library_docs.local_docs import docs_in_folder
from lore_server.setup import install
from tests.harness.projects import write_project

FOREIGN = "what the user keeps elsewhere"
INSIDE = {
    "sub/.lore/tickets/page.md": "inside",
    "sub/page.md": "inside", "sub/tool": "inside", "sub/deep/page.md": "inside", "sub/LEARNING/page.md": "inside",
    "sub/.gitignore": "kept.md\n", "sub/kept.md": "inside",
}  # fmt: skip
OUTSIDE = {
    ".lore/tickets/page.md": FOREIGN,
    "page.md": FOREIGN, "tool": "#!/bin/sh\n" + FOREIGN, "deep/page.md": FOREIGN, "LEARNING/page.md": FOREIGN,
    "kept.md": FOREIGN, "foreign.md": FOREIGN, "foreign/x.md": FOREIGN,
}  # fmt: skip
EVENTS = frozenset({"open", "os.scandir", "os.listdir"})


class Exchange:
    """Counts the moments at which something is opened or listed, and acts at one of them."""

    def __init__(self) -> None:
        self.seen = 0
        self.moment = -1
        self.act: Callable[[], None] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: tuple[object, ...]) -> None:
        if self.act is None or event not in EVENTS:
            return
        self.seen += 1
        if self.seen == self.moment:
            act, self.act = self.act, None
            act()
            self.act = lambda: None

    @contextmanager
    def at(self, moment: int, act: Callable[[], None]) -> Iterator[None]:
        self.seen, self.moment, self.act = 0, moment, act
        try:
            yield
        finally:
            self.act = None


EXCHANGE = Exchange()


def project_files(root: Path) -> ProjectFiles:
    return ProjectFiles(root, (), root / "sub" / ".lore")


def all_texts(root: Path) -> object:
    files = project_files(root)
    found, texts = files.scan(), {}
    files.settle(found)
    for path, entry in found.files.items():
        with suppress(Unreadable):
            texts[path] = files.read(entry, 1_000)
    return texts, found.refused


def stamps(root: Path) -> object:
    return project_files(root).stamps(["sub/page.md", "sub/foreign.md", "sub/foreign/x.md"])


def of_scripts(root: Path) -> object:
    files, sources = project_files(root), SourceSet(SourceContext((), lambda path: None), Settings().sources)
    claims = [claim_of(files, sources, entry, None) for entry in files.scan().files.values()]
    return [claim.name for claim in claims if claim and claim.is_script]


def of_memories(root: Path) -> object:
    found, texts = find_memory_files([root / "sub"]), []
    for file in found.files.values():
        with suppress(UnreadableMemory):
            texts.append(read_memory_file(file))
    return found.files.keys(), texts


def of_shown_documents(root: Path) -> object:
    reader, texts = DocReader(root, Settings(), project_files(root)), []
    for path in ("sub/page.md", "sub/deep/page.md"):
        with suppress(LoreError):
            texts.append(reader.user(path=path, max_tokens=1_000))
    return texts


def of_a_client(root: Path) -> object:
    text = None
    with suppress(LoreError):
        text = install.read(root / "sub/page.md", "page", root)
    with suppress(LoreError):
        install.write(root / "sub/page.md", "ours", "page", root)
    return text


OPERATIONS: dict[str, Callable[[Path], object]] = {
    "scan": lambda root: list(walk(root, rules_for(root, ())).files),
    "texts": all_texts,
    "stamps": stamps,
    "scripts": of_scripts,
    "memories": of_memories,
    "documents": of_shown_documents,
    "added documentation": docs_in_folder,
    "entry of a client": of_a_client,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.promise(19)
def test_nothing_outside_is_read_whenever_a_folder_is_exchanged_for_a_symlink(tmp_path: Path, operation: str) -> None:
    write_project(tmp_path / "outside", OUTSIDE)
    root, away = (tmp_path / "project").resolve(), tmp_path / "away"
    write_project(root, INSIDE)

    def exchange() -> None:
        (root / "sub").rename(away)
        (root / "sub").symlink_to(tmp_path / "outside")

    def restore() -> None:
        (root / "sub").unlink()
        away.rename(root / "sub")
        write_project(root, INSIDE)

    moment, foreign = 0, []
    while True:
        moment += 1
        with EXCHANGE.at(moment, exchange):
            found = repr(OPERATIONS[operation](root))
        if not away.exists():
            break
        restore()
        if FOREIGN in found or "foreign" in found or "tool.sh" in found:
            foreign.append((moment, found))
        assert {path: (tmp_path / "outside" / path).read_text(encoding="utf-8") for path in OUTSIDE} == OUTSIDE

    assert foreign == []
    assert moment > 1
