"""Measure a process during many syncs and requests: `python -m benchmarks.soak [--syncs 300] [--requests 5000]`.

Prints descriptors, threads and resident memory of the process at the start and the end of each phase, and the slope of
memory, by least squares over the second half. The model is the tests' stand-in; Chroma, tantivy and SQLite are real.
With `MALLOC_ARENA_MAX=1` in the environment, glibc keeps no heaps for threads, so only the program's memory counts.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.harness.soak import Usage, slope, soak


def row(name: str, samples: Sequence[Usage], steps: int, per: int) -> str:
    """Return a row of the table."""
    first, last = samples[0], samples[-1]
    most = f"{max(sample.descriptors for sample in samples)} | {first.threads} | {last.threads}"
    memory = (
        f"{first.kilobytes / 1024:,.0f} | {last.kilobytes / 1024:,.0f} | {slope(samples, steps) * per:,.0f} per {per:,}"
    )
    return f"| {steps:,} {name} | {first.descriptors} | {last.descriptors} | {most} | {memory} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=1_100)
    options.add_argument("--syncs", type=int, default=300)
    options.add_argument("--requests", type=int, default=5_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        for variable in ("LORE_HOME", "LORE_STATE", "XDG_CONFIG_HOME"):
            os.environ[variable] = str(Path(folder, variable))
        soaked = soak(Path(folder, "project"), given.pages, given.syncs, given.requests)
    print("| phase | descriptors, start | end | maximum | threads, start | end | RSS MB, start | end | slope, KB |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(row("syncs", soaked.after_syncs, given.syncs, 100))
    print(row("requests", soaked.after_requests, given.requests, 1_000))


if __name__ == "__main__":
    main()
