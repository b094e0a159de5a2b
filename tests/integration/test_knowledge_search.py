"""A question searches the framework, PRPs, examples and memories together."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import QuerySettings, Settings
from lore_etl.core.errors import InvalidArgument, PathRefused
from lore_etl.pipeline.sync import sync
from lore_server.app import App
from lore_server.framework.unified_search import DAY_SECONDS, DEFAULT, THRESHOLD, UnifiedSearch
from lore_server.framework.view import SOURCES, View
from lore_server.query.freshness import Freshness
from lore_server.query.query_service import QueryService
from tests.harness.calls import Opener, app_fixture, edit, sync_job
from tests.harness.framework import framework
from tests.harness.projects import open_index, write_project
from tests.harness.refusals import refused

CROWD = 250
RULES = ".ce/RULES.md"
FOUND_IN = {"system_patterns": "backoff", "system_rules": "fast failure"}  # others contain a lantern
FEW = Settings(query=QuerySettings(nResults=10))
FILES = {
    **framework(prps=6),
    ".ce/docs/research/00-overview.md": "---\ntags: [overview]\n---\n# Overview\n\nWhat lantern means here.\n",
    ".ce/PRPs/system/executed/PRP-2-lantern.md": "# Lantern of the framework\n\nThe lantern lights the way.\n",
    "PRPs/executed/PRP-40-lantern.md": "---\ntags: [light, Night Shift]\n---\n# A lantern\n\nThe lantern is lit.\n",
    "examples/patterns/lantern.py": '"""How a lantern is lit.\n\nTags: light\n"""\n\n\nlit = True\n',
    ".serena/memories/lamps.md": "---\ntags: [light]\n---\n# Lamps\n\nA lantern goes out in the wind.\n",
    "docs/guide.md": "# The lantern guide\n\nA lantern, a lantern.\n",
    **{f"src/mod{n}.py": f'"""The lantern {n}: lantern, lantern lit."""\n' for n in range(CROWD)},
}
app = app_fixture(FILES, FEW)


def search(app: App, query: str, **arguments: Any) -> dict[str, Any]:
    return app.call("knowledge_search", {"query": query, **arguments})


def paths(reply: dict[str, Any]) -> list[str]:
    return [result["path"] for result in reply["results"]]


def test_many_other_files_do_not_displace_results(app: App) -> None:
    everywhere = app.call("query_documents", {"query": "lantern lit", "limit": 100, "max_tokens": 100_000})
    found = search(app, "lantern lit", limit=100, max_tokens=100_000)

    crowd = {result["source"] for result in everywhere["results"]}
    assert crowd.isdisjoint(("PRPs/executed/PRP-40-lantern.md", ".serena/memories/lamps.md"))
    assert {path for path in paths(found) if "lantern" in path or "lamps" in path or "overview" in path} == {
        ".ce/docs/research/00-overview.md",
        ".ce/PRPs/system/executed/PRP-2-lantern.md",
        "PRPs/executed/PRP-40-lantern.md",
        "examples/patterns/lantern.py",
        ".serena/memories/lamps.md",
    }
    assert not any(path.startswith(("src/", "docs/")) for path in paths(found))


@pytest.mark.requirement("KM-040")
def test_every_entry_of_a_group_is_searched_even_if_many_others_match(app: App) -> None:
    assert paths(search(app, "the way of the framework", sources=["system_prps"]))[0].startswith(".ce/PRPs/")
    assert search(app, "lantern", sources=["system_prps"])["total_indexed"] == 2
    assert search(app, "lantern", sources=["system_rules"])["total_indexed"] == 3


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.requirement("KM-035")
def test_every_source_can_be_searched_by_itself(app: App, name: str) -> None:
    found = search(app, FOUND_IN.get(name, "lantern"), sources=[name], limit=100, max_tokens=100_000)

    assert found["sources_searched"] == [name]
    assert {result["source_type"] for result in found["results"]} == {name}
    here = {
        "framework": lambda path: path.startswith(".ce/"),
        "prp": lambda path: "PRPs/" in path,
        "example": lambda path: "examples/" in path,
        "memory": lambda path: path.startswith(".serena/"),
        "system_patterns": lambda path: path.startswith(".ce/examples/"),
        "user_patterns": lambda path: path.startswith("examples/"),
        "system_prps": lambda path: path.startswith(".ce/PRPs/"),
        "user_prps": lambda path: path.startswith("PRPs/"),
        "memories": lambda path: path.startswith(".serena/"),
        "system_rules": lambda path: path == ".ce/RULES.md",
    }[name]
    assert all(map(here, paths(found)))


def test_all_four_sources_are_searched_by_default_and_each_result_names_its_source(app: App) -> None:
    found = search(app, "lantern", limit=100, max_tokens=100_000)

    assert found["sources_searched"] == list(DEFAULT) == ["framework", "prp", "example", "memory"]
    types = {result["path"]: result["source_type"] for result in found["results"]}
    assert types[".ce/docs/research/00-overview.md"] == "framework"
    assert types[".ce/PRPs/system/executed/PRP-2-lantern.md"] == "framework"
    assert types["PRPs/executed/PRP-40-lantern.md"] == "prp"
    assert types["examples/patterns/lantern.py"] == "example"
    assert types[".serena/memories/lamps.md"] == "memory"
    by_first = search(app, "lantern", sources=["prp", "framework"], limit=100, max_tokens=100_000)["results"]
    assert {result["source_type"] for result in by_first if result["path"].startswith(".ce/PRPs/")} == {"prp"}


def test_a_result_has_its_excerpt_score_tags_and_references(app: App) -> None:
    found = search(app, "API errors problem record", sources=["example"])["results"][0]

    assert found["path"] == "examples/patterns/api-errors.md"
    assert found["title"] == "API errors"
    assert found["excerpt"] == "Answer every failure with a problem record."
    assert found["tags"] == ["api", "error", "fastapi"]
    assert found["referenced_by"] == [f"PRP-{number}" for number in range(10, 16)]
    assert 0.5 < found["score"] <= 1


@pytest.mark.requirement("UQ-014")
def test_a_tag_filter_returns_every_matching_result(app: App) -> None:
    assert set(paths(search(app, "lantern", tags=["light"]))) == {
        "PRPs/executed/PRP-40-lantern.md", "examples/patterns/lantern.py", ".serena/memories/lamps.md",
    }  # fmt: skip
    assert paths(search(app, "lantern", tags=[" NIGHT shift "])) == ["PRPs/executed/PRP-40-lantern.md"]
    assert paths(search(app, "lantern", tags=["overview"])) == [".ce/docs/research/00-overview.md"]
    assert len(paths(search(app, "lantern", tags=["overview", "night shift"]))) == 2


@pytest.mark.requirement("UQ-016")
def test_the_total_is_counted_before_the_limit_and_a_cursor_returns_the_rest(app: App) -> None:
    whole = search(app, "lantern task", limit=100, max_tokens=100_000)
    seen, cursor = [], None
    while True:
        part = search(app, "lantern task", limit=3, **({"cursor": cursor} if cursor else {}))
        seen += paths(part)
        assert part["total_found"] == whole["total_found"]
        assert len(part["results"]) <= 3
        cursor = part.get("next_cursor")
        if cursor is None:
            break

    assert seen == paths(whole)
    assert len(set(seen)) == len(seen) == whole["total_found"] > 9


@pytest.mark.parametrize("budget", [300, 500, 2_000])
def test_a_reply_stays_within_its_budget_and_reports_truncation(app: App, budget: int) -> None:
    found = search(app, "lantern task", limit=100, max_tokens=budget)

    assert len(str(found)) <= budget * 3.2
    assert found["results"]
    if len(found["results"]) < found["total_found"]:
        assert "omitted" in found["truncated"]
        assert found["next_cursor"]


@pytest.mark.requirement("UQ-023", "UQ-026", "KM-036", "KM-037")
@pytest.mark.parametrize("query", ["lantern", "lantern lit", "error handling", "a change has a test", "API errors"])
def test_scores_are_above_the_threshold_and_at_most_one_and_fall(app: App, query: str) -> None:
    found = [result["score"] for result in search(app, query, limit=100, max_tokens=100_000)["results"]]

    assert found == sorted(found, reverse=True)
    assert found[0] > 0.5
    assert THRESHOLD < found[-1] <= found[0] <= 1


@pytest.mark.requirement("KM-021", "KM-022", "KM-049")
@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("fast failure", [3]), ("fishy fallbacks that mask", [4]), ("every change has a test", [6]),
        ("errors and a test", [4, 6]),
    ],
)  # fmt: skip
def test_a_rule_is_a_result_of_its_own_with_its_line(app: App, query: str, lines: list[int]) -> None:
    rules = FILES[".ce/RULES.md"].split("\n")
    for sources in (["system_rules"], ["framework"]):
        found = [row for row in search(app, query, sources=sources, explain=True)["results"] if row["path"] == RULES]

        if sources == ["system_rules"]:
            assert search(app, query, sources=sources)["total_indexed"] == 3
        assert sorted(row["lines"] for row in found) == [[line, line] for line in lines]
        for row in found:
            words = row["excerpt"].lstrip("❌ ").split(":")[0]
            assert words in rules[row["lines"][0] - 1]
            assert row["title"] == row["excerpt"]
            assert sum(term["value"] for term in row["why"]) == pytest.approx(row["score"], abs=0.01)


def test_every_score_is_explained(app: App) -> None:
    for result in search(app, "lantern light", explain=True)["results"]:
        assert sum(term["value"] for term in result["why"]) == pytest.approx(result["score"], abs=0.01)
    terms = {term["term"] for term in search(app, "lantern light", explain=True)["results"][0]["why"]}
    assert {"tagMatch", "titleMatch", "recentlyChanged"} & terms


@pytest.mark.requirement("UQ-011")
def test_an_unknown_source_is_rejected_with_the_known_sources(app: App) -> None:
    with pytest.raises(InvalidArgument, match="blog") as caught:
        search(app, "lantern", sources=["prp", "blog"])

    assert all(name in caught.value.hint for name in SOURCES)
    with pytest.raises(InvalidArgument, match="limit"):
        search(app, "lantern", limit=101)


def test_a_search_without_results_suggests_where_else_to_search(synced_app_of: Opener) -> None:
    app = synced_app_of({"README.md": "# R\n\nText.\n"})
    assert search(app, "zebra")["suggestion"].startswith("This project has no such documents")
    edit(app, {"PRPs/PRP-1.md": "---\ntags: [a]\n---\n# One\n\nThe lantern.\n"})

    for only in ({"sources": ["memory"]}, {"tags": ["zzz"]}):
        elsewhere = search(app, "lantern", **only)
        assert (elsewhere["results"], elsewhere["total_found"]) == ([], 0)
        assert elsewhere["suggestion"].startswith("Use other or fewer words, more sources or no tags")


@pytest.mark.requirement("UQ-022")
def test_changes_of_the_last_thirty_days_are_boosted_according_to_the_given_clock(tmp_path: Path) -> None:
    write_project(tmp_path, {f"PRPs/PRP-{n}.md": f"# Same {n}\n\nThe lantern is lit.\n" for n in (1, 2)})
    long_ago = time.time() - 31 * DAY_SECONDS
    os.utime(tmp_path / "PRPs/PRP-1.md", (long_ago, long_ago))
    index = open_index(tmp_path)
    sync(index)

    def scores(now: float) -> dict[str, float]:
        queries, freshness, view = QueryService(index), Freshness(index), View(index)
        found = UnifiedSearch(index, queries, freshness, view, clock=lambda: now)
        reply = found.search(query="lantern", explain=True, max_tokens=2_000)
        return {
            result["path"]: {term["term"]: term["value"] for term in result["why"]}.get("recentlyChanged", 0)
            for result in reply["results"]
        }

    assert [value > 0 for _, value in sorted(scores(time.time()).items())] == [False, True]
    assert [value > 0 for _, value in sorted(scores(time.time() - 2 * DAY_SECONDS).items())] == [True, True]
    assert not any(scores(time.time() + 31 * DAY_SECONDS).values())
    index.close()


@pytest.mark.requirement("KM-041")
def test_an_edit_is_found_after_the_sync_and_reported_as_changed_before(synced_app_of: Opener) -> None:
    app = synced_app_of({"PRPs/PRP-1.md": "# One\n\nThe lantern.\n"})
    first = search(app, "lantern")
    write_project(app.index.root, {"PRPs/PRP-1.md": "# One\n\nThe zebra.\n", "PRPs/PRP-2.md": "# Two\n\nA zebra.\n"})
    between = search(app, "lantern")
    sync_job(app)
    after = search(app, "zebra")

    assert "changed" not in first["results"][0]
    assert between["results"][0]["changed"] is True
    assert sorted(paths(after)) == ["PRPs/PRP-1.md", "PRPs/PRP-2.md"]
    assert "zebra" in after["results"][0]["excerpt"]


def test_class_relations_add_no_files_of_other_sources(synced_app_of: Opener) -> None:
    app = synced_app_of({
        "src/base.py": "class Base:\n    def lantern(self) -> None:\n        return\n",
        "examples/child.py": "from src.base import Base\n\n\nclass Child(Base):\n    x = 1\n",
    })  # fmt: skip

    everywhere = app.call("query_documents", {"query": "Child"})

    assert paths(search(app, "Child")) == ["examples/child.py"]
    assert "src/base.py" in {result["source"] for result in everywhere["results"]}


def test_memories_of_agents_are_found_with_a_hint_on_how_to_read_them(tmp_path: Path, open_app: Opener) -> None:
    write_project(tmp_path / "project", {"PRPs/PRP-1.md": "# One\n\nThe lantern.\n"})
    app = open_app(tmp_path / "project", home=tmp_path / "home")
    app.call("add_memory", {"name": "Lamps", "body": "A lantern goes out.", "metadata": {"tags": ["light"]}})
    sync_job(app)
    found = search(app, "lantern", sources=["memory"], tags=["light"])
    [path] = paths(found)
    with refused(PathRefused, hint="get_source"):
        app.call("get_user_doc", {"path": path})
    whole = app.call("get_source", {"path": path})

    assert path.startswith("@lore/memories/")
    assert "A lantern goes out." in whole["text"]
