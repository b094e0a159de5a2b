"""Make the same calls through every interface and compare the results."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.project import STATE
from lore_etl.stores.claim import adopt
from lore_server.contract import Contract
from tests.harness.interfaces import INTERFACES, Answers, Calls
from tests.harness.owners import stop_owners
from tests.harness.projects import copy_project
from tests.harness.trying import is_long
from tests.harness.workers import built_once

KNOWLEDGE: Calls = [
    ("get_project_main", {}),
    ("update_project_main", {"content": "# Ferry\n\n## Build\n\nmake\n"}),
    ("update_project_section", {"section_header": "## Build", "new_content": "make all"}),
    ("add_project_section", {"section_header": "## Test", "content": "make test"}),
    ("remove_project_section", {"section_header": "## Build"}),
    ("update_project_main", {"content": "lost", "expected_version": "0" * 40}),
    (
        "create_knowledge_file",
        {
            "filename": "API Guide", "title": "API", "introduction": "Of the API.", "keywords": ["rest"],
            "chapters": [{"title": "First", "content": "The first."}, {"title": "Second", "content": "Then."}],
        },
    ),
    ("create_knowledge_file", {"filename": "../x", "title": "x"}),
    ("update_chapter", {"filename": "api-guide", "chapter_title": "First", "new_content": "Changed."}),
    ("update_chapter", {"filename": "api-guide", "chapter_title": "Third", "new_content": "Changed."}),
    ("add_chapter", {"filename": "api-guide", "chapter_title": "Third", "content": "Third."}),
    ("remove_chapter", {"filename": "api-guide", "chapter_index": 1}),
    ("list_chapters", {"filename": "api-guide"}),
    ("get_chapter", {"filename": "api-guide", "chapter_index": 1}),
    ("get_chapter", {"filename": "api-guide", "chapter_index": 1, "chapter_title": "First"}),
    ("get_knowledge_file", {"filename": "api-guide"}),
    ("list_knowledge_files", {}),
    ("search_knowledge", {"query": "api changed"}),
    ("search_knowledge", {"query": ""}),
    ("get_knowledge_history", {"filename": "api-guide", "limit": 3}),
    ("revert_knowledge", {"commit": "abc"}),
    ("write_knowledge_file", {"filename": "api-guide", "content": "# API\n\n## All\n\nNew.\n"}),
    ("delete_knowledge_file", {"filename": "api-guide"}),
    ("save_answer", {"answer": "0123456789ab", "title": "Why SQLite"}),
    ("get_project_main", {"project_id": "git@host:team/no such.git"}),
    ("list_projects", {}),
    ("delete_project", {}),
    ("delete_project", {"project_id": "ferry"}),
    ("get_server_info", {}),
    ("get_storage_status", {}),
    ("sync_storage", {}),
]  # fmt: skip
MEMORIES: Calls = [
    ("add_memory", {"name": "apt-28", "body": "Seen apt-28 again.", "metadata": {"rating": 4.5, "tags": ["cti", 28]}}),
    ("add_memory", {"name": "the same", "body": "Seen apt-28 again."}),
    ("add_memory", {"name": "long " * 60, "body": "A line of some words.\n\n" * 400, "group_id": "Field Notes"}),
    ("add_memory", {"name": "x", "body": "x", "group_id": "../x\0"}),
    ("add_memory", {"name": "x", "body": "x", "metadata": {"deep": {"er": 1}}}),
    ("search_memories", {"query": "x", "group_ids": [".."]}),
    ("delete_memory", {"id": "main/nothing-000000000000"}),
    ("delete_memory", {"id": "main/apt-28-be70f3e02131"}),
]
DOCS: Calls = [
    ("init_project", {"sync": False}),
    ("init_project", {"project_root": "/nowhere"}),
    ("knowledge_search", {"query": "how are priorities scheduled", "sources": ["prp", "memory"], "explain": True}),
    ("knowledge_search", {"query": "worker", "sources": ["blogs"]}),
    ("get_user_doc", {"path": "PRPs/feature-requests/PRP-3-priority-queues.md", "max_tokens": 300}),
    ("get_user_doc", {"path": "../ferry/pyproject.toml"}),
    ("get_system_doc", {"path": "RULES.md"}),
    ("get_framework_doc", {"doc_path": "research/01-prp-system"}),
]
INSIGHTS: Calls = [
    ("clear_insights", {}),
    ("clear_insights", {"confirm": True}),
    ("get_insights", {"days": 7}),
    ("mark_result", {"query": "How are jobs retried?", "source": "docs/retries.md", "verdict": "right"}),
    ("mark_result", {"query": "How are jobs retried?", "source": "docs/nothing.md", "verdict": "right"}),
    ("list_marks", {}),
]
CALLS: Calls = [
    ("query_documents", {"query": "how do retries back off", "limit": 3}),
    ("query_documents", {"query": "Worker", "type": "src", "explain": True}),
    ("query_documents", {"query": "Worker", "type": "guides"}),
    ("query_documents", {"query": ""}),
    ("query_documents", {"query": "x" * 10_000}),
    ("query_documents", {"query": "x", "limit": -1}),
    ("ask_knowledge_base", {"query": "Why is SQLite the default store?"}),
    ("get_class_hierarchy", {"root": "Store"}),
    ("get_class_hierarchy", {"root": "NoSuchClassAnywhere"}),
    ("list_documents", {"type": "ticket", "limit": 2, "offset": 1}),
    ("get_document_by_id", {"id": "nope"}),
    ("manage_knowledge_base", {"action": "sync", "wait_seconds": 600}),
    ("manage_knowledge_base", {"action": "delete"}),
    ("manage_database", {"action": "start"}),
    ("manage_database", {"action": "stop"}),
    ("healthcheck", {}),
    ("list_sources", {"under": "docs", "max_tokens": 300}),
    ("get_source", {"path": "docs/retries.md", "max_tokens": 400}),
    ("get_source", {"path": "docs/retries.md", "start": 1, "end": 2, "history": True}),
    ("get_source", {"path": "docs/retreis.md"}),
    ("query_documents", {"query": "worker", "max_tokens": 200}),
    (
        "query_documents",
        {"query": 'jobs "exactly once" -jitter path:docs/**', "type": ["guide", "src"], "facets": True},
    ),
    ("query_documents", {"query": "retry", "path": ["docs/**", "ferry"], "lang": "md", "passages": 2, "after": "2020"}),
    ("query_documents", {"query": 'retry "unclosed'}),
    ("query_documents", {"query": "retry", "before": "tomorrow"}),
    ("search_memories", {"query": "how to release, C++ or (not"}),
    ("get_job", {"id": "latest"}),
    ("cancel_job", {"id": "latest"}),
    *DOCS,
    *INSIGHTS,
    *KNOWLEDGE,
    *MEMORIES,
]
OFTEN = {"lore call", "mcp stdio", "mcp http 2025", "http"}
"""Both transports and both versions of the protocol, once each; the long run has every combination."""
USED = [name for name in INTERFACES if is_long() or name in OFTEN]
VOLATILE = re.compile(r"took \d+ ms|\d+ GB")


@pytest.fixture(scope="module")
def answers(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answers]:
    """Return the replies of every call through every interface, each on a copy of the same index."""

    def build(file: Path) -> None:
        project = copy_project(sample, tmp_path_factory.mktemp("interfaces") / "ferry")
        first = INTERFACES["lore call"](project, [("init_project", {"wait_seconds": 300})])
        assert first[0]["job"]["report"]["failed"] == []
        stop_owners(project)
        index = (project / ".lore").rename(project.with_name("index"))
        replies = {name: _answers(INTERFACES[name], project, index, tmp_path_factory.mktemp("own")) for name in USED}
        file.write_text(json.dumps(replies), encoding="utf-8")

    found: dict[str, Answers] = json.loads(built_once(tmp_path_factory, "interfaces", build).read_text("utf-8"))
    return found


def _answers(interface: Callable[[Path, Calls], Answers], project: Path, index: Path, own: Path) -> Answers:
    """Run the calls with a copy of the index, without knowledge, and without a log of questions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LORE_HOME", str(own / "home"))
        patch.setenv(STATE, str(own / "state"))
        shutil.rmtree(project / ".lore", ignore_errors=True)
        adopt(shutil.copytree(index, project / ".lore"))
        try:
            return interface(project, [("manage_knowledge_base", {"action": "sync", "wait_seconds": 600}), *CALLS])[1:]
        finally:
            stop_owners(project)


