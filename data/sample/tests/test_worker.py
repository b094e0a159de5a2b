"""Running jobs: retries, timeouts, dead jobs, and the graceful shutdown."""

import asyncio
import threading
import time

import pytest

from ferry import ConstantBackoff, JobState, PermanentFailure, Queue, RetryLater
from ferry.errors import ConfigError
from ferry.pool import ProcessWorker, ThreadWorker, alarm
from ferry.stores import MemoryStore, SQLiteStore
from ferry.worker import Worker


@pytest.fixture
def queue(tmp_path):
    store = SQLiteStore(tmp_path / "ferry.db")
    yield Queue(store)
    store.close()


class TestRetry:
    def test_a_job_that_fails_once_succeeds_later(self, queue):
        calls = []

        @queue.task("flaky", retry=ConstantBackoff(max_attempts=3, seconds=0))
        def flaky():
            calls.append(1)
            if len(calls) == 1:
                raise ConnectionError("refused")

        job = flaky.enqueue()
        worker = Worker(queue)
        assert worker.run_once() and worker.run_once() and not worker.run_once()
        stored = queue.store.get(job.id)
        assert (stored.state, stored.attempts) == (JobState.DONE, 2)
        assert stored.last_error == "ConnectionError: refused"

    def test_a_job_without_attempts_left_is_dead_and_can_be_revived(self, queue):
        @queue.task("broken", retry=ConstantBackoff(max_attempts=2, seconds=0))
        def broken():
            raise ValueError("no")

        job = broken.enqueue()
        worker = Worker(queue)
        while worker.run_once():
            pass
        assert queue.store.get(job.id).state is JobState.DEAD
        assert queue.store.revive(job.id)
        assert queue.store.get(job.id).attempts_left == 2

    @pytest.mark.parametrize(
        ("error", "state", "wait"),
        [(PermanentFailure("gone"), JobState.DEAD, 0), (RetryLater(90), JobState.QUEUED, 90)],
    )
    def test_a_task_can_decide_itself(self, queue, error, state, wait):
        @queue.task("decides")
        def decides():
            raise error

        job = decides.enqueue()
        Worker(queue).run_once()
        stored = queue.store.get(job.id)
        assert stored.state is state
        assert stored.run_at - time.time() == pytest.approx(wait, abs=2)


class TestTimeout:
    def test_a_coroutine_is_cancelled(self, queue):
        @queue.task("slow", timeout=0.05)
        async def slow():
            await asyncio.sleep(5)

        job = slow.enqueue()
        Worker(queue).run_once()
        assert queue.store.get(job.id).last_error == "JobTimeout: job ran longer than 0.05 s"

    def test_the_alarm_of_a_child_interrupts_plain_code(self):
        with pytest.raises(Exception, match="longer than 0.05 s"), alarm(0.05):
            time.sleep(2)


class TestShutdown:
    def start(self, queue, seconds, grace):
        started = threading.Event()

        @queue.task("sleeper")
        def sleeper():
            started.set()
            time.sleep(seconds)

        job = sleeper.enqueue()
        worker = ThreadWorker(queue, concurrency=2, poll_interval=0.01, grace_seconds=grace)
        released = []
        thread = threading.Thread(target=lambda: released.append(worker.run()))
        thread.start()
        assert started.wait(5)
        worker.stop()
        thread.join(5)
        return queue.store.get(job.id), released[0]

    def test_a_running_job_is_finished(self, queue):
        job, released = self.start(queue, seconds=0.2, grace=5)
        assert (job.state, released) == (JobState.DONE, 0)

    def test_after_the_grace_period_the_job_is_given_back_uncounted(self, queue):
        job, released = self.start(queue, seconds=0.8, grace=0.05)
        assert (job.state, job.attempts, released) == (JobState.QUEUED, 0, 1)


def test_a_process_worker_needs_a_shared_store():
    with pytest.raises(ConfigError, match="SQLite"):
        ProcessWorker(Queue(MemoryStore()), app="jobs:queue")
