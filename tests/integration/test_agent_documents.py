"""Documents written by agents are indexed immediately, and superseded documents rank below their successors."""

from pathlib import Path
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import IndexMissing, InvalidContent
from lore_server.app import App
from lore_server.operations.table import render
from tests.harness.calls import Call, Opener, indexed, sync_job
from tests.harness.projects import settle, write_project

JSON = dict[str, Any]
PAGES = {"README.md": "# Ferry\n\nA queue of jobs.\n", "docs/retries.md": "# Retries\n\nRetries wait twice as long.\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path.resolve() / "ferry", PAGES)


@pytest.fixture
def app(root: Path, tmp_path: Path, open_app: Opener) -> App:
    return open_app(root, home=tmp_path / "home")


def sync(call: Call) -> JSON:
    report: JSON = call("manage_knowledge_base", action="sync", wait_seconds=600)["report"]
    return report


def note(call: Call, filename: str, text: str, **more: Any) -> JSON:
    chapters = [{"title": "Notes", "content": text}]
    return call("create_knowledge_file", filename=filename, title=filename, chapters=chapters, **more)


def write(app: App, call: Call, filename: str, text: str, **more: Any) -> None:
    """Write a document, and wait until it is indexed."""
    note(call, filename, text, **more)
    indexed(app, call)


def sources(call: Call, query: str, **more: Any) -> list[str]:
    return [result["source"] for result in call("query_documents", query=query, **more)["results"]]


# --- immediate indexing ----------------------------------------------------------------------------------------------


def test_a_document_is_searched_and_cited_as_soon_as_it_is_written_changed_or_deleted(app: App, call: Call) -> None:
    sync(call)
    write(app, call, "lanterns", "Lanterns burn whale oil on this ship.")

    found = call("query_documents", query="lanterns whale oil")["results"][0]
    answer = call("ask_knowledge_base", query="What do the lanterns burn?")
    assert (found["source"], found["type"]) == ("@lore/knowledge/lanterns.md", "knowledge")
    assert "whale oil" in answer["citations"][0]["quote"]
    assert answer["citations"][0]["source"] == "@lore/knowledge/lanterns.md"
    assert sources(call, "lanterns", type="knowledge") == ["@lore/knowledge/lanterns.md"]
    assert call("query_documents", query="lanterns")["freshness"]["state"] == "fresh"

    call("update_chapter", filename="lanterns", chapter_title="Notes", new_content="Lanterns burn paraffin.")
    call("update_project_main", content="# Ship\n\nEverybody wears a lifebelt.\n")
    indexed(app, call)
    assert "paraffin" in call("query_documents", query="lanterns burn")["results"][0]["excerpt"]
    assert sources(call, "lifebelt")[0] == "@lore/main.md"
    assert call("get_source", path="@lore/main.md")["type"] == "knowledge"

    call("delete_project", project_id="ferry")
    indexed(app, call)
    assert {source["source"] for source in call("list_sources")["sources"]} == set(PAGES)


def test_only_written_documents_are_read(app: App, call: Call, root: Path) -> None:
    sync(call)
    commit = app.index.catalogue.meta("synced_at")
    write_project(root, {"docs/retries.md": "# Retries\n\nNow about lighthouses.\n", "docs/new.md": "# New\n"})
    write(app, call, "lanterns", "Lanterns burn whale oil.")

    freshness = call("query_documents", query="lanterns")["freshness"]
    assert (freshness["state"], freshness["changed_files"]) == ("stale", 2)
    assert sources(call, "lanterns")[0] == "@lore/knowledge/lanterns.md"
    assert "lighthouses" not in call("get_source", path="docs/retries.md")["text"]
    assert app.index.catalogue.meta("synced_at") == commit

    report = sync(call)
    assert report["files"] == 4
    assert sources(call, "lighthouses")[0] == "docs/retries.md"


def test_only_documents_of_this_project_are_indexed_and_only_if_there_is_an_index(app: App, call: Call) -> None:
    note(call, "lanterns", "Lanterns burn whale oil.")
    assert not app.index.exists()

    sync(call)
    write(app, call, "ropes", "Ropes are tarred.", project_id="another ship")
    assert sources(call, "lanterns")[0] == "@lore/knowledge/lanterns.md"
    assert call("list_sources")["total"] == len(PAGES) + 1

    call("manage_knowledge_base", action="delete", confirm=True, wait_seconds=600)
    write(app, call, "oil", "Lanterns burn whale oil.")
    with pytest.raises(IndexMissing, match="The index is empty"):
        call("list_sources")


def test_a_write_during_a_sync_is_indexed_after_it(app: App, call: Call, root: Path) -> None:
    sync(call)
    write_project(root, {f"docs/{n}.md": f"# Page {n}\n\nSubject {n}.\n" for n in range(40)})
    call("manage_knowledge_base", action="sync", wait_seconds=0)
    write(app, call, "lanterns", "Lanterns burn whale oil.")

    assert sources(call, "lanterns whale")[0] == "@lore/knowledge/lanterns.md"
    assert call("list_sources")["total"] == len(PAGES) + 41


def test_a_written_or_deleted_document_counts_as_changed_until_it_is_indexed(app: App, call: Call) -> None:
    note(call, "ropes", "Ropes are tarred.")
    sync(call)
    app.freshness.watched = True  # so it does not check all files again by itself
    assert call("query_documents", query="lanterns")["freshness"]["state"] == "fresh"
    app.jobs.stop()

    writes: list[tuple[str, JSON]] = [
        ("update_project_main", {"content": "# Ferry"}),
        ("add_memory", {"name": "Oil", "body": "The lanterns need oil."}),
        ("delete_knowledge_file", {"filename": "ropes"}),
    ]
    for number, (operation, arguments) in enumerate(writes, start=1):
        call(operation, **arguments)
        freshness = call("query_documents", query="lanterns")["freshness"]
        assert (freshness["state"], freshness["changed_files"]) == ("stale", number)


# --- selection of files ----------------------------------------------------------------------------------------------


def test_a_document_that_was_edited_by_hand_counts_as_changed_and_one_whose_list_is_damaged_stays_indexed(
    app: App, call: Call, tmp_path: Path
) -> None:
    note(call, "lanterns", "Lanterns burn whale oil.")
    sync(call)
    file = next((tmp_path / "home" / "projects").rglob("lanterns.md"))
    file.write_text(file.read_text().replace("whale oil", "paraffin"), encoding="utf-8")
    settle(tmp_path / "home")
    app.freshness.notice()
    result = call("query_documents", query="lanterns")
    assert result["results"][0]["changed"] is True
    assert result["freshness"]["changed_files"] == 1

    (tmp_path / "home" / "index.json").write_text("{", encoding="utf-8")
    report = sync(call)
    assert [failure["source"] for failure in report["failed"]] == ["@lore"]
    assert sources(call, "lanterns")[0] == "@lore/knowledge/lanterns.md"


@pytest.mark.parametrize(
    ("home", "settings", "listed"),
    [
        ("ferry/notes", {}, ["@lore/main.md"]),
        ("home", {"sources": {"guides": ["**/*.md"]}}, ["@lore/main.md"]),
        ("home", {"index": {"exclude": ["@lore/"]}}, []),
    ],
    ids=["a folder inside the project", "a pattern of the project for guides", "excluded files"],
)
def test_the_main_document_is_indexed_once_as_knowledge_and_without_secrets_unless_it_is_excluded(
    root: Path, open_app: Opener, home: str, settings: JSON, listed: list[str]
) -> None:
    app = open_app(root, settings=Settings.model_validate(settings), home=root.parent / home)
    app.call("update_project_main", {"content": "# Ship\n\nThe key is AKIA" + "IOSFODNN7EXAMPLE.\n"})
    sync_job(app)

    found = [source["source"] for source in app.call("list_sources", {})["sources"]]
    assert sorted(found) == sorted([*PAGES, *listed])
    for source in listed:
        document = app.call("get_source", {"path": source})
        assert (document["type"], "AKIA" in document["text"]) == ("knowledge", False)


def test_a_folder_with_the_same_name_is_skipped_and_reported(call: Call, root: Path) -> None:
    write_project(root, {"@lore/main.md": "# Mine\n"})

    report = sync(call)
    assert [file["source"] for file in report["skipped"]] == ["@lore"]
    assert report["files"] == len(PAGES)


# --- outdated documents ----------------------------------------------------------------------------------------------


def test_a_superseded_document_ranks_below_its_successor_and_is_marked_until_that_is_deleted(
    app: App, call: Call
) -> None:
    sync(call)
    note(call, "lanterns", "Lanterns burn whale oil. Lanterns burn whale oil at night.")
    write(app, call, "lights", "Lanterns are electric now.", supersedes=["lanterns"])

    result = call("query_documents", query="lanterns burn whale oil", explain=True)
    first, second = result["results"][:2]
    assert (first["source"], second["source"]) == ("@lore/knowledge/lights.md", "@lore/knowledge/lanterns.md")
    assert second["outdated"] == {"superseded_by": "@lore/knowledge/lights.md"}
    assert "supersededPenalty" in {term["term"] for term in second["why"]}
    assert "(superseded by @lore/knowledge/lights.md)" in render("query_documents", result).body
    assert "outdated" not in first
    references = call("ask_knowledge_base", query="What do lanterns burn?")["references"]
    outdated = {reference["source"]: reference.get("outdated") for reference in references}
    assert outdated["@lore/knowledge/lanterns.md"] is not None

    call("delete_knowledge_file", filename="lights")
    indexed(app, call)
    found = call("query_documents", query="lanterns whale oil")["results"][0]
    assert (found["source"], found.get("outdated")) == ("@lore/knowledge/lanterns.md", None)


def test_a_successor_without_any_query_word_is_also_returned_and_an_expired_document_loses_score(
    app: App, call: Call
) -> None:
    sync(call)
    note(call, "lanterns", "Lanterns burn whale oil.")
    write(app, call, "electricity", "Bulbs.", supersedes=["lanterns.md"])
    assert sources(call, "whale oil lanterns")[:2] == ["@lore/knowledge/electricity.md", "@lore/knowledge/lanterns.md"]

    note(call, "offer", "Berths cost ten crowns.", valid_until="2020-12-31")
    write(app, call, "prices", "Berths cost twelve crowns.", valid_until="2999-12-31")
    found = {result["source"]: result for result in call("query_documents", query="berths cost crowns")["results"]}
    assert found["@lore/knowledge/offer.md"]["outdated"] == {"valid_until": "2020-12-31"}
    assert "outdated" not in found["@lore/knowledge/prices.md"]
    assert found["@lore/knowledge/offer.md"]["score"] < found["@lore/knowledge/prices.md"]["score"]


@pytest.mark.parametrize("expected", ["soon", "2020", "2020-13-01", "2020-01-01T00:00:00"])
def test_a_last_day_that_is_not_a_date_is_rejected_or_reported(call: Call, root: Path, expected: str) -> None:
    with pytest.raises(InvalidContent, match="is not a date"):
        note(call, "offer", "Berths cost ten crowns.", valid_until=expected)
    note(call, "offer", "Berths cost ten crowns.")
    text = f"---\ntitle: Offer\nvalid_until: '{expected}'\n---\n\n## Notes\n\nBerths cost ten crowns.\n"
    with pytest.raises(InvalidContent, match="is not a date"):
        call("write_knowledge_file", filename="offer", content=text)
    write_project(root, {"docs/offer.md": text})
    next((root.parent / "home").glob("projects/*/knowledge/offer.md")).write_text(text)
    settle(root)

    for warnings in (sync(call)["warnings"], call("healthcheck")["problems"]["warnings"]):
        named = [warning.partition(":")[0] for warning in warnings if "valid_until" in warning]
        assert named == ["@lore/knowledge/offer.md", "docs/offer.md"]
    assert "is not a date" in call("list_knowledge_files")["files"][0]["problem"]
    found = call("query_documents", query="berths cost crowns")["results"]
    assert {"docs/offer.md", "@lore/knowledge/offer.md"} <= {result["source"] for result in found}
    assert not any("outdated" in result for result in found)


def test_files_of_the_project_supersede_others_and_a_circle_of_them_causes_a_warning(call: Call, root: Path) -> None:
    more = {"docs/adr/0001.md": "# Use files\n\nWe store jobs in files.\n"}
    more["docs/adr/0002.md"] = "---\nsupersedes: 0001.md\n---\n\n# Use SQLite\n\nWe store jobs in SQLite.\n"
    for name, other in (("a.md", "b.md"), ("b.md", "a.md")):
        more[name] = f"---\nsupersedes: {other}\n---\n\n# {name}\n"
    write_project(root, more)

    for warnings in (sync(call)["warnings"], call("healthcheck")["problems"]["warnings"]):
        assert any("a.md, b.md" in warning for warning in warnings)
    found = call("query_documents", query="store jobs in files")["results"]
    assert [result["source"] for result in found[:2]] == ["docs/adr/0002.md", "docs/adr/0001.md"]
    assert found[1]["outdated"] == {"superseded_by": "docs/adr/0002.md"}
    assert call("get_document_by_id", id=found[1]["id"])["superseded_by"] == "docs/adr/0002.md"