@pytest.mark.parametrize("interface", [name for name in USED if name != "lore call"])
@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{n} {name}" for n, (name, _) in enumerate(CALLS)])
@pytest.mark.requirement("UQ-039", "UQ-040")
@pytest.mark.promise(28)
def test_every_interface_gives_the_same_result_as_the_command_line(
    answers: dict[str, Answers], interface: str, number: int
) -> None:
    # start and stop report whether the database is open in their own process
    if CALLS[number][0] != "manage_database":
        assert _steady(answers[interface][number]) == _steady(answers["lore call"][number])


@pytest.mark.requirement("NEO-040")
@pytest.mark.promise(28)
def test_every_reply_matches_its_schema(answers: dict[str, Answers], contract: Contract) -> None:
    for interface, results in answers.items():
        for (name, arguments), result in zip(CALLS, results, strict=True):
            if not result.get("error"):
                contract[name].check_result(result)
            elif (name, arguments) in KNOWLEDGE:
                assert {"success", "context", "code", "message", "hint", "trace_id", "error"} == result.keys(), (
                    interface
                )
            else:
                assert {"code", "message", "hint", "trace_id", "error"} == result.keys(), interface


@pytest.mark.promise(28)
def test_every_tool_was_called(contract: Contract) -> None:
    assert {name for name, _ in CALLS} == set(contract.operations)


