"""Measure pulls of a project with 2,000 tickets from a tracker on this machine: `python -m benchmarks.pull`."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from lore_server.trackers.pull import PullRequest, pull
from tests.harness.tracker import Tracker, github, github_comment, github_issue, moment, running

TICKETS, COMMENTS = 2_000, 3_000


def tracker() -> Tracker:
    issues = [github_issue(number, body="The ferry waits for the tide. " * 20) for number in range(1, TICKETS + 1)]
    return github(issues, [github_comment(n, n % TICKETS + 1, "Seen again. " * 20, n) for n in range(1, COMMENTS + 1)])


def timed(name: str, folder: Path, address: str) -> None:
    started = time.perf_counter()
    report = pull(PullRequest("github", "acme/ferry", folder, address=address), lambda stage: None)
    seconds = time.perf_counter() - started
    print(f"{name}: {len(report.changed):,} files, {report.requests} requests, {seconds:.1f} s")


def killed_half_way(folder: Path, served: Tracker) -> None:
    """Pull in a child process that is killed at its 26th request."""
    child = os.fork()
    if not child:
        pull(PullRequest("github", "acme/ferry", folder, address=served.address), lambda stage: None)
        os._exit(0)
    while len(served.requests) < 26:
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main() -> None:
    served = tracker()
    with tempfile.TemporaryDirectory() as name, running(served) as address:
        folder = Path(name)
        timed("first pull", folder / "a", address)
        timed("second pull", folder / "a", address)
        served.lists["/repos/acme/ferry/issues"][4] = github_issue(5, updated=9_000, state="closed")
        timed("after one change", folder / "a", address)
        served.requests.clear()
        killed_half_way(folder / "b", served)
        print(f"killed after {len(served.requests)} requests, {len(list((folder / 'b').glob('issues/*.md'))):,} files")
        timed("continued", folder / "b", address)
        both = [{file.name: file.read_bytes() for file in (folder / key).glob("issues/*.md")} for key in "ab"]
        print("equal to an uninterrupted pull:", both[0] == both[1])
        served.instead = lambda number, path: (429, {"Retry-After": "1"}, {}) if number % 10 == 0 else None
        timed("rate limit of 1 s at every tenth request", folder / "c", address)
        served.lists["/repos/acme/ferry/issues"][4]["updated_at"] = moment(9_001)


if __name__ == "__main__":
    main()
