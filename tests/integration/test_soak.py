"""A long-running process leaks no descriptors, threads or memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.harness.commands import start_lore
from tests.harness.owners import stop_owners
from tests.harness.processes import run
from tests.harness.soak import Usage, edit_and_sync, slope

MANY_SYNCS, MANY_REQUESTS = 300, 5_000
pytestmark = pytest.mark.later
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
KILOBYTES_PER_EDIT = 1_000
ONE_HEAP = {"MALLOC_ARENA_MAX": "1"}  # otherwise glibc opens up to eight heaps per core, which looks like a leak


@pytest.mark.parametrize(
    ("pages", "syncs", "requests"),
    [(60, 20, 100), pytest.param(1_100, MANY_SYNCS, MANY_REQUESTS, marks=pytest.mark.long)],
)
@pytest.mark.promise(25)
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


@pytest.mark.parametrize(("warm_up", "rounds"), [(8, 12), pytest.param(10, 100, marks=pytest.mark.long)])
@pytest.mark.promise(25)
def test_a_real_owner_grows_by_less_than_a_megabyte_with_each_edit_and_sync(
    tmp_path: Path, warm_up: int, rounds: int
) -> None:
    """The owner runs the real model with the allocator's defaults."""
    samples = edit_and_sync(tmp_path / "project", start_lore, warm_up + rounds)
    stop_owners(tmp_path)

    assert samples[-1] - samples[warm_up - 1] <= KILOBYTES_PER_EDIT * rounds


def growth(values: Sequence[int]) -> int:
    """Return how far the values rise above the first value."""
    return max(values) - values[0]
