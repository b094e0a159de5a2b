"""The queue: where tasks are registered and jobs are put."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ferry import payload as payloads
from ferry.errors import ConfigError, JobTimeout, UnknownTask
from ferry.job import DEFAULT_QUEUE, Job, JobState, new_job_id
from ferry.retry import JitteredBackoff, RetryPolicy
from ferry.stores import Store, open_store

DEFAULT_URL = "sqlite:///ferry.db"


async def run_within(timeout: float | None, awaitable: Awaitable[None]) -> None:
    """Await something, and cancel it when it takes longer than `timeout` seconds."""
    try:
        async with asyncio.timeout(timeout) as scope:
            await awaitable
    except TimeoutError:
        if timeout is not None and scope.expired():
            raise JobTimeout(timeout) from None
        raise  # the task's own TimeoutError


@dataclass(frozen=True)
class Task:
    """A function that jobs can call, made by `Queue.task`. Calling it runs the function right here."""

    function: Callable[..., Any]
    name: str
    owner: Queue
    retry: RetryPolicy
    timeout: float | None = None
    queue: str = DEFAULT_QUEUE

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def enqueue(self, *args: Any, **kwargs: Any) -> Job:
        """Queue a call with exactly these arguments, to run as soon as a worker is free."""
        return self.owner.enqueue(self, args, kwargs)

    def run(self, job: Job) -> None:
        """Run a job to its end. Return values are dropped: Ferry keeps no results."""
        result = self.function(*job.args, **job.kwargs)
        if inspect.iscoroutine(result):
            asyncio.run(run_within(job.timeout, result))


class Queue:
    """Registers tasks and enqueues jobs.

    Args:
        store: a Store, or the URL of one; by default `$FERRY_URL`, else `sqlite:///ferry.db`.
        retry: the policy of tasks that bring none of their own.
    """

    @dataclass(frozen=True)
    class Stats:
        """Numbers for dashboards and health checks."""

        counts: dict[JobState, int]

        @property
        def backlog(self) -> int:
            """Jobs that are not settled yet: queued and running ones."""
            return self.counts[JobState.QUEUED] + self.counts[JobState.RUNNING]

    def __init__(self, store: Store | str | None = None, *, retry: RetryPolicy | None = None) -> None:
        if store is None:
            store = os.environ.get("FERRY_URL", DEFAULT_URL)
        self.store = open_store(store) if isinstance(store, str) else store
        self.retry = retry or JitteredBackoff()
        self.tasks: dict[str, Task] = {}

    def task(self, name: str | None = None, *, retry: RetryPolicy | None = None,
             timeout: float | None = None, queue: str = DEFAULT_QUEUE) -> Callable[..., Task]:  # fmt: skip
        """Decorator: make a function a task.

        Args:
            name: what jobs call it; by default module and qualified name. A function in `__main__`
                needs one, because no worker could import it (issue #19).
            retry: a policy other than the queue's.
            timeout: seconds; see docs/workers.md for which worker can enforce it.
            queue: the named lane its jobs go to.
        """

        def register(function: Callable[..., Any]) -> Task:
            if name is None and function.__module__ == "__main__":
                raise ConfigError(f"give the task {function.__name__!r} a name: it is defined in __main__")
            known = name or f"{function.__module__}.{function.__qualname__}"
            if known in self.tasks:
                raise ConfigError(f"the task name {known!r} is taken")
            self.tasks[known] = Task(function, known, self, retry or self.retry, timeout, queue)
            return self.tasks[known]

        return register

    def lookup(self, name: str) -> Task:
        """The task of that name, or UnknownTask."""
        try:
            return self.tasks[name]
        except KeyError:
            raise UnknownTask(f"no task named {name!r}; known: {', '.join(self.tasks) or 'none'}") from None

    def enqueue(self, task: Task | str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
                *, delay: float = 0.0, unique_key: str | None = None,
                job_id: str | None = None) -> Job:  # fmt: skip
        """Put a job into the store and return it.

        A task may be given by name, even one unknown here: a web process need not import the code
        that its workers run. With `unique_key` or `job_id` the job that holds it already is returned.
        """
        known = self.tasks.get(task) if isinstance(task, str) else task
        now = time.time()
        job = Job(
            task=known.name if known else str(task),
            payload=payloads.encode(args, kwargs or {}),
            id=job_id or new_job_id(),
            queue=known.queue if known else DEFAULT_QUEUE,
            max_attempts=(known.retry if known else self.retry).max_attempts,
            timeout=known.timeout if known else None,
            run_at=now + delay,
            unique_key=unique_key,
        )
        return self.store.add(job)

    async def enqueue_async(self, task: Task | str, *args: Any, **kwargs: Any) -> Job:
        """Enqueue without blocking the event loop."""
        return await asyncio.to_thread(self.enqueue, task, args, kwargs)

    def stats(self) -> Stats:
        """The current counts."""
        return self.Stats(self.store.counts())


def load_object(spec: str) -> Any:
    """The object that `package.module:attribute` names; this is how commands and children find a queue."""
    module, colon, attribute = spec.partition(":")
    if not colon:
        raise ConfigError(f"write {spec!r} as package.module:attribute")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot load {spec!r}: {error}") from error
