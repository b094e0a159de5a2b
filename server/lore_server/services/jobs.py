"""Run builds of the index as jobs: one at a time, shared by equal requests; clients follow and cancel them by id."""

import json
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace

from lore_etl.core.errors import (
    Busy,
    Cancelled,
    ConfirmationRequired,
    IndexMissing,
    JobNotFound,
    LoreError,
    from_record,
)
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport, canonical_json
from lore_etl.core.progress import NOBODY, Listener
from lore_etl.index import Index
from lore_etl.pipeline.sync import create_only, delete_all, embed_only, sync, sync_knowledge
from lore_etl.system.processes import release_unused_memory
from lore_server.execution.tracing import span
from lore_server.replies.problem import error_record
from lore_server.replies.records import JobRecord
from lore_server.services.job import Job, StoredJob, digests, problems_record, read_job, write_job

log = logging.getLogger(__name__)
REMEMBERED = 20
BUILDS = 50  # of the list of the last builds
KNOWLEDGE_SECONDS = 5.0  # the maximum wait for new knowledge to be indexed when the process ends
LATEST = "latest"
SCANNING = ("sync", "create")  # the actions that read the files, and so know their problems
TURN_SECONDS = 0.1


class JobService:
    """The jobs of an index. `after` is called with the report of each pass over the files, before its job ends."""

    def __init__(self, index: Index, after: Callable[[SyncReport], None]) -> None:
        self._index = index
        self._after = after
        self._guard = threading.Lock()  # never held while waiting for a job's thread, which may not reach its next step
        self._jobs: dict[str, Job] = {}
        self._current: Job | None = None
        self._turn = threading.Lock()  # held by the job that builds; a cancelled job holds it until its next step
        self._threads: list[threading.Thread] = []
        self._stopped = False

    def run(
        self, *, action: str, confirm: bool, allow_mass_delete: bool, wait_seconds: float, listener: Listener = NOBODY
    ) -> JobRecord:
        """Start or join a job, and wait. Raises ConfirmationRequired, Busy, and the error that ended the job."""
        if action == "delete" and not confirm:
            raise ConfirmationRequired("Deleting the index requires confirmation.")
        job, number, joined = self._start_or_join(action, allow_mass_delete=allow_mass_delete)
        record = self._wait(job, number, wait_seconds, listener)
        return {**record, "joined": True} if joined else record

    def index_knowledge(self) -> None:
        """Start indexing what agents have just written, unless the first sync will. A failure is only logged."""
        try:
            if self._is_loaded() and not self._index.is_read_only:
                self._start_or_join("sync", knowledge=True)
        except LoreError as error:
            log.warning("new knowledge is not indexed yet: %s %s", error.message, error.hint)

    def begin_sync(self, must_scan: bool = True) -> tuple[str, bool]:
        """Start or join a sync of all files or the watched ones; return its id, and if it was running. Raises Busy."""
        job, _, joined = self._start_or_join("sync", must_scan=must_scan)
        return job.id, joined

    def get(self, *, id: str, wait_seconds: float, listener: Listener = NOBODY) -> JobRecord:
        """Return a job after a wait; resume a killed one, unless it is asked for as `latest`. Raises JobNotFound."""
        job = self._find(id)
        if isinstance(job, StoredJob):
            if not job.may_resume or id == LATEST:
                return job.shown()
            try:
                resumed, _, _ = self._start_or_join(job.record["action"], allow_mass_delete=job.allow_mass_delete)
            except Busy:  # a job of another kind is running
                return job.shown()
            with self._guard:
                self._jobs[id] = resumed
            job = resumed
        return self._wait(job, None, wait_seconds, listener)

    def builds(self) -> list[JSON]:
        """Return the last builds, newest first, with their causes and figures."""
        stored = self._stored()
        return stored.builds if stored else []

    def cancel(self, *, id: str) -> JobRecord:
        """Request that a job ends at its next step; a job that has ended is unchanged. Raises JobNotFound."""
        job = self._find(id)
        if isinstance(job, StoredJob):
            if job.is_interrupted:
                job = replace(job, record={**job.shown(), "state": "cancelled"})  # it is not resumed
                write_job(self._index.folder, job)
            return job.shown()
        job.cancelled.set()
        return job.record()

    def running(self) -> JobRecord | None:
        job = self._current
        return job.record() if job is not None and job.state == "running" else None

    def running_id(self) -> str | None:
        job = self._current
        return job.id if job is not None and job.state == "running" else None

    def unfinished(self) -> IndexMissing | None:
        """Return the error of a search before the running first build has read files; None without one."""
        job = self._current
        if job is None or job.state != "running" or job.action == "delete" or self._is_loaded():
            return None
        hint = f"Repeat the call in a moment, or wait for the job with get_job (id={job.id})."
        return IndexMissing(f"Nothing can be found yet: the first {job.action} is running ({job.step[0]}).", hint)

    def stop(self) -> None:
        """End every job at its next step, and accept no new job."""
        with self._guard:
            self._stopped = True
            job, jobs, threads = self._current, list(self._jobs.values()), list(self._threads)
        if job is not None and not job.wanted and threads:
            threads[-1].join(KNOWLEDGE_SECONDS)
        for running in jobs:
            running.cancelled.set()
        for thread in threads:
            thread.join()

    def _start_or_join(
        self, action: str, knowledge: bool = False, allow_mass_delete: bool = False, must_scan: bool = True
    ) -> tuple[Job, int, bool]:
        """Return the job, the number of the pass that serves this request, and whether the job was already running."""
        with self._guard:
            if self._stopped:
                raise Busy("The server is stopping.", "Call again to continue the job.")
            job = self._current
            if job is not None:
                with job.changed:
                    if job.state == "running" and not job.cancelled.is_set():
                        if knowledge:
                            job.knowledge = True
                            return job, 0, True
                        if job.action != action:
                            hint = "Wait for it, or cancel it with cancel_job."
                            raise Busy(f"A {job.action} is running (job {job.id}).", hint)
                        job.must_scan = must_scan or (job.must_scan and job.wanted > job.begun)
                        job.wanted = job.begun + 1
                        job.allow_mass_delete |= allow_mass_delete
                        return job, job.wanted, True
            wanted = 0 if knowledge else 1
            job = Job(
                action, wanted=wanted, knowledge=knowledge, allow_mass_delete=allow_mass_delete, must_scan=must_scan
            )
            self._take_over(job)
            self._current = self._jobs[job.id] = job
            for old in list(self._jobs)[:-REMEMBERED]:
                del self._jobs[old]
            thread = threading.Thread(target=copy_context().run, args=(self._work, job), name=f"job {job.id}")
            self._threads = [*(thread for thread in self._threads if thread.is_alive()), thread]
            thread.start()
            return job, wanted, False

    def _take_over(self, job: Job) -> None:
        """Give a job the id of the interrupted job with the same action, so that clients can wait for that id."""
        left = self._stored()
        if left is None or left.record["id"] in self._jobs or not (job.wanted and left.may_resume):
            return
        if left.record["action"] == job.action:
            job.id, job.resumed = left.record["id"], left.resumed + 1
            job.allow_mass_delete |= left.allow_mass_delete

    def _work(self, job: Job) -> None:
        try:
            while not self._turn.acquire(timeout=TURN_SECONDS):
                job.record_progress("waiting", 0, 0)
        except Cancelled as error:
            self._end(job, "cancelled", error)
            return
        try:
            self._build(job)
            release_unused_memory()  # each job has a thread of its own, and glibc keeps what it freed
        finally:
            self._turn.release()

    def _build(self, job: Job) -> None:
        try:
            with span(f"job {job.action}"):
                self._begin(job)
                step = self._next_pass(job)
                while step is not None:
                    report = step(job)
                    with job.changed:
                        job.report = report if job.report is None else job.report.then(report)
                        job.passes += step == self._act
                        job.found = ""  # a request that joins the job now hears the plan of its own pass
                        job.changed.notify_all()
                        step = self._next_pass(job)  # at once: whoever is told of the end may start another job
        except Cancelled as error:
            self._end(job, "cancelled", error)
        except Exception as error:  # noqa: BLE001 - the top of a thread: any error ends the job and is reported
            self._end(job, "failed", error)
        self._remember(job)

    def _begin(self, job: Job) -> None:
        """Record that the job is running, so that if this process is killed, the next one resumes it."""
        if job.wanted and job.action in SCANNING:
            self._index.own()
        if job.wanted:
            self._remember(job)
        with suppress(LoreError):  # a damaged catalogue is repaired by the sync, which then repeats the problems
            if self._index.exists():
                job.known = frozenset(json.loads(self._index.catalogue.meta("reported") or "[]"))

    def _next_pass(self, job: Job) -> Callable[[Job], SyncReport] | None:
        """Return the next step of the job; if there is no further step, mark the job as done and return None."""
        with job.changed:
            if job.passes < job.wanted:
                job.begun += 1
                job.is_scan = job.must_scan
                job.knowledge &= job.action != "sync"  # a sync reads all files
                return self._act
            if job.knowledge:
                job.knowledge = False
                return self._index_knowledge
            job.state, job.ended = "done", time.time()
            job.changed.notify_all()
            return None

    def _index_knowledge(self, job: Job) -> SyncReport:
        return sync_knowledge(self._index, job.record_progress) if self._is_loaded() else SyncReport()

    def _is_loaded(self) -> bool:
        return self._index.exists() and self._index.catalogue.meta("loaded") is not None

    def _end(self, job: Job, state: str, error: BaseException) -> None:
        with job.changed:
            job.state, job.ended, job.problem = state, time.time(), error_record(error)
            job.changed.notify_all()

    def _act(self, job: Job) -> SyncReport:
        report = self._built(job)
        self._after(report)
        if job.action in SCANNING:
            self._index.catalogue.set_meta(problems=canonical_json(problems_record(report)))
        return report

    def _built(self, job: Job) -> SyncReport:
        if job.action == "sync":
            return sync(self._index, job.record_progress, job.allow_mass_delete, job.announce, job.is_scan)
        if job.action == "create":
            return create_only(self._index, job.record_progress, job.allow_mass_delete, job.announce)
        if job.action == "embed":
            if not self._index.exists() or not self._index.catalogue.total():
                raise IndexMissing("There are no chunks to embed.", "Run the action `create` or `sync` first.")
            return embed_only(self._index, job.record_progress)
        self._index.require()
        return delete_all(self._index)

    def _wait(self, job: Job, number: int | None, seconds: float, listener: Listener) -> JobRecord:
        """Report plan and steps until the pass (or the job) or the time ends. Raises the error of a job that failed."""
        deadline, told = time.monotonic() + seconds, ""
        seen: tuple[str, int, int, float] | None = None
        while True:
            with job.changed:
                has_ended = job.state != "running" or (number is not None and job.passes >= number)
                left = deadline - time.monotonic()
                if not has_ended and left > 0 and (job.step, job.found) == (seen, told):
                    job.changed.wait(left)
                    continue
                step, seen, found = job.step, job.step, job.found
            if has_ended or left <= 0:
                if number is not None and job.state == "failed" and job.problem is not None:
                    raise from_record(job.problem)
                record = job.record("done" if has_ended and job.state == "running" else "")
                self._note_reported(job, record)
                return record
            if found and found != told:
                listener.text(found)
            told = found
            listener.progress(*step[:3])

    def _note_reported(self, job: Job, record: JobRecord) -> None:
        """Record which problems a client has seen in a reply, so that later jobs only count them."""
        is_whole = job.wanted and job.action in SCANNING
        if "report" not in record or job is not self._current or job.report is None or not is_whole:
            return
        with suppress(LoreError):  # then the next reply repeats them
            seen = json.dumps(sorted(digests(job.report)))
            if self._index.catalogue.meta("reported") != seen:
                self._index.catalogue.set_meta(reported=seen)

    def _find(self, id_: str) -> Job | StoredJob:
        with self._guard:
            job = self._current if id_ == LATEST else self._jobs.get(id_)
        if job is not None:
            return job
        stored = self._stored()
        if stored is not None and id_ in (LATEST, stored.record["id"]):
            return stored
        raise JobNotFound(f"There is no job `{id_}`.")

    def _remember(self, job: Job) -> None:
        """Store the job for the next process; a failure is only logged, because a full disk was reported before."""
        try:
            if self._index.folder.is_dir():
                builds = [job.brief(), *self.builds()] if job.ended else self.builds()
                stored = StoredJob(job.record(), job.allow_mass_delete, job.resumed, builds[:BUILDS])
                write_job(self._index.folder, stored)
        except LoreError as error:
            log.warning("cannot save the job: %s", error.message)

    def _stored(self) -> StoredJob | None:
        return read_job(self._index.folder) if self._index.exists() else None
