"""Keep the memory of a long-running process small, and exempt permanent objects from garbage collection."""

from __future__ import annotations

import ctypes
import gc
import sys

M_ARENA_MAX = -8  # glibc's number for `mallopt`
HEAPS = 2  # of glibc's allocator: one per thread, its default, keeps what each finished job has freed
NEW_OBJECTS = 20_000  # a search creates some 5,000 and frees as many; by default, 700 start a collection


def limit_heaps() -> None:
    """Let all threads share a few heaps; call this before threads start. Only glibc has a heap for each thread."""
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(M_ARENA_MAX, HEAPS)


def release_unused_memory() -> bool:
    """Give freed memory back and return whether that worked; only glibc keeps it and can give it back on request."""
    gc.collect()
    if sys.platform != "linux":
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # absent from musl
    return trim is not None and trim(0) == 1


def keep_present_objects() -> None:
    """Exempt all existing objects from garbage collection, which delays searches, and collect others rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
