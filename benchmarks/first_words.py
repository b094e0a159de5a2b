"""Print when the chunks of a first sync become searchable by keywords.

    python -m benchmarks.first_words [--files 2000]

The script creates the project of `benchmarks.edit`, with ten chunks per file, and stops before the first embedding. On
a busy machine, only processor time is meaningful.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.edit import write_tree
from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from tests.harness.models import own_cache

POLL_SECONDS = 0.1


class Complete(Exception):
    """Raised at the first embedding: all chunks are searchable by keywords."""


def stop_at_embedding(stage: str, done: int, total: int) -> None:
    if stage == "embedding":
        raise Complete


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def watch(index: Index, is_over: threading.Event) -> None:
    """Print a line whenever more chunks are searchable by keywords."""
    started, processor, before = time.perf_counter(), processor_seconds(), 0
    while not is_over.wait(POLL_SECONDS):
        searchable = index.catalogue.total()
        if searchable != before:
            before = searchable
            used = processor_seconds() - processor
            row(
                f"{searchable:,} chunks searchable",
                f"{time.perf_counter() - started:.1f} s, {used:.1f} s of processor time",
            )
    row(
        "until the first embedding",
        f"{time.perf_counter() - started:.1f} s, {processor_seconds() - processor:.1f} s of processor time",
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=2_000)
    values = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        cache = own_cache(folder / "cache")
        for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
            os.environ[name] = str(folder / name)
        os.environ["LORE_CACHE"] = str(cache)
        write_tree(folder / "project", values.files)
        with closing(Index(folder / "project", Settings())) as index:
            index.own()
            is_over = threading.Event()
            watcher = threading.Thread(target=watch, args=(index, is_over))
            watcher.start()
            with suppress(Complete):
                sync(index, stop_at_embedding)
            is_over.set()
            watcher.join()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        row("peak memory", f"{peak:.0f} MB")


if __name__ == "__main__":
    main()
