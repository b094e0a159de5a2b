"""Check the requirements of PRP-29.2 and PRP-29.3 and the scenario with 100 PRPs.

docs/compatibility.md lists the tests for each requirement.
"""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from lore_etl.config.settings import Settings
from lore_etl.core.errors import DocumentNotFound, IndexMissing, InvalidArgument, PathRefused
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.execution.threads import Calls
from lore_server.framework.unified_search import DEFAULT
from lore_server.framework.view import SOURCES, View
from lore_server.mcp.mcp_server import build_server
from tests.harness.commands import run_lore
from tests.harness.framework import framework
from tests.harness.models import HashModel
from tests.harness.owners import stop_owners
from tests.harness.projects import copy_project, settle, write_project

PRPS = 100
TOOLS = ("get_framework_doc", "get_system_doc", "get_user_doc", "knowledge_search")
PAGE = (
    "---\ntags: [prp, process]\n---\n# The PRP system\n\nA PRP says what is to be built, and how to see that it is.\n"
)
FILES = {
    **framework(PRPS),
    ".ce/docs/research/01-prp-system.md": PAGE,
    ".serena/memories/unified-architecture-patterns.md": "# Architecture\n\nBoth paths share one architecture.\n",
    "examples/api-client.md": "# API client\n\nHow a client is made.\n",
}
JSON = dict[str, Any]