def test_errors_include_a_hint(answers: dict[str, Answers]) -> None:
    results = dict(zip(range(len(CALLS)), answers["http"], strict=True))

    assert "Valid values: all, guide" in results[2]["hint"]
    assert results[8]["code"] == "CLASS_NOT_FOUND"
    assert results[10]["code"] == "DOCUMENT_NOT_FOUND"
    assert results[12]["code"] == "CONFIRMATION_REQUIRED"


def test_a_service_reports_that_its_database_is_open(answers: dict[str, Answers]) -> None:
    states = [[result["status"] for result in answers[interface][13:15]] for interface in ("mcp stdio", "http")]

    assert states == [["already_running", "stopped"]] * 2


def _steady(value: Any) -> Any:
    """Remove values that differ from run to run: times, folders, ids of traces, jobs and commits, owner and author."""
    if isinstance(value, dict):
        drop = set("trace_id duration index_age_seconds synced_at age_seconds seconds owner size_bytes".split())
        drop |= set(
            "traceId timings timestamp created updated version commit storage_path full_content author date".split()
        )
        drop |= {"started_at", "id"} if {"started_at", "session"} & value.keys() else set()
        value = value | ({"next_cursor": offset} if (offset := _offset(value.get("next_cursor"))) else {})
        return {key: _steady(inner) for key, inner in value.items() if key not in drop}
    if isinstance(value, list):
        return [_steady(inner) for inner in value]
    return VOLATILE.sub("…", value) if isinstance(value, str) else value


def _offset(cursor: str | None) -> str:
    """Return the position in a cursor, without the state of the index that it belongs to."""
    return base64.urlsafe_b64decode(cursor + "==").decode().partition(":")[0] if cursor else ""
