"""operationId -> handler: one thin function each. The contract decides the arguments, the services do the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lore_server.answer.answer_service import AnswerService
from lore_server.execution.progress import Listener
from lore_server.framework.init_service import InitService
from lore_server.framework.reading import DocReader
from lore_server.framework.unified_search import UnifiedSearch
from lore_server.services.chapters import ChapterService
from lore_server.services.database import DatabaseService
from lore_server.services.documents import DocumentService
from lore_server.services.health import HealthService
from lore_server.services.jobs import JobService
from lore_server.services.knowledge_search import KnowledgeSearch
from lore_server.services.memory_search import MemorySearch
from lore_server.services.memory_service import MemoryService
from lore_server.services.project_service import ProjectService
from lore_server.services.search_service import SearchService
from lore_server.services.storage import StorageService

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