def lore(root: Path, *arguments: str) -> JSON:
    """Return the JSON output of a command."""
    done = run_lore(*arguments, cwd=root)
    assert done.returncode == 0, done.stderr
    found: JSON = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Set up a project with 100 PRPs with `lore init`. Tests must not change it."""
    folder = tmp_path_factory.mktemp("unified")
    root = write_project(folder / "project", FILES)
    write_project(folder / "project-evil", {"secret.md": "secret"})
    (root / "link").symlink_to("../project-evil")
    assert lore(root, "init", "--json")["groups"]["user_prps"] == PRPS
    stop_owners(root)
    return root


@pytest.fixture(scope="module")
def app(project: Path, contract: Contract) -> Iterator[App]:
    app = App(project.resolve(), Settings(), contract)
    yield app
    app.close()


def search(app: App, query: str, **arguments: Any) -> JSON:
    return app.call("knowledge_search", {"query": query, **arguments})


def paths(reply: JSON) -> list[str]:
    return [result["path"] for result in reply["results"]]


def through_mcp(app: App, tool: str, arguments: JSON) -> JSON:
    async def call() -> JSON:
        async with Client(build_server(app.contract, Calls(app.contract, app.call), ["docs"])) as client:
            assert {*TOOLS, "init_project"} == {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool(tool, arguments)
            assert not result.is_error
            assert result.structured_content is not None
            return dict(result.structured_content)

    return anyio.run(call)


@pytest.mark.requirement("NEO-007")
def test_init_search_edit_and_search_finds_the_edit(project: Path, tmp_path: Path) -> None:
    """The end-to-end scenario with 100 PRPs, with the command line only."""
    root = tmp_path / "project"
    copy_project(project, root)
    before = lore(root, "call", "knowledge_search", "query=how is a zeppelin moored")
    write_project(root, {"examples/zeppelins.md": "# Zeppelins\n\nA zeppelin is moored at a mast.\n"})
    edited = root / "PRPs/executed/PRP-57-task.md"
    edited.write_text(edited.read_text().replace("The pattern", "The crew of a zeppelin moors it. The pattern"))
    settle(root)
    lore(root, "sync", "--json")
    after = lore(root, "call", "knowledge_search", "query=how is a zeppelin moored")
    example = lore(root, "call", "knowledge_search", "query=zeppelin", "--json-args", '{"sources": ["example"]}')
    read = lore(root, "call", "get_user_doc", "path=PRPs/executed/PRP-57-task.md")
    index = json.loads((root / ".ce/syntropy-index.json").read_text())

    assert "zeppelin" not in str(before["results"])
    assert paths(after)[:2] == ["examples/zeppelins.md", "PRPs/executed/PRP-57-task.md"]
    assert after["results"][0]["source_type"] == "example"
    assert after["results"][1]["excerpt"] == "The crew of a zeppelin moors it."
    assert paths(example)[0] == "examples/zeppelins.md"
    assert "zeppelin" in read["content"]
    assert "zeppelins" in index["knowledge"]["user_patterns"]


@pytest.mark.requirement("UQ-001", "UQ-002", "UQ-003")
def test_29_2_criterion_1_the_tool_get_framework_doc_is_functional(app: App) -> None:
    found = through_mcp(app, "get_framework_doc", {"doc_path": "research/01-prp-system"})

    assert found["success"] is True
    assert found["path"] == "research/01-prp-system"
    assert found["content"] == PAGE
    assert (found["metadata"]["title"], found["metadata"]["tags"]) == ("The PRP system", ["prp", "process"])
    assert found["metadata"]["last_modified"]


@pytest.mark.requirement("KM-045")
def test_29_2_criterion_2_the_tool_knowledge_search_is_functional(app: App) -> None:
    found = through_mcp(app, "knowledge_search", {"query": "error handling"})

    assert found["success"] is True
    assert found["query"] == "error handling"
    assert found["total_found"] > 0
    assert found["results"][0]["excerpt"]


@pytest.mark.requirement("UQ-032")
def test_29_2_a_search_accepts_project_root_and_options(app: App, project: Path) -> None:
    options = {"sources": ["prp", "example"], "limit": 3, "tags": []}

    found = through_mcp(
        app, "knowledge_search", {"query": "error handling", "project_root": str(project), "options": options}
    )

    assert found["results"]
    plain = search(app, "error handling", sources=["prp", "example"], limit=3)
    assert (found["sources_searched"], paths(found)) == (["prp", "example"], paths(plain))
    assert len(paths(found)) == 3


@pytest.mark.requirement("UQ-034")
@pytest.mark.parametrize("root", [".", "./", "examples/.."])
def test_a_relative_project_root_starts_at_the_project(app: App, root: str) -> None:
    assert search(app, "error handling", project_root=root)["results"]
    assert app.call("init_project", {"project_root": root, "sync": False})["project_root"] == str(app.index.root)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"project_root": "/nowhere"}, "project_root"),
        ({"project_root": ".."}, "project_root"),
        ({"project_root": "examples"}, "project_root"),
        ({"project_root": "examples/../.."}, "project_root"),
        ({"options": {"limit": 0}}, "limit"),
        ({"options": {"limit": 5}, "limit": 5}, "given twice"),
        ({"options": {"sort": "date"}}, "sort"),
        ({"options": {"query": "x"}}, "query"),
        ({"options": []}, "options"),
    ],
)
@pytest.mark.requirement("UQ-013", "UQ-033")
def test_29_2_wrong_options_and_other_projects_are_refused(app: App, arguments: JSON, expected: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        search(app, "error handling", **arguments)

    assert expected in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.requirement("UQ-006", "UQ-042")
def test_29_2_criterion_4_a_search_returns_results_from_all_sources(app: App) -> None:
    found = search(app, "patterns of architecture, errors and tools", limit=100, max_tokens=100_000)

    assert found["sources_searched"] == ["framework", "prp", "example", "memory"]
    assert {result["source_type"] for result in found["results"]} == set(DEFAULT)


@pytest.mark.requirement("KM-039", "UQ-015")
def test_29_2_criterion_6_results_include_excerpt_score_and_metadata(app: App) -> None:
    first = search(app, "validation gates of the framework")["results"][0]

    assert first["path"] == ".ce/PRPs/system/executed/PRP-1-validation.md"
    assert first["title"] == "Core Validation Framework"
    assert first["excerpt"] == "Four levels of gates say whether a change may go in."
    assert first["tags"] == ["validation", "L1-L4"]
    assert first["referenced_by"] == []
    assert first["score"] == 1
    named = search(app, "API errors", sources=["example"])["results"][0]
    assert (len(named["referenced_by"]), named["referenced_by_total"]) == (20, PRPS)


def test_29_2_criterion_7_the_kept_view_is_never_five_minutes_old_because_it_follows_the_index(app: App) -> None:
    view = View(app.index)
    first = view.entries()

    assert view.entries() is first
    page = app.index.root / "examples/patterns/api-errors.md"
    before = page.read_text(encoding="utf-8")
    page.write_text(f"# A new title\n\n{before}", encoding="utf-8")
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    assert view.entries().by_path["examples/patterns/api-errors.md"][0].title == "A new title"
    page.write_text(before, encoding="utf-8")
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("What does an API answer to a failure?", "examples/patterns/api-errors.md"),
        ("How does an API client get made?", "examples/api-client.md"),
        ("what to do when a remote service does not answer", ".ce/examples/system/patterns/error-recovery.py"),
        ("which levels decide whether a change is good", ".ce/PRPs/system/executed/PRP-1-validation.md"),
        ("how are tools to be named", ".serena/memories/tool-usage-guide.md"),
        ("what does a PRP say", ".ce/docs/research/01-prp-system.md"),
        ("every change has a test", ".ce/RULES.md"),
    ],
)
@pytest.mark.requirement("UQ-017")
def test_29_2_criterion_8_relevant_results_rank_higher(app: App, query: str, path: str) -> None:
    assert path in paths(search(app, query))[:2]


def test_29_2_criterion_8_the_better_match_comes_first(tmp_path: Path, contract: Contract) -> None:
    """The three documents are those of the specification's unit test."""
    texts = ("error handling patterns", "API client implementation", "error recovery and retry logic")
    write_project(tmp_path, {f"PRPs/{number}.md": f"{text}\n" for number, text in enumerate(texts, 1)})
    app = App(tmp_path.resolve(), Settings(), contract)
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    found = search(app, "error handling")["results"]
    app.close()

    assert [result["path"] for result in found] == ["PRPs/1.md", "PRPs/3.md"]  # the other is below the threshold
    assert found[0]["score"] > found[1]["score"]


