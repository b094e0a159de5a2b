"""Count the work of a call instead of timing it, so that the result does not depend on the machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Run the call and return the number of Python lines and C functions that it ran in this thread."""
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
