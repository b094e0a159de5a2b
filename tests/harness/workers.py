"""Share expensive results between the workers of one test run."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """Return the path that `build` wrote: one worker builds it, the others wait."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    done = shared / f"{name}.done"
    with FileLock(shared / f"{name}.lock"):
        if not done.exists():
            build(shared / name)
            done.touch()
    return shared / name