@pytest.mark.requirement("UQ-038", "UQ-041")
def test_29_2_criterion_9_memories_are_integrated_without_being_stored_twice(app: App) -> None:
    found = search(app, "architecture patterns", sources=["memory"])

    assert paths(found)[0] == ".serena/memories/unified-architecture-patterns.md"
    assert app.call("get_user_doc", {"path": paths(found)[0]})["content"] == FILES[paths(found)[0]]


@pytest.mark.requirement("KM-050", "UQ-012", "UQ-013")
def test_29_2_the_limit_is_ten_by_default_and_at_most_a_hundred(app: App) -> None:
    assert len(search(app, "job isolation", max_tokens=100_000)["results"]) == 10
    assert len(search(app, "job isolation", limit=5)["results"]) == 5
    everything = "how it works in each part, and why it was done so"
    assert len(search(app, everything, limit=100, max_tokens=100_000)["results"]) == 100
    with pytest.raises(InvalidArgument):
        search(app, "job isolation", limit=101)


@pytest.mark.requirement("UQ-027", "UQ-029")
def test_29_2_an_empty_question_is_refused_and_a_missing_index_suggests_a_sync(app: App, hash_app: App) -> None:
    for query in ("", "  ", "\n"):
        with pytest.raises(InvalidArgument, match="`query` is empty") as caught:
            search(app, query)
        assert "question" in caught.value.hint.lower()
    with pytest.raises(IndexMissing) as missing:
        search(hash_app, "error")
    assert "lore sync" in missing.value.hint


@pytest.mark.requirement("KM-026", "KM-027")
def test_29_3_the_tool_get_system_doc_works(app: App) -> None:
    path = "PRPs/system/executed/PRP-1-validation.md"
    found = through_mcp(app, "get_system_doc", {"path": path})

    assert (found["success"], found["path"], found["content"]) == (True, path, FILES[f".ce/{path}"])
    assert found["size"] == len(found["content"])


@pytest.mark.requirement("KM-030", "KM-033", "UQ-044")
def test_29_3_the_tool_get_user_doc_works_on_a_file_that_was_just_written(tmp_path: Path, hash_app: App) -> None:
    for text in ("# My PRP\n", "# My edited PRP\n"):
        write_project(tmp_path, {"PRPs/executed/PRP-TEST.md": text})
        found = through_mcp(hash_app, "get_user_doc", {"path": "PRPs/executed/PRP-TEST.md"})
        assert (found["success"], found["content"]) == (True, text)


