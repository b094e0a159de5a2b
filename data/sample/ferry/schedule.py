"""Schedules say when, the Scheduler enqueues. All times are UTC."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ferry.errors import ConfigError
from ferry.job import Job
from ferry.queue import Queue, Task

FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 6))
HORIZON = timedelta(days=8 * 366)
MAX_SLEEP_SECONDS = 30.0


class Schedule(ABC):
    """A rule for moments in time."""

    @abstractmethod
    def next_after(self, moment: datetime) -> datetime:
        """The first moment of the schedule that is later than `moment`."""


@dataclass(frozen=True)
class Every(Schedule):
    """Every so many seconds, counted from the epoch: `Every(900)` means :00, :15, :30 and :45."""

    seconds: int

    def next_after(self, moment: datetime) -> datetime:
        """The next multiple of `seconds`."""
        slot = math.floor(moment.timestamp() / self.seconds) + 1
        return datetime.fromtimestamp(slot * self.seconds, UTC)


class Cron(Schedule):
    """Five fields as in crontab: minute, hour, day of month, month, weekday (0 is Sunday).

    Fields take `*`, numbers, ranges `1-5`, steps `*/10` and lists `0,30`. Unlike crond, a day must
    match both the day of month and the weekday when both are given.
    """

    def __init__(self, expression: str) -> None:
        parts = expression.split()
        if len(parts) != len(FIELDS):
            raise ConfigError(f"{expression!r} has {len(parts)} fields, not {len(FIELDS)}")
        self.expression = expression
        self._allowed = [parse_field(part, *bounds) for part, bounds in zip(parts, FIELDS, strict=True)]

    def next_after(self, moment: datetime) -> datetime:
        """Skips days, then hours, then minutes that do not match."""
        minutes, hours, days, months, weekdays = self._allowed
        found = moment.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = found + HORIZON
        while found < limit:
            if found.month not in months or found.day not in days or found.isoweekday() % 7 not in weekdays:
                found = found.replace(hour=0, minute=0) + timedelta(days=1)
            elif found.hour not in hours:
                found = found.replace(minute=0) + timedelta(hours=1)
            elif found.minute not in minutes:
                found += timedelta(minutes=1)
            else:
                return found
        raise ConfigError(f"{self.expression!r} does not occur within eight years")


class DailyAt(Cron):
    """Once a day: `DailyAt("02:30")` is `Cron("30 2 * * *")`."""

    def __init__(self, clock: str) -> None:
        hour, _, minute = clock.partition(":")
        super().__init__(f"{minute} {hour} * * *")


def parse_field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    """The numbers that one cron field allows."""
    allowed: set[int] = set()
    try:
        for part in text.split(","):
            span, _, step = part.partition("/")
            first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
            allowed.update(range(int(first), int(last or first) + 1, int(step or 1)))
    except ValueError:
        raise ConfigError(f"cannot read {text!r} as a {name}") from None
    if not allowed or min(allowed) < low or max(allowed) > high:
        raise ConfigError(f"{name} {text!r} is outside {low} to {high}")
    return frozenset(allowed)


class Scheduler:
    """Enqueues a job for every slot of every entry.

    Several schedulers may run at once: the id of a job is made of its entry's name and slot, so the
    store keeps only one of them (issue #38).
    """

    @dataclass
    class Entry:
        """One recurring job, and when it is due next."""

        name: str
        schedule: Schedule
        task: Task | str
        args: Sequence[Any] = ()
        kwargs: dict[str, Any] = field(default_factory=dict)
        due: datetime = field(default_factory=lambda: datetime.now(UTC))

        def job_id(self) -> str:
            """`sched:<name>:<Unix time of the slot>`."""
            return f"sched:{self.name}:{int(self.due.timestamp())}"

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.entries: dict[str, Scheduler.Entry] = {}

    def add(self, name: str, schedule: Schedule, task: Task | str, *args: Any, **kwargs: Any) -> None:
        """Add a recurring job under a name of its own."""
        if name in self.entries:
            raise ConfigError(f"the schedule {name!r} exists already")
        first = schedule.next_after(datetime.now(UTC))
        self.entries[name] = self.Entry(name, schedule, task, args, kwargs, first)

    def tick(self, now: datetime) -> list[Job]:
        """Enqueue what is due. Slots that passed since the last tick collapse into one job."""
        jobs = []
        for entry in self.entries.values():
            if entry.due <= now:
                jobs.append(self.queue.enqueue(entry.task, entry.args, entry.kwargs, job_id=entry.job_id()))
                entry.due = entry.schedule.next_after(now)
        return jobs

    async def run(self) -> None:
        """Tick until cancelled, sleeping until the next slot but never longer than 30 seconds."""
        while True:
            now = datetime.now(UTC)
            await asyncio.to_thread(self.tick, now)
            waits = [(entry.due - now).total_seconds() for entry in self.entries.values()]
            await asyncio.sleep(min([MAX_SLEEP_SECONDS, *(max(0.05, wait) for wait in waits)]))
