"""How much work a call is, counted and not timed: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Run the call; returns how many lines of Python and how many functions of C it ran in this thread."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return line

    def function(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "c_call"

    traced, profiled = sys.gettrace(), sys.getprofile()
    sys.settrace(line)
    sys.setprofile(function)
    try:
        call()
    finally:
        sys.settrace(traced)
        sys.setprofile(profiled)
    return count
