"""The worker: claims jobs, runs them, settles them, and leaves in good order."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Sequence

from ferry.errors import StoreError, StoreLocked
from ferry.job import DEFAULT_QUEUE, Job, Outcome
from ferry.queue import Queue

LEASE_SECONDS = 60.0
POLL_SECONDS = 0.5
GRACE_SECONDS = 30.0

log = logging.getLogger("ferry.worker")


def attempt(queue: Queue, job: Job) -> Outcome:
    """Run a job once. Never raises: what the task raises becomes the outcome."""
    started = time.monotonic()
    try:
        queue.lookup(job.task).run(job)
    except Exception as error:  # noqa: BLE001 - a task may raise anything
        return Outcome.of(error)
    took = time.monotonic() - started
    if job.timeout is not None and took > job.timeout:
        log.warning("job %s took %.1f s, its timeout is %g s; see issue #34", job.id, took, job.timeout)
    return Outcome()


class Worker:
    """Runs one job at a time in the calling thread, and is the base of the pools.

    Args:
        queue: whose tasks and store to use.
        queues: the named lanes to serve; among due jobs the oldest `run_at` wins, whatever its lane.
        poll_interval: seconds to sleep when there was nothing to do.
        lease_seconds: how long a claim lasts without a heartbeat; one beats every third of it.
        grace_seconds: how long a pool waits for running jobs when it is told to stop.
    """

    def __init__(self, queue: Queue, *, queues: Sequence[str] = (DEFAULT_QUEUE,),
                 poll_interval: float = POLL_SECONDS, lease_seconds: float = LEASE_SECONDS,
                 grace_seconds: float = GRACE_SECONDS) -> None:  # fmt: skip
        self.queue = queue
        self.store = queue.store
        self.queues = tuple(queues)
        self.poll_interval = poll_interval
        self.lease_seconds = lease_seconds
        self.grace_seconds = grace_seconds
        self.id = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._in_flight: dict[str, Job] = {}
        self._stop = threading.Event()
        self._hurry = threading.Event()
        self._left = threading.Event()

    def run(self) -> int:
        """Work until stopped; return how many running jobs had to be given back."""
        self.store.reclaim(time.time())
        heart = threading.Thread(target=self._beat, name="ferry-heartbeat", daemon=True)
        heart.start()
        try:
            return self._loop()
        finally:
            self._left.set()
            heart.join()

    def run_once(self) -> bool:
        """Claim and run a single job; False when none was due. Meant for tests and scripts."""
        job = self.claim()
        if job is None:
            return False
        self.settle(job, attempt(self.queue, job))
        return True

    def stop(self) -> None:
        """Take no new jobs and leave when the running ones are settled; called twice, leave now."""
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    def claim(self) -> Job | None:
        """Lease the next due job, if there is one."""
        try:
            job = self.store.claim(self.queues, self.id, time.time(), self.lease_seconds)
        except StoreLocked as error:
            log.warning("claim skipped: %s", error)
            return None
        if job is not None:
            self._in_flight[job.id] = job
        return job

    def settle(self, job: Job, outcome: Outcome) -> None:
        """Write down how an attempt ended: done, retried later, or dead."""
        self._in_flight.pop(job.id, None)
        try:
            if outcome.error is None:
                self.store.finish(job)
            elif outcome.permanent or not job.attempts_left:
                self.store.bury(job, outcome.error)
                log.error("job %s (%s) is dead: %s", job.id, job.task, outcome.error)
            else:
                delay = outcome.retry_delay
                if delay is None:
                    task = self.queue.tasks.get(job.task)
                    delay = (task.retry if task else self.queue.retry).delay(job.attempts)
                self.store.reschedule(job, time.time() + delay, outcome.error)
        except StoreError as error:  # LeaseLost: another worker has the job by now
            log.warning("job %s ran here but is not settled: %s", job.id, error)

    def release(self, job: Job) -> None:
        """Give a running job back to the queue."""
        self._in_flight.pop(job.id, None)
        try:
            self.store.release(job)
        except StoreError as error:
            log.warning("job %s is not released: %s", job.id, error)

    def _loop(self) -> int:
        while not self._stop.is_set():
            if not self.run_once():
                self._stop.wait(self.poll_interval)
        return 0

    def _beat(self) -> None:
        while not self._left.wait(self.lease_seconds / 3):
            now = time.time()
            try:
                if held := list(self._in_flight):
                    self.store.extend(held, self.id, now + self.lease_seconds)
                self.store.reclaim(now)
            except StoreError as error:  # two more beats fit into the lease
                log.warning("heartbeat failed: %s", error)