@pytest.mark.requirement("KM-034", "UQ-007", "UQ-008", "UQ-009", "UQ-010")
def test_29_3_the_tool_knowledge_search_works_across_all_sources(app: App) -> None:
    for name in SOURCES:
        query = {"memory": "naming", "memories": "naming", "system_patterns": "retry"}.get(
            name, "error validation test"
        )
        found = through_mcp(app, "knowledge_search", {"query": query, "sources": [name]})
        assert found["results"], name
        assert found["sources_searched"] == [name]
        assert {result["source_type"] for result in found["results"]} == {name}


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ("get_system_doc", "../../../etc/passwd"), ("get_system_doc", "../CLAUDE.md"),
        ("get_system_doc", "/etc/passwd"),
        ("get_user_doc", "../../../etc/passwd"), ("get_user_doc", "../project-evil/secret.md"),
        ("get_user_doc", ".ce/RULES.md"), ("get_user_doc", ".CE/RULES.md"), ("get_user_doc", "link/secret.md"),
        ("get_user_doc", "PRPs/..\\..\\x.md"), ("get_user_doc", "a\0.md"),
    ],
)  # fmt: skip
@pytest.mark.requirement("KM-032")
def test_29_3_directory_traversal_is_prevented(app: App, tool: str, path: str) -> None:
    with pytest.raises(PathRefused) as caught:
        app.call(tool, {"path": path})

    assert caught.value.http_status == 403
    assert caught.value.hint


@pytest.mark.long  # it measures time
@pytest.mark.requirement("KM-042", "UQ-031")
def test_29_3_a_search_takes_less_than_100_milliseconds(app: App) -> None:
    """Take the median of distinct questions once the model is loaded; benchmarks/results.md has the 95th percentile."""
    search(app, "warm")
    times = []
    for number in range(15):
        started = time.perf_counter()
        search(app, f"error handling in part {number}")
        times.append(time.perf_counter() - started)

    assert sorted(times)[len(times) // 2] < 0.1


def test_29_3_relevance_depends_on_all_words_the_phrase_and_the_tags(app: App) -> None:
    both = search(app, "job isolation", explain=True)["results"][0]
    assert both["title"].startswith("Job Isolation")
    assert "isolation" in both["excerpt"]
    tagged = [result for result in search(app, "validation", explain=True)["results"] if "validation" in result["tags"]]
    assert {"tagMatch"} <= {term["term"] for term in tagged[0]["why"]}


@pytest.mark.parametrize(
    ("tool", "arguments", "error", "hint"),
    [
        ("get_framework_doc", {"doc_path": "research/1-prp-system"}, DocumentNotFound, "research/01-prp-system"),
        ("get_framework_doc", {"doc_path": "../RULES"}, PathRefused, ""),
        ("get_system_doc", {"path": "PRPs/executed/PRP-1-validation.md"}, DocumentNotFound,
         "PRPs/system/executed/PRP-1-validation.md"),
        ("get_user_doc", {"path": ".ce/RULES.md"}, PathRefused, "get_system_doc"),
    ],
)  # fmt: skip
@pytest.mark.requirement("KM-029", "KM-031", "UQ-004", "UQ-005", "UQ-043")
def test_29_3_errors_name_the_problem_and_the_remedy(
    app: App, tool: str, arguments: JSON, error: type[Exception], hint: str
) -> None:
    with pytest.raises(error) as caught:
        app.call(tool, arguments)

    assert hint in caught.value.hint  # type: ignore[attr-defined]


def test_the_whole_text_is_searched_not_only_its_beginning(tmp_path: Path, contract: Contract) -> None:
    """The earlier program searched only the first 200 characters, and treated folders as tags."""
    filler = "An ordinary sentence about nothing much. " * 40
    write_project(
        tmp_path / "executed" / "project",
        {
            "PRPs/executed/PRP-1.md": f"# One\n\n{filler}\n\nThe xylophone is tuned.\n",
            "PRPs/executed/PRP-2.md": "# Two\n",
        },
    )
    root = (tmp_path / "executed" / "project").resolve()
    app = App(root, Settings(), contract, HashModel())
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
    found = search(app, "xylophone executed", explain=True)
    app.close()
    shutil.rmtree(root)

    assert found["results"][0]["excerpt"] == "The xylophone is tuned."
    assert "executed" not in found["results"][0]["tags"]
