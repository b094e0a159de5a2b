"""Memory that a sync used is returned to the operating system."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from lore_etl.system.processes import keep_present_objects, release_unused_memory

FRAGMENTED = """
from pathlib import Path
from lore_etl.system.processes import release_unused_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

start = resident()
pieces = [bytearray(2_000) for _ in range(60_000)]
kept = pieces[::1_000]
del pieces
before = resident()
assert release_unused_memory()
print(start, before, resident())
"""


@pytest.fixture
def collections() -> Iterator[list[str]]:
    """Count the collections that start during a test."""
    found: list[str] = []
    thresholds = gc.get_threshold()

    def count(phase: str, info: dict[str, int]) -> None:
        found.append(phase)

    gc.callbacks.append(count)
    yield found
    gc.callbacks.remove(count)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_the_objects_of_a_search_start_no_garbage_collection(collections: list[str]) -> None:
    keep_present_objects()
    collections.clear()
    objects = [{"number": [number]} for number in range(2_500)]

    assert len(objects) == 2_500
    assert not collections


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps freed memory")
def test_freed_memory_between_memory_in_use_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, check=True)

    start, before, after = map(int, done.stdout.split())
    assert after - start < (before - start) / 2


def test_systems_without_the_call_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert release_unused_memory() is False
