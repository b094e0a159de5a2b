"""A long-running process leaks no descriptors, threads or memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.processes import run
from tests.harness.soak import Usage, slope

MANY_SYNCS, MANY_REQUESTS = 300, 5_000
LIMIT = 256  # open descriptors: the default on macOS
CODE = """
import json, resource, sys
from dataclasses import asdict
from pathlib import Path
from tests.harness.soak import soak

limit, *numbers = map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
print(json.dumps(asdict(soak(Path(sys.argv[1]), *numbers))))
"""
POOLED_FILES = 18  # pools may still open these: 4 connections to the catalogue with two files each, and 10 of Chroma
POOLED_THREADS = 11  # a thread for each of Chroma's connections, and a joined thread that has not quite ended
KILOBYTES_PER_SYNC, KILOBYTES_PER_REQUEST = 50, 5
ONE_HEAP = {"MALLOC_ARENA_MAX": "1"}  # otherwise glibc opens up to eight heaps per core, which looks like a leak


@pytest.mark.parametrize(
    ("pages", "syncs", "requests"),
    [(60, 20, 100), pytest.param(1_100, MANY_SYNCS, MANY_REQUESTS, marks=pytest.mark.long)],
)
def test_syncs_and_requests_leak_no_descriptors_threads_or_memory(
    tmp_path: Path, pages: int, syncs: int, requests: int
) -> None:
    environment = {"LORE_HOME": str(tmp_path / "home"), **ONE_HEAP}

    done = run(CODE, tmp_path / "project", LIMIT, pages, syncs, requests, environment=environment, seconds=3_600)

    assert done.returncode == 0, done.stderr
    phases = {name: [Usage(**sample) for sample in samples] for name, samples in json.loads(done.stdout).items()}
    after_syncs, after_requests = phases["after_syncs"], phases["after_requests"]
    for samples in (after_syncs, after_requests):
        assert growth([sample.descriptors for sample in samples]) <= POOLED_FILES
        assert growth([sample.threads for sample in samples]) <= POOLED_THREADS
    if syncs == MANY_SYNCS:
        assert slope(after_syncs, syncs) < KILOBYTES_PER_SYNC
        assert slope(after_requests, requests) < KILOBYTES_PER_REQUEST


def growth(values: Sequence[int]) -> int:
    """Return how far the values rise above the first value."""
    return max(values) - values[0]
