"""Recurring jobs: a report every night at 02:30 UTC and a clean-up every quarter of an hour.

    python -m ferry.cli schedule examples.nightly_report:scheduler
    python -m ferry.cli work examples.nightly_report:queue

Start as many schedulers as you like; a slot is enqueued once.
"""

import time
from datetime import UTC, datetime

from ferry import DailyAt, Every, Queue, Scheduler

queue = Queue("sqlite:///var/ferry.db")
scheduler = Scheduler(queue)

WEEK = 7 * 86_400


@queue.task("report.nightly", timeout=600)
async def nightly_report(team: str) -> None:
    """Being a coroutine, it is cancelled after ten minutes by any worker."""
    print(f"report for {team} at {datetime.now(UTC):%Y-%m-%d %H:%M}")


@queue.task("jobs.purge")
def purge() -> None:
    """Delete what was done or cancelled more than a week ago."""
    queue.store.purge(time.time() - WEEK)


scheduler.add("nightly-report", DailyAt("02:30"), nightly_report, "billing")
scheduler.add("purge", Every(900), purge)
