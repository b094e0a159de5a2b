"""operationId -> handler: one thin function each. The contract decides the arguments, the services do the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from server.answer.service import AnswerService
from server.docs.init import InitService
from server.docs.reading import DocReader
from server.docs.search import UnifiedSearch
from server.listener import Listener
from server.services.chapters import ChapterService
from server.services.database import DatabaseService
from server.services.documents import DocumentService
from server.services.health import HealthService
from server.services.jobs import JobService
from server.services.knowledge import KnowledgeSearch
from server.services.memories import MemoryService
from server.services.memory_search import MemorySearch
from server.services.projects import ProjectService
from server.services.search import SearchService
from server.services.storage import StorageService

JSON = dict[str, Any]


@dataclass(frozen=True)
class Services:
    """What handlers may use."""

    search: SearchService
    answers: AnswerService
    documents: DocumentService
    jobs: JobService
    database: DatabaseService
    health: HealthService
    projects: ProjectService
    chapters: ChapterService
    knowledge: KnowledgeSearch
    storage: StorageService
    memories: MemoryService
    memory_search: MemorySearch
    init: InitService
    docs: DocReader
    unified: UnifiedSearch


Handler = Callable[..., JSON]
HANDLERS: dict[str, Handler] = {}


def handles(function: Handler) -> Handler:
    """Register a handler under its own name."""
    HANDLERS[function.__name__] = function
    return function


@handles
def query_documents(
    services: Services,
    listener: Listener,
    *,
    query: str,
    type: str,
    limit: int,
    explain: bool,
    max_tokens: int,
    cursor: str | None = None,
) -> JSON:
    """Ranked passages."""
    return services.search.query(query, type, limit, explain, max_tokens, cursor)


@handles
def ask_knowledge_base(services: Services, listener: Listener, *, query: str, type: str, limit: int) -> JSON:
    """An answer with citations."""
    return services.answers.ask(query, type, limit, listener.text)


@handles
def get_class_hierarchy(
    services: Services, listener: Listener, *, max_tokens: int, root: str | None = None, cursor: str | None = None
) -> JSON:
    """The classes under one, or all."""
    return services.documents.hierarchy(root, max_tokens, cursor)


@handles
def list_documents(
    services: Services,
    listener: Listener,
    *,
    type: str,
    limit: int,
    offset: int,
    max_tokens: int,
    source: str | None = None,
    cursor: str | None = None,
) -> JSON:
    """A page of what is indexed."""
    return services.documents.page(type, source, limit, offset, max_tokens, cursor)


@handles
def get_document_by_id(
    services: Services, listener: Listener, *, id: str, max_tokens: int, cursor: str | None = None
) -> JSON:
    """One chunk."""
    return services.documents.document(id, max_tokens, cursor)


@handles
def list_sources(
    services: Services,
    listener: Listener,
    *,
    type: str,
    max_tokens: int,
    under: str | None = None,
    cursor: str | None = None,
) -> JSON:
    """A page of files."""
    return services.documents.sources(type, under, max_tokens, cursor)


@handles
def get_source(
    services: Services, listener: Listener, *, path: str, max_tokens: int, cursor: str | None = None
) -> JSON:
    """One file with its chunks marked."""
    return services.documents.source(path, max_tokens, cursor)


@handles
def manage_knowledge_base(
    services: Services,
    listener: Listener,
    *,
    action: str,
    confirm: bool,
    allow_mass_delete: bool,
    wait_seconds: int,
) -> JSON:
    """Build or delete the index."""
    return services.jobs.run(action, confirm, allow_mass_delete, wait_seconds, listener.progress)


@handles
def get_job(services: Services, listener: Listener, *, id: str, wait_seconds: int) -> JSON:
    """How far a job is."""
    return services.jobs.get(id, wait_seconds, listener.progress)


@handles
def cancel_job(services: Services, listener: Listener, *, id: str) -> JSON:
    """End a job at its next step."""
    return services.jobs.cancel(id)


@handles
def manage_database(services: Services, listener: Listener, *, action: str) -> JSON:
    """Start or stop the database."""
    return services.database.start() if action == "start" else services.database.stop()


@handles
def healthcheck(services: Services, listener: Listener, *, refresh: bool) -> JSON:
    """The state of each part."""
    return services.health.check(refresh)
