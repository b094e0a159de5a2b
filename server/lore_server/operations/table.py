"""Name the service method and the renderer of each operation. A new operation needs a line here."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from lore_etl.core.errors import ConfigError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_server.contract import Contract, Operation, Schema
from lore_server.knowledge.git.commits import WriteRequest
from lore_server.replies import render_index, render_knowledge
from lore_server.replies.reply_text import ReplyText, error_text, facts

Method = Callable[..., Any]


class Entry(NamedTuple):
    """The keyword-only method of an operation, and the renderer of its reply.

    Its parameters are the contract's arguments, except `listener`, and `request` for those in `WriteRequest`.
    """

    method: Callable[[SimpleNamespace], Method]
    text: Callable[[Any], ReplyText]


OPERATIONS: dict[str, Entry] = {
    "query_documents": Entry(lambda its: its.search.passages, render_index.passages),
    "ask_knowledge_base": Entry(lambda its: its.answers.ask, render_index.answer),
    "get_class_hierarchy": Entry(lambda its: its.documents.hierarchy, render_index.classes),
    "list_documents": Entry(lambda its: its.documents.page, render_index.documents),
    "get_document_by_id": Entry(lambda its: its.documents.document, render_index.document),
    "list_sources": Entry(lambda its: its.documents.sources, render_index.sources),
    "get_source": Entry(lambda its: its.documents.source, render_index.source),
    "manage_knowledge_base": Entry(lambda its: its.jobs.run, render_index.job),
    "get_job": Entry(lambda its: its.jobs.get, render_index.job),
    "cancel_job": Entry(lambda its: its.jobs.cancel, render_index.cancelled),
    "manage_database": Entry(lambda its: its.database.manage, render_index.database),
    "healthcheck": Entry(lambda its: its.health.check, render_index.health),
    "list_projects": Entry(lambda its: its.projects.all, render_knowledge.projects),
    "get_project_main": Entry(lambda its: its.projects.main, render_knowledge.main),
    "update_project_main": Entry(lambda its: its.projects.write, render_knowledge.written),
    "update_project_section": Entry(lambda its: its.projects.update_section, render_knowledge.written),
    "add_project_section": Entry(lambda its: its.projects.add_section, render_knowledge.written),
    "remove_project_section": Entry(lambda its: its.projects.remove_section, render_knowledge.written),
    "delete_project": Entry(lambda its: its.projects.delete, render_knowledge.written),
    "search_knowledge": Entry(lambda its: its.knowledge.search, render_knowledge.matches),
    "list_knowledge_files": Entry(lambda its: its.chapters.files, render_knowledge.files),
    "create_knowledge_file": Entry(lambda its: its.chapters.create, render_knowledge.written),
    "get_knowledge_file": Entry(lambda its: its.chapters.file, render_knowledge.file),
    "write_knowledge_file": Entry(lambda its: its.chapters.write, render_knowledge.written),
    "delete_knowledge_file": Entry(lambda its: its.chapters.delete, render_knowledge.written),
    "list_chapters": Entry(lambda its: its.chapters.chapters, render_knowledge.chapters),
    "get_chapter": Entry(lambda its: its.chapters.chapter, render_knowledge.chapter),
    "update_chapter": Entry(lambda its: its.chapters.update, render_knowledge.written),
    "add_chapter": Entry(lambda its: its.chapters.add, render_knowledge.written),
    "remove_chapter": Entry(lambda its: its.chapters.remove, render_knowledge.written),
    "get_knowledge_history": Entry(lambda its: its.projects.history, render_knowledge.history),
    "revert_knowledge": Entry(lambda its: its.projects.revert, render_knowledge.reverted),
    "save_answer": Entry(lambda its: its.chapters.save_answer, render_knowledge.written),
    "get_insights": Entry(lambda its: its.insights.get, render_knowledge.insights),
    "list_marks": Entry(lambda its: its.insights.marks, render_knowledge.marks),
    "mark_result": Entry(lambda its: its.insights.mark, render_knowledge.marked),
    "clear_insights": Entry(lambda its: its.insights.clear, render_knowledge.cleared),
    "get_server_info": Entry(lambda its: its.projects.server_info, facts),
    "get_storage_status": Entry(lambda its: its.projects.status, facts),
    "sync_storage": Entry(lambda its: its.projects.sync, facts),
    "add_memory": Entry(lambda its: its.memories.add, render_knowledge.memory_added),
    "search_memories": Entry(lambda its: its.memories.search, render_knowledge.memory_matches),
    "delete_memory": Entry(lambda its: its.memories.delete, render_knowledge.memory_deleted),
    "init_project": Entry(lambda its: its.init.run, render_knowledge.init),
    "get_system_doc": Entry(lambda its: its.docs.system, render_knowledge.doc),
    "get_user_doc": Entry(lambda its: its.docs.user, render_knowledge.doc),
    "get_framework_doc": Entry(lambda its: its.docs.framework, render_knowledge.doc),
    "knowledge_search": Entry(lambda its: its.unified.search, render_knowledge.found),
}


def methods(contract: Contract, services: SimpleNamespace) -> dict[str, Callable[[Listener, JSON], JSON]]:
    """Map each operation to a call of its method. Raises ConfigError if one is missing or its parameters differ."""
    if differing := set(contract.operations) ^ set(OPERATIONS):
        raise ConfigError(f"Contract and operations differ: {', '.join(sorted(differing))}.", "Reinstall Lore.")
    return {operation.id: _call(operation, OPERATIONS[operation.id].method(services)) for operation in contract}


def _call(operation: Operation, method: Method) -> Callable[[Listener, JSON], JSON]:
    parameters = dict(inspect.signature(method).parameters)
    takes_listener = parameters.pop("listener", None) is not None
    grouped = set(WriteRequest._fields) if parameters.pop("request", None) else set[str]()
    if not _takes(parameters, grouped, operation.input_schema):
        message = f"The parameters of the method for {operation.id} differ from the contract."
        raise ConfigError(message, "Reinstall Lore.")

    def call(listener: Listener, arguments: JSON) -> JSON:
        accepted = {name: value for name, value in arguments.items() if name not in grouped}
        if grouped:
            accepted["request"] = WriteRequest(**{name: arguments[name] for name in grouped & arguments.keys()})
        if takes_listener:
            accepted["listener"] = listener
        return cast("JSON", method(**accepted))

    return call


def _takes(parameters: Mapping[str, inspect.Parameter], grouped: Collection[str], schema: Schema) -> bool:
    """Return whether the parameters are keyword-only, named like the arguments, and optional if those are."""
    properties = {name: definition for name, definition in schema["properties"].items() if name not in grouped}
    accepted = {name for name, definition in properties.items() if "default" in definition}
    accepted.update(schema.get("required", ()))
    return parameters.keys() == properties.keys() and all(
        parameter.kind is parameter.KEYWORD_ONLY and (name in accepted or parameter.default is not parameter.empty)
        for name, parameter in parameters.items()
    )


def render(operation: str, result: Mapping[str, Any]) -> ReplyText:
    """Render the result of an operation, or its error, as text."""
    if result.get("error"):
        return ReplyText(error_text(result))
    return replace(OPERATIONS[operation].text(result), cursor=result.get("next_cursor"))
