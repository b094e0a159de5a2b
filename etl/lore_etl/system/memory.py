"""Return unused memory to the operating system, and keep the garbage collector away from objects that stay."""

from __future__ import annotations

import ctypes
import gc
import sys

NEW_OBJECTS = 20_000  # a search creates some 5,000 and frees as many; by default, 700 start a collection


def release_unused_memory() -> bool:
    """Return whether freed memory was given back; only glibc keeps it and can give it back on request."""
    gc.collect()
    if sys.platform != "linux":
        return False
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # absent from musl
    return trim is not None and trim(0) == 1


def keep_present_objects() -> None:
    """Exempt all present objects from garbage collection, and collect others rarely: both would delay searches."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
