"""Workers that run several jobs at a time, in threads or in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ferry.errors import ConfigError, JobTimeout
from ferry.job import Job, Outcome
from ferry.queue import Queue, load_object
from ferry.stores import MemoryStore
from ferry.worker import Worker, attempt

DEFAULT_THREADS = 8
MAX_JOBS_PER_CHILD = 100


class PoolWorker(Worker):
    """Claims a job only when a slot is free, so that no claimed job waits inside the worker."""

    def __init__(self, queue: Queue, *, concurrency: int = DEFAULT_THREADS, **options: Any) -> None:
        super().__init__(queue, **options)
        if concurrency < 1:
            raise ConfigError("concurrency must be at least 1")
        self.concurrency = concurrency
        self._executor: Executor | None = None
        self._pending: dict[Future[Outcome], Job] = {}

    @abstractmethod
    def make_executor(self) -> Executor:
        """A fresh pool with `concurrency` slots."""

    @abstractmethod
    def submit(self, executor: Executor, job: Job) -> Future[Outcome]:
        """Start a job in the pool."""

    def _loop(self) -> int:
        self._executor = self.make_executor()
        while not self._stop.is_set():
            self._fill()
            if self._pending:
                self._collect(self.poll_interval)
            else:
                self._stop.wait(self.poll_interval)
        deadline = time.monotonic() + self.grace_seconds
        while self._pending and time.monotonic() < deadline and not self._hurry.is_set():
            self._collect(0.1)
        for job in self._pending.values():
            self.release(job)
        self._shut(drained=not self._pending)
        return len(self._pending)

    def _fill(self) -> None:
        while len(self._pending) < self.concurrency and not self._stop.is_set():
            job = self.claim()
            if job is None:
                return
            try:
                self._pending[self.submit(self._executor, job)] = job
            except BrokenExecutor:
                self.release(job)
                self._executor = self.make_executor()

    def _collect(self, timeout: float) -> None:
        done, _ = wait(self._pending, timeout=timeout, return_when=FIRST_COMPLETED)
        broken = False
        for future in done:
            error = future.exception()
            broken = broken or isinstance(error, BrokenExecutor)
            self.settle(self._pending.pop(future), Outcome.of(error) if error else future.result())
        if broken:
            self._executor = self.make_executor()

    def _shut(self, *, drained: bool) -> None:
        self._executor.shutdown(wait=drained, cancel_futures=True)


class ThreadWorker(PoolWorker):
    """Jobs in threads of this process: right for jobs that wait for the network or the disk.

    A thread cannot be interrupted, so a plain function's timeout is only logged (issue #34).
    """

    def make_executor(self) -> ThreadPoolExecutor:
        """A pool of threads."""
        return ThreadPoolExecutor(self.concurrency, thread_name_prefix="ferry-job")

    def submit(self, executor: Executor, job: Job) -> Future[Outcome]:
        """Run the job in one of the threads."""
        return executor.submit(attempt, self.queue, job)


class ProcessWorker(PoolWorker):
    """Jobs in child processes: right for jobs that compute, and for jobs that must be stoppable.

    Args:
        app: where a child finds the queue, as `package.module:attribute`.
        concurrency: child processes; by default one per CPU.
    """

    def __init__(self, queue: Queue, *, app: str, concurrency: int | None = None, **options: Any) -> None:
        if isinstance(queue.store, MemoryStore):
            raise ConfigError("a ProcessWorker needs a store that its children can see; use SQLite")
        super().__init__(queue, concurrency=concurrency or os.cpu_count() or 1, **options)
        self.app = app

    def make_executor(self) -> ProcessPoolExecutor:
        """A pool of spawned children, each replaced after 100 jobs so that leaks stay small."""
        return ProcessPoolExecutor(
            self.concurrency,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=ignore_interrupts,
            max_tasks_per_child=MAX_JOBS_PER_CHILD,
        )

    def submit(self, executor: Executor, job: Job) -> Future[Outcome]:
        """Run the job in one of the children."""
        return executor.submit(run_in_child, self.app, job)

    def _shut(self, *, drained: bool) -> None:
        if not drained:
            for child in multiprocessing.active_children():
                child.kill()
        super()._shut(drained=drained)


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent: a terminal sends it to the children as well (issue #31)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Raise JobTimeout in the main thread after `seconds`; does nothing without SIGALRM (Windows)."""
    if seconds is None or not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(signum: int, frame: FrameType | None) -> None:
        raise JobTimeout(seconds)

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_in_child(app: str, job: Job) -> Outcome:
    """The whole of one attempt, inside a child process."""
    try:
        with alarm(job.timeout):
            return attempt(load_object(app), job)
    except Exception as error:  # noqa: BLE001 - the alarm may ring just after the task returned
        return Outcome.of(error)
