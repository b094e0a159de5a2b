"""A store in a dictionary, for tests and for programs whose jobs may die with them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from ferry.job import Job, JobState
from ferry.stores.base import Store


class MemoryStore(Store):
    """Thread-safe, but seen by one process only: a ProcessWorker refuses it."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}  # in the order of adding
        self._lock = threading.RLock()

    def add(self, job: Job) -> Job:
        with self._lock:
            existing = self._jobs.get(job.id) or self._holder(job.unique_key)
            if existing:
                return existing
            self._jobs[job.id] = job
            return job

    def _holder(self, unique_key: str | None) -> Job | None:
        if unique_key is None:
            return None
        live = (job for job in self._jobs.values() if not job.state.is_final)
        return next((job for job in live if job.unique_key == unique_key), None)

    def claim(self, queues: Sequence[str], worker_id: str, now: float, lease_seconds: float) -> Job | None:
        with self._lock:
            due = [job for job in self._jobs.values() if job.queue in queues and job.is_due(now)]
            if not due:
                return None
            job = min(due, key=lambda job: job.run_at)
            self._jobs[job.id] = job.claimed(worker_id, now, lease_seconds)
            return self._jobs[job.id]

    def update(self, job: Job, *, expect: JobState, owner: str | None = None) -> bool:
        with self._lock:
            current = self._jobs.get(job.id)
            if current is None or current.state is not expect or current.worker_id != owner:
                return False
            self._jobs[job.id] = job
            return True

    def extend(self, job_ids: Sequence[str], worker_id: str, lease_until: float) -> int:
        with self._lock:
            held = [self._jobs[key] for key in job_ids if key in self._jobs]
            held = [job for job in held if job.worker_id == worker_id and job.state is JobState.RUNNING]
            for job in held:
                self._jobs[job.id] = replace(job, lease_until=lease_until)
            return len(held)

    def reclaim(self, now: float) -> int:
        with self._lock:
            running = [job for job in self._jobs.values() if job.state is JobState.RUNNING]
            lost = [job for job in running if job.lease_until < now]
            for job in lost:
                state = JobState.QUEUED if job.attempts_left else JobState.DEAD
                changes = {"lease_until": 0.0, "worker_id": None, "last_error": "lease expired"}
                self._jobs[job.id] = replace(job, state=state, updated_at=now, **changes)
            return len(lost)

    def get(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def list_jobs(self, state: JobState | None = None, limit: int = 50, offset: int = 0) -> list[Job]:
        with self._lock:
            found = [job for job in self._jobs.values() if state is None or job.state is state]
        return found[::-1][offset : offset + limit]

    def counts(self) -> dict[JobState, int]:
        with self._lock:
            states = [job.state for job in self._jobs.values()]
        return {state: states.count(state) for state in JobState}

    def purge(self, before: float) -> int:
        gone = (JobState.DONE, JobState.CANCELLED)
        with self._lock:
            old = [job.id for job in self._jobs.values() if job.state in gone and job.updated_at < before]
            for job_id in old:
                del self._jobs[job_id]
        return len(old)
