"""Check a fault at every write of an operation."""

import re
import traceback
from collections.abc import Callable

from tests.harness.faults import RAISED, Outcome

VARYING = re.compile(r"(?<=\.git/t)\w{6}$|(?<=tmp_obj_)\w+|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}|\d+")
ENDINGS = (0, RAISED, -9)
"""Success, an error that users can read, and the kill."""


def sweep(
    prepare: Callable[[int], object],
    run: Callable[[int], Outcome],
    check: Callable[[Outcome], list[str]],
    first: int = 1,
    step: int = 1,
) -> list[str]:
    """Return what is wrong after a fault at the first write, at each later one, until the operation ends without one.

    With `step`, only every nth write is met.
    """
    found, at, outcome = list[str](), first, None
    while outcome is None or outcome.call:
        prepare(at)
        outcome = run(at)
        problems = [outcome.error] if outcome.code not in ENDINGS else []
        if problems := problems + check(outcome):
            found.append(f"n={at} {outcome.call} {VARYING.sub('#', outcome.path)}: {'; '.join(problems)[-600:]}")
        at += step
    return found


def last_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:150]} at {traceback.extract_tb(error.__traceback__)[-1].name}"
