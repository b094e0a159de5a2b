"""The composition root, with the one `call` that serves every interface."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from lore_etl.config.project import knowledge_home
from lore_etl.config.settings import Settings
from lore_etl.core.errors import IndexMissing, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.model import SyncReport
from lore_etl.core.progress import NOBODY, Listener, silent
from lore_etl.files.git_folder import Head
from lore_etl.index import Index
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.pipeline.sync import emptiness
from lore_etl.sources.kinds import SourceSet
from lore_etl.sources.source import SourceContext
from lore_server.answer.answer_service import AnswerService
from lore_server.answer.kept_answers import KeptAnswers
from lore_server.answer.written_answers import ModelAnswers
from lore_server.contract import Contract, Operation, Queue
from lore_server.execution.threads import CLIENT, Lane, Together
from lore_server.framework.index_file import Output
from lore_server.framework.init_service import InitService
from lore_server.framework.reading import DocReader
from lore_server.framework.unified_search import UnifiedSearch
from lore_server.framework.view import View
from lore_server.operations.table import methods, render
from lore_server.query.confidence import Fit
from lore_server.query.freshness import ATTEMPTS, Freshness, from_one_state
from lore_server.query.history import History
from lore_server.query.query_service import QueryService
from lore_server.replies.budget import READS_TEXT, filled
from lore_server.replies.records import HealthOwnerRecord
from lore_server.services.call_log import Recorder
from lore_server.services.chapters import ChapterService
from lore_server.services.documents import DocumentService
from lore_server.services.health import HealthService
from lore_server.services.insights import InsightsService
from lore_server.services.jobs import LATEST, JobService
from lore_server.services.knowledge_library import Library
from lore_server.services.knowledge_search import KnowledgeSearch
from lore_server.services.memory_service import MemoryService
from lore_server.services.project_service import ProjectService
from lore_server.services.question_log import QuestionLog
from lore_server.services.search_service import SearchService
from lore_server.services.verification import DatabaseService, Pace, Verifier

log = logging.getLogger(__name__)
CONCURRENT_CALLS = 16
CALLS_OF_ONE = max(2, os.cpu_count() or 2)  # more of one client would only slow down those of others
QUEUE_SECONDS = 20.0
CHANGED_SHOWN = 200  # files in the state for the page


class App:
    """Everything that answers requests for one project. Raises ConfigError, also if contract and operations differ."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        contract: Contract,
        model: ConfiguredModel | None = None,
        owner: Callable[[], HealthOwnerRecord | None] = lambda: None,
        home: Path | None = None,
        pace: Pace | None = None,
        published: Head | None = None,
    ) -> None:
        if settings.sources:  # their patterns may be wrong; those of Lore take a tenth of a second to compile
            SourceSet(SourceContext((), lambda path: None), settings.sources)
        self.contract = contract
        self._library = Library(home or knowledge_home(os.environ), root, self._knowledge_changed)
        self.index = Index(root, settings, model, self._library, published=published)
        self.jobs = JobService(self.index, self._after_pass)
        self.freshness = Freshness(self.index, self.jobs.running_id)
        self._view = View(self.index)
        self._output = Output(self.index, self._view, self.freshness)
        self._questions = QuestionLog(root, settings.insights)
        self.verifier = Verifier(self.index, self.jobs.running_id, pace)
        self._called_at = time.monotonic()
        self._history = History(root)
        queries, kept = QueryService(self.index, history=self._history), KeptAnswers(self._questions.earlier)
        self._answer_model = ModelAnswers(settings.answer)
        self._recorder = Recorder(self._library)
        self._search = SearchService(self.index, queries, self.freshness)
        self._health = HealthService(
            self.index, contract, self.jobs.running, owner, self.freshness, self.verifier, self._output.drift_record
        )
        services = SimpleNamespace(
            search=self._search,
            answers=AnswerService(self.index, queries, self.freshness, kept, self._answer_model),
            documents=DocumentService(self.index, self.freshness),
            jobs=self.jobs,
            database=DatabaseService(self.index, self.verifier),
            health=self._health,
            projects=ProjectService(self._library),
            chapters=ChapterService(self._library, kept),
            insights=InsightsService(self.index, self._questions),
            knowledge=KnowledgeSearch(self._library),
            memories=MemoryService(self._library, self.index, queries, self.freshness),
            init=InitService(self.index, self.jobs, self._view, self._output),
            docs=DocReader(self.index.root, settings, self.index.files),
            unified=UnifiedSearch(self.index, queries, self.freshness, self._view),
        )
        self._methods = methods(contract, services)
        self._calls = Lane[JSON]("call", CONCURRENT_CALLS, QUEUE_SECONDS, CALLS_OF_ONE)
        self._calls_out = Lane[JSON]("call out", CONCURRENT_CALLS, QUEUE_SECONDS)
        self._together = Together[JSON]()

    def call(self, operation_id: str, arguments: JSON, listener: Listener = NOBODY) -> JSON:
        """Validate the arguments, run in a slot under the deadline, validate the result. Raises only LoreError."""
        operation = self.contract[operation_id]
        if operation.is_about_knowledge:
            return self._recorder.run(operation, arguments, lambda: self.answer(operation, arguments, listener))
        started = time.perf_counter()
        result = self.answer(operation, arguments, listener)
        self._questions.note(operation_id, arguments, result, time.perf_counter() - started)
        return result

    def fit(self, arguments: JSON) -> Fit:
        """Return how well the index answers `query_documents` with these arguments. Raises LoreError."""
        self._called_at = time.monotonic()
        return self._search.fit(**arguments)

    def answer(self, operation: Operation, arguments: JSON, listener: Listener = NOBODY) -> JSON:
        """Do the same as `call`, but note nothing in the logs."""
        accepted = operation.accept(arguments)
        self._called_at = time.monotonic()

        # a reply that describes one state of the index is read again if that has changed meanwhile
        attempts = 0 if operation.changes_state or operation.is_waiting else ATTEMPTS if operation.is_steady else 1
        is_filled = READS_TEXT.get() and "max_tokens" in operation.input_schema["properties"]
        ask, again = (partial(self._methods[operation.id], hearing) for hearing in (listener, NOBODY))

        def once() -> JSON:
            return filled(ask, again, accepted, partial(render, operation.id)) if is_filled else ask(accepted)

        def work() -> JSON:
            try:
                result = from_one_state(self.index, once, attempts) if attempts else once()
            except IndexMissing as error:
                raise self.jobs.unfinished() or error from error
            finally:
                self._called_at = time.monotonic()
            operation.check_result(result)
            return result

        def in_lane() -> JSON:
            lane = self._calls_out if operation.queue is Queue.MODEL else self._calls
            return lane.run(operation.id, work, operation.deadline_seconds)

        if operation.is_waiting:
            return work()
        if listener == NOBODY and operation.is_steady and not operation.is_about_knowledge:
            call = (CLIENT.get(), is_filled, operation.id, json.dumps(accepted, sort_keys=True))
            return self._together.run(call, in_lane)
        return in_lane()

    def _after_pass(self, report: SyncReport) -> None:
        """After each sync, rewrite `.ce/syntropy-index.json` and warm the docs view."""
        self._health.forget()
        self._output.refresh(report)
        with warming():
            self._view.entries()

    def _knowledge_changed(self) -> None:
        """Index new knowledge immediately; the folder exists before the jobs that read it."""
        self.freshness.notice()
        self.jobs.index_knowledge()

    def state(self) -> JSON:
        """Return the last commit of the `knowledge`, the latest `job`, and the index's `freshness` or `problem`."""
        state: JSON = {"knowledge": {"commit": self._library.unopened.history.tip}}
        with suppress(LoreError):  # there is no job yet, or the catalogue is damaged: that is the `problem` below
            state["job"] = self.jobs.get(id=LATEST, wait_seconds=0)
        try:
            self.index.require()
            if not self.index.catalogue.total():
                raise self.jobs.unfinished() or emptiness(self.index)
            state["freshness"] = self.freshness.record()
            state["changed"] = {"paths": sorted(self.freshness.changed_files())[:CHANGED_SHOWN]}
        except LoreError as error:
            state["problem"] = {"code": error.code, "message": error.message, "hint": error.hint}
        return state

    def health(self) -> JSON:
        """Return the state of each part and the last builds; unlike a call, this does not delay the verification."""
        return {**self._health.check(), "builds": self.jobs.builds()}

    def warm(self) -> None:
        """Load everything that the first search needs, then the data that makes later searches faster."""
        with warming():
            if self.index.exists():
                self.freshness.record()
                self.index.keywords.count()
                self.index.vectors.count()
                self.index.prepare_model(silent, may_download=False)
                self.index.embedder.embed_query("ready")
                self._history.refresh()
                self._calls.settle()  # the rest would only delay a first search that is already running
                self._view.entries()
                self.index.preload()

    def verify_when_quiet(self) -> None:
        self.verifier.begin(lambda: time.monotonic() - self._called_at)

    def close(self) -> None:
        """Stop a running build at its next step, finish other calls and close the index."""
        self.verifier.stop()
        self.jobs.stop()
        self._calls.close()
        self._library.close()
        self._questions.close()
        self._answer_model.close()
        self._calls_out.close(wait=False)  # no client waits for a remote model any more
        self.index.close()


@contextmanager
def warming() -> Iterator[None]:
    """Log errors while loading in advance; the first request reports them."""
    try:
        yield
    except LoreError as error:
        log.info("warm-up failed: %s", error.message)
