"""The job, an immutable record that stores hand out and take back, and the outcome of an attempt."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ferry import payload as payloads
from ferry.errors import PermanentFailure, RetryLater

DEFAULT_QUEUE = "default"


class JobState(StrEnum):
    """Where a job is in its life.

    A job that failed but will be retried is QUEUED with a `run_at` in the future. DEAD means that
    Ferry has given up on it. (Up to 1.2.0 both were called `failed`, see issue #41.)
    """

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether only a person can bring the job back."""
        return self in (JobState.DONE, JobState.DEAD, JobState.CANCELLED)


def new_job_id() -> str:
    """A random id of 32 hexadecimal digits."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a task, with its state.

    Attributes:
        attempts: how often a worker has claimed the job; counted at the claim, not at the failure.
        max_attempts: taken from the retry policy when the job was enqueued.
        run_at: Unix time before which no worker may claim the job.
        lease_until: Unix time at which a running job is considered abandoned; 0 when not running.
        unique_key: while a job with this key is queued or running, no second one is added.
        last_error: type and message of the most recent failure; kept when a later attempt succeeds.
    """

    task: str
    payload: str
    id: str = field(default_factory=new_job_id)
    queue: str = DEFAULT_QUEUE
    state: JobState = JobState.QUEUED
    attempts: int = 0
    max_attempts: int = 5
    timeout: float | None = None
    run_at: float = 0.0
    created_at: float = field(default_factory=time.time)
    updated_at: float = field(default_factory=time.time)
    lease_until: float = 0.0
    worker_id: str | None = None
    unique_key: str | None = None
    last_error: str | None = None

    @property
    def args(self) -> list[Any]:
        """The positional arguments, decoded afresh at each access."""
        return payloads.decode(self.payload)[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments, decoded afresh at each access."""
        return payloads.decode(self.payload)[1]

    @property
    def attempts_left(self) -> int:
        """How many more times the job may be claimed."""
        return max(0, self.max_attempts - self.attempts)

    def is_due(self, now: float) -> bool:
        """Whether a worker may claim the job at the time `now`."""
        return self.state is JobState.QUEUED and self.run_at <= now

    def claimed(self, worker_id: str, now: float, lease_seconds: float) -> Job:
        """The job as a worker holds it: running, leased, and one attempt further."""
        lease = {"worker_id": worker_id, "lease_until": now + lease_seconds, "updated_at": now}
        return replace(self, state=JobState.RUNNING, attempts=self.attempts + 1, **lease)


@dataclass(frozen=True)
class Outcome:
    """What became of one attempt: plain data, so that it can cross a process boundary."""

    error: str | None = None
    retry_delay: float | None = None
    permanent: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Outcome:
        """The outcome that an exception stands for."""
        return cls(
            error=f"{type(error).__name__}: {error}",
            retry_delay=error.delay if isinstance(error, RetryLater) else None,
            permanent=isinstance(error, PermanentFailure),
        )
