"""operationId -> handler: one thin function each. The contract decides the arguments, the services do the work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from etl.model import Progress
from server.answer.service import AnswerService
from server.query.service import QueryService
from server.services.building import BuildService
from server.services.database import DatabaseService
from server.services.documents import DocumentService
from server.services.health import HealthService

JSON = dict[str, Any]


@dataclass(frozen=True)
class Services:
    """What handlers may use."""

    queries: QueryService
    answers: AnswerService
    documents: DocumentService
    building: BuildService
    database: DatabaseService
    health: HealthService


Handler = Callable[..., JSON]
HANDLERS: dict[str, Handler] = {}


def handles(function: Handler) -> Handler:
    """Register a handler under its own name."""
    HANDLERS[function.__name__] = function
    return function


@handles
def query_documents(
    services: Services,
    progress: Progress,
    *,
    query: str,
    type: str,
    limit: int,
    explain: bool,
    max_tokens: int,
) -> JSON:
    """Ranked passages."""
    return services.queries.query(query, type, limit, explain, max_tokens)


@handles
def ask_knowledge_base(services: Services, progress: Progress, *, query: str, type: str, limit: int) -> JSON:
    """An answer with citations."""
    return services.answers.ask(query, type, limit)


@handles
def get_class_hierarchy(services: Services, progress: Progress, *, root: str) -> JSON:
    """The classes under one."""
    return services.documents.hierarchy(root)


@handles
def list_documents(
    services: Services, progress: Progress, *, type: str, limit: int, offset: int, source: str | None = None
) -> JSON:
    """A page of what is indexed."""
    return services.documents.page(type, source, limit, offset)


@handles
def get_document_by_id(services: Services, progress: Progress, *, id: str) -> JSON:
    """One chunk."""
    return services.documents.document(id)


@handles
def manage_knowledge_base(
    services: Services, progress: Progress, *, action: str, confirm: bool, allow_mass_delete: bool
) -> JSON:
    """Build or delete the index."""
    return services.building.run(action, confirm, allow_mass_delete, progress)


@handles
def manage_database(services: Services, progress: Progress, *, action: str) -> JSON:
    """Start or stop the database."""
    return services.database.start() if action == "start" else services.database.stop()


@handles
def healthcheck(services: Services, progress: Progress) -> JSON:
    """The state of each part."""
    return services.health.check()
