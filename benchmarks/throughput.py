"""Compare a first sync with the bare model on the same chunks: `python -m benchmarks.throughput [--package starlette]`.

The bare model embeds all chunks at once, sorted by length, and stores nothing. Run it on a quiet machine: the ratio of
processor time is meaningful on a busy machine too, that of wall time is not.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.main_job import package_copy, row
from lore_etl.chunking.fit import embedding_input
from lore_etl.config.settings import Settings
from lore_etl.core.progress import silent
from lore_etl.files.redaction import redact
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Run an action and return its seconds of wall time and of processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--package", default="starlette")
    values = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME", "XDG_CACHE_HOME"):
            os.environ[name] = str(folder / name)
        with closing(Index(package_copy(values.package, folder), Settings())) as index:
            index.own()
            index.prepare_model(silent)
            index.embedder.embed([redact("warm up")[0]])  # loads the model, and compiles the rules of secrets
            synced = timed(lambda: sync(index))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1_000_000
            texts = list(
                {chunk.content_hash: embedding_input(chunk) for chunk in index.catalogue.every_chunk()}.values()
            )
            bare = timed(lambda: index.embedder.embed(texts))
    row("chunks with distinct texts", str(len(texts)))
    row("peak memory of the sync", f"{peak:.0f} MB")
    for name, (wall, processor) in (("first sync", synced), ("bare model", bare)):
        row(name, f"{wall:.1f} s ({len(texts) / wall:.1f} chunks/s), {processor:.1f} s of processor time")
    row(
        "**share of the bare model's throughput**",
        f"{bare[0] / synced[0]:.2f}, by processor time {bare[1] / synced[1]:.2f}",
    )


if __name__ == "__main__":
    main()
