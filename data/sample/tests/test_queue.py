"""Enqueueing, payloads, and the promises that every store keeps."""

import sqlite3
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from ferry import DailyAt, Every, JobState, Queue, Scheduler
from ferry.errors import ConfigError, LeaseLost, PayloadError, PayloadTooLarge
from ferry.stores import MemoryStore, SQLiteStore, open_store


@pytest.fixture(params=["memory", "sqlite"])
def queue(request, tmp_path):
    store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "ferry.db")
    yield Queue(store)
    store.close()


class TestPayload:
    def test_tagged_types_survive(self, queue):
        moment = datetime(2026, 4, 20, 9, 30, tzinfo=UTC)
        job = queue.enqueue("report", (moment,), {"total": Decimal("9.90")})
        stored = queue.store.get(job.id)
        assert stored.args == [moment]
        assert stored.kwargs == {"total": Decimal("9.90")}

    def test_bytes_are_refused(self, queue):
        with pytest.raises(PayloadError, match="bytes"):
            queue.enqueue("upload", (b"raw",))

    def test_more_than_64_kib_are_refused(self, queue):
        with pytest.raises(PayloadTooLarge) as caught:
            queue.enqueue("upload", ("x" * 70_000,))
        assert caught.value.limit == 65_536


class TestStore:
    def test_oldest_due_job_is_claimed_first(self, queue):
        queue.enqueue("later", delay=60)
        first, second = queue.enqueue("a"), queue.enqueue("b")
        claimed = [queue.store.claim(["default"], "w1", time.time() + 1, 60) for _ in range(3)]
        assert [job and job.id for job in claimed] == [first.id, second.id, None]

    def test_unique_key_returns_the_waiting_job(self, queue):
        first = queue.enqueue("sync", unique_key="user-7")
        assert queue.enqueue("sync", unique_key="user-7").id == first.id
        assert queue.store.cancel(first.id)
        assert queue.enqueue("sync", unique_key="user-7").id != first.id

    def test_expired_lease_is_requeued_and_the_late_worker_refused(self, queue):
        queue.enqueue("slow")
        job = queue.store.claim(["default"], "w1", time.time(), 60)
        assert queue.store.reclaim(time.time() + 61) == 1
        assert queue.store.get(job.id).state is JobState.QUEUED
        with pytest.raises(LeaseLost):
            queue.store.finish(job)

    def test_purge_keeps_dead_jobs(self, queue):
        for settle in (queue.store.finish, lambda job: queue.store.bury(job, "boom")):
            queue.enqueue("x")
            settle(queue.store.claim(["default"], "w1", time.time() + 1, 60))
        assert queue.store.purge(time.time() + 1) == 1
        assert queue.stats().counts[JobState.DEAD] == 1


class TestSQLiteStore:
    def test_memory_path_is_refused(self):
        with pytest.raises(ConfigError, match="MemoryStore"):
            SQLiteStore(":memory:")

    def test_a_database_of_1_x_is_upgraded(self, tmp_path):
        path = tmp_path / "old.db"
        SQLiteStore(path).close()
        with sqlite3.connect(path) as old:
            old.execute("ALTER TABLE jobs DROP COLUMN unique_key")
            row = "('{0}', 't', '{{}}', 'default', 'failed', {1}, 3, 0, 0, 0, 0)"
            columns = "id, task, payload, queue, state, attempts, max_attempts, run_at, created_at"
            values = ", ".join(row.format(*item) for item in (("gone", 3), ("again", 1)))
            old.execute(f"INSERT INTO jobs ({columns}, updated_at, lease_until) VALUES {values}")
            old.execute("PRAGMA user_version = 1")
        old.close()
        store = open_store(f"sqlite:///{path}")
        assert (store.get("gone").state, store.get("again").state) == (JobState.DEAD, JobState.QUEUED)
        store.close()


class TestScheduler:
    def test_two_schedulers_enqueue_a_slot_once(self, queue):
        slot = datetime(2026, 5, 4, 2, 30, tzinfo=UTC)
        for scheduler in (Scheduler(queue), Scheduler(queue)):
            scheduler.add("nightly", DailyAt("02:30"), "report")
            scheduler.entries["nightly"].due = slot
            scheduler.tick(slot)
        assert [job.id for job in queue.store.list_jobs()] == [f"sched:nightly:{int(slot.timestamp())}"]

    def test_every_counts_from_the_epoch(self):
        assert Every(900).next_after(datetime(2026, 5, 4, 10, 7, tzinfo=UTC)).minute == 15
