"""Measure a knowledge folder with many documents: `python -m benchmarks.knowledge [--documents 1000]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.main_job import row
from lore_server.knowledge.chapter_edit import ChapterName, NewChapter, new_document, update_part
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.store import KnowledgeStore
from lore_server.services.knowledge_library import Library
from lore_server.services.project_service import ProjectService

AUTHOR = Author("benchmark")
PROJECT = "benchmark"
CHAPTERS = 5
WORDS = "knowledge that agents write is kept in documents with chapters and a history " * 12


def percentiles(act: Callable[[int], object], calls: int) -> str:
    """Return the median and the 95th percentile in milliseconds."""
    times = []
    for number in range(calls):
        started = time.perf_counter()
        act(number)
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    return f"{times[calls // 2]:.1f} ms, p95 {times[int(calls * 0.95)]:.1f} ms"


def fill(store: KnowledgeStore, documents: int) -> str:
    """Create one document as callers do, copy it, commit the copies with a sync, and return the sync's duration."""
    chapters = tuple(NewChapter(f"Chapter {n}", WORDS) for n in range(CHAPTERS))
    text = new_document("A", "B", ("c",), chapters, store.now())
    path = store.home / store.create_document(PROJECT, "doc-0", text, AUTHOR)["filepath"]
    for number in range(1, documents):
        (path.parent / f"doc-{number}.md").write_bytes(path.read_bytes().replace(b"title: A", b"title: A%d" % number))
    started = time.perf_counter()
    store.sync(AUTHOR)
    return f"{time.perf_counter() - started:.2f} s"


def by_command_line(home: Path, number: int) -> None:
    """Make the same change with `git add` and `git commit`, for comparison."""
    path = f"projects/benchmark/knowledge/doc-{number}.md"
    with open(home / path, "a", encoding="utf-8") as file:
        file.write("more\n")
        file.flush()
        os.fsync(file.fileno())
    git = ["git", "-c", "user.name=b", "-c", "user.email=b@localhost", "-c", "maintenance.auto=false"]
    subprocess.run([*git, "add", "--", path], cwd=home, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "b", "--", path], cwd=home, check=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--calls", type=int, default=200)
    values = options.parse_args()
    documents, calls = values.documents, values.calls
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        row(f"commit {documents} documents", fill(KnowledgeStore(home), documents))
        store = KnowledgeStore(home)
        row("open", percentiles(lambda _: store.open(), 10))
        row("list, the first time", percentiles(lambda _: KnowledgeStore(home).listing.documents(PROJECT), 3))
        row("list", percentiles(lambda _: store.listing.documents(PROJECT), calls))
        row(
            "read a document",
            percentiles(lambda n: store.reader.document(PROJECT, f"doc-{n % documents}").document.chapters, calls),
        )
        chapter = ChapterName("Chapter 2")

        def update(number: int) -> None:
            store.edit(PROJECT, f"doc-{number % documents}", update_part(chapter, f"text {number}"), AUTHOR)

        def create(number: int) -> None:
            text = new_document("A", "B", (), (), store.now())
            store.create_document(PROJECT, f"new-{number}", text, AUTHOR)

        row("update a chapter", percentiles(update, calls))
        row("create a document", percentiles(create, calls))
        row("list after a write", percentiles(lambda n: listed_after(store, n), calls // 4))
        row("delete a document", percentiles(lambda n: store.delete_document(PROJECT, f"new-{n}", AUTHOR), calls))
        row(
            "history of a document",
            percentiles(lambda n: store.history.log(store.paths(PROJECT, f"doc-{n}")), 20),
        )
        storage = ProjectService(Library(home, home))
        row("status", percentiles(lambda _: storage.status(), 20))
        row("git add, git commit", percentiles(lambda n: by_command_line(home, n % documents), calls // 4))


def listed_after(store: KnowledgeStore, number: int) -> None:
    """Write a document and list the documents."""
    store.edit(PROJECT, "doc-1", update_part(ChapterName("Chapter 1"), f"again {number}"), AUTHOR)
    store.listing.documents(PROJECT)


if __name__ == "__main__":
    main()
