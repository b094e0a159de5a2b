"""Measure what a call costs in a process of its own, so that nothing else counts."""

import json
import os
import resource
import sys
import traceback
from collections.abc import Callable
from typing import NamedTuple

from tests.harness.processes import run

QUIET = {"TOKENIZERS_PARALLELISM": "false"}  # its threads would not survive the fork


class Cost(NamedTuple):
    """Seconds of processor time, and megabytes of memory more than before the call."""

    seconds: float
    megabytes: float


def cost_of(call: Callable[[], object]) -> Cost:
    """Call it in a fork of this process, which must have a single thread, and return its cost."""
    nothing, used = _used_by(lambda: None), _used_by(call)
    return Cost(used.ru_utime + used.ru_stime, (used.ru_maxrss - nothing.ru_maxrss) / 1000)


def _used_by(call: Callable[[], object]) -> resource.struct_rusage:
    sys.stdout.flush()
    if not (pid := os.fork()):
        try:
            call()
            os._exit(0)
        finally:  # it raised an error, which only the process that forked may pass on
            traceback.print_exc()
            os._exit(1)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"The call ended with {os.waitstatus_to_exitcode(status)}.")
    return used


def costs(code: str, *arguments: object, seconds: float = 600) -> dict[str, Cost]:
    """Run code that prints a line of JSON for each case: its name and its cost."""
    done = run(code, *arguments, environment=QUIET, seconds=seconds)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: Cost(*cost) for name, cost in rows}


def print_cost(name: str, call: Callable[[], object]) -> None:
    """Print the cost of a call for `costs`."""
    sys.stdout.write(f"{json.dumps([name, cost_of(call)])}\n")
