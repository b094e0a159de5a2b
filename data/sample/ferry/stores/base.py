"""What a store is: a few primitives that each store implements, and the transitions built on them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ferry.errors import LeaseLost
from ferry.job import Job, JobState


class Store(ABC):
    """Keeps jobs and hands each to one worker at a time.

    Subclasses implement the primitives. The transitions below are the same for all stores, so the
    rules of at-least-once delivery (ADR 0002) are written once.
    """

    @abstractmethod
    def add(self, job: Job) -> Job:
        """Keep a new job. If its id exists, or its unique_key is queued or running, return that job."""

    @abstractmethod
    def claim(self, queues: Sequence[str], worker_id: str, now: float, lease_seconds: float) -> Job | None:
        """Atomically lease the due job with the smallest `run_at`, and count the attempt."""

    @abstractmethod
    def update(self, job: Job, *, expect: JobState, owner: str | None = None) -> bool:
        """Write the job if it is still in state `expect` and held by `owner`; say whether it was."""

    @abstractmethod
    def extend(self, job_ids: Sequence[str], worker_id: str, lease_until: float) -> int:
        """Prolong the leases that the worker still holds; return how many those are."""

    @abstractmethod
    def reclaim(self, now: float) -> int:
        """Requeue jobs whose lease has run out, or bury those without attempts left."""

    @abstractmethod
    def get(self, job_id: str) -> Job | None:
        """The job of that id."""

    @abstractmethod
    def list_jobs(self, state: JobState | None = None, limit: int = 50, offset: int = 0) -> list[Job]:
        """Jobs, the most recently added first."""

    @abstractmethod
    def counts(self) -> dict[JobState, int]:
        """How many jobs are in each state, zeros included."""

    @abstractmethod
    def purge(self, before: float) -> int:
        """Delete done and cancelled jobs not touched since `before`. Dead jobs stay."""

    def close(self) -> None:  # noqa: B027
        """Give back connections and files."""

    # -- transitions ---------------------------------------------------------------------------

    def finish(self, job: Job) -> Job:
        """The job succeeded."""
        return self._leave(job, JobState.DONE)

    def reschedule(self, job: Job, run_at: float, error: str) -> Job:
        """The attempt failed and another one follows at `run_at`."""
        return self._leave(job, JobState.QUEUED, run_at=run_at, last_error=error)

    def bury(self, job: Job, error: str) -> Job:
        """The attempt failed and there will be no other."""
        return self._leave(job, JobState.DEAD, last_error=error)

    def release(self, job: Job) -> Job:
        """The worker is going away: give the job back and do not count the attempt."""
        return self._leave(job, JobState.QUEUED, attempts=max(0, job.attempts - 1))

    def cancel(self, job_id: str) -> bool:
        """Withdraw a job that no worker has claimed yet."""
        job = self.get(job_id)
        if job is None or job.state is not JobState.QUEUED:
            return False
        return self.update(self._at(job, JobState.CANCELLED), expect=JobState.QUEUED)

    def revive(self, job_id: str) -> bool:
        """Queue a dead job again with all its attempts; the last error stays readable."""
        job = self.get(job_id)
        if job is None or job.state is not JobState.DEAD:
            return False
        fresh = self._at(job, JobState.QUEUED, attempts=0, run_at=time.time())
        return self.update(fresh, expect=JobState.DEAD)

    def _leave(self, job: Job, state: JobState, **changes: Any) -> Job:
        left = self._at(job, state, lease_until=0.0, worker_id=None, **changes)
        if not self.update(left, expect=JobState.RUNNING, owner=job.worker_id):
            raise LeaseLost(job.id)
        return left

    @staticmethod
    def _at(job: Job, state: JobState, **changes: Any) -> Job:
        return replace(job, state=state, updated_at=time.time(), **changes)
