"""The operations on projects: identity, versions, errors, history, search, the activity log."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lore_etl.core.errors import LoreError
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.replies.problem import problem
from lore_server.services.knowledge_search import NO_DOCUMENTS, SUGGESTION
from tests.harness.calls import Call, Opener, calling
from tests.harness.knowledge import HOSTILE_IDS, assert_sound, git, seed_store

JSON = dict[str, Any]
SECRET = "correct horse battery staple"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "My App"
    folder.mkdir()
    return folder


@pytest.fixture
def app(root: Path, home: Path, open_app: Opener) -> App:
    return open_app(root, home=home)


def failed(call: Call, name: str, **arguments: Any) -> JSON:
    with pytest.raises(LoreError) as caught:
        call(name, **arguments)
    return {**problem(caught.value)}


def write(call: Call, filename: str = "guide", *titles: str, **more: Any) -> JSON:
    chapters = [{"title": title, "content": f"Text of {title}."} for title in titles or ("First", "Second")]
    return call("create_knowledge_file", filename=filename, title=filename, chapters=chapters, **more)


# --- identity of projects --------------------------------------------------------------------------------------------


def test_without_an_id_the_folder_or_its_git_remote_is_the_project(root: Path, call: Call) -> None:
    assert call("update_project_main", content="x")["project_id"] == "My App"
    assert call("get_project_main", project_id="My App")["content"] == "x"

    git(root, "init", "-q")
    git(root, "remote", "add", "origin", "git@host:team/other.git")
    assert call("list_projects")["current"] == "other"


def test_reading_creates_nothing_and_a_health_check_touches_nothing(call: Call, home: Path) -> None:
    for name in ("list_projects", "get_project_main", "list_knowledge_files", "get_server_info", "get_storage_status"):
        call(name)
    call("search_knowledge", query="x")
    assert not home.exists()

    seed_store(home)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    call("healthcheck")
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


def test_a_search_in_a_project_without_documents_says_that_it_has_none(call: Call) -> None:
    assert call("search_knowledge", query="x")["suggestion"] == NO_DOCUMENTS
    write(call)
    assert call("search_knowledge", query="qwxyzzy")["suggestion"] == SUGGESTION


# --- versions --------------------------------------------------------------------------------------------------------


def test_a_replaced_text_can_be_read_by_its_commit(call: Call) -> None:
    first = write(call, "guide", "First")
    text = call("get_knowledge_file", filename="guide")["document"]["full_content"]
    call("update_project_main", content="now")
    done = call("write_knowledge_file", filename="guide", content=f"{text}\n## More\n\nx\n", author="ann")

    files = call("list_knowledge_files")["files"]
    listed = [(document["filename"], document["chapters"], document["version"]) for document in files]
    assert listed == [("guide.md", 2, done["version"])]
    for name, more in (("write_knowledge_file", {"filename": "guide"}), ("update_project_main", {})):
        record = failed(call, name, content="x", expected_version=first["version"], **more)
        assert record["code"] == "CONFLICT"
    then = call("get_knowledge_file", filename="guide", commit=first["commit"])
    assert (then["document"]["full_content"], then["version"]) == (text, first["version"])
    assert not call("get_project_main", commit=first["commit"])["exists"]
    assert failed(call, "get_knowledge_file", filename="guide", commit="0" * 40)["code"] == "COMMIT_NOT_FOUND"
    assert failed(call, "write_knowledge_file", filename="no", content="x")["code"] == "DOCUMENT_NOT_FOUND"


def test_a_list_marks_outdated_documents_as_the_search_does(call: Call) -> None:
    write(call, "old", valid_until="2020-01-01")
    write(call, "new", supersedes=["old.md"])
    write(call, "next", supersedes=["new"], valid_until="2999-01-01")

    outdated = {file["filename"]: file.get("outdated") for file in call("list_knowledge_files")["files"]}
    assert outdated == {
        "old.md": {"superseded_by": "next.md", "valid_until": "2020-01-01"},
        "new.md": {"superseded_by": "next.md"},
        "next.md": None,
    }
    found = call("search_knowledge", query="first")
    assert {match["file"]: match.get("outdated") for match in found["results"]} == outdated
    assert [match["file"] for match in found["results"]][:1] == ["next.md"]
    assert "superseded by next.md" in render("search_knowledge", found).body


def test_a_document_without_a_title_is_named_by_its_first_heading_everywhere(call: Call) -> None:
    write(call, "old")
    call("write_knowledge_file", filename="old", content="# Mooring lines\n\n## First\n\nText of First.\n")
    write(call, "new", supersedes=["Mooring lines"])

    old = next(file for file in call("list_knowledge_files")["files"] if file["filename"] == "old.md")
    found = next(one for one in call("search_knowledge", query="first")["results"] if one["file"] == "old.md")

    assert old["outdated"] == found["outdated"] == {"superseded_by": "new.md"}
    titles = [
        old["title"],
        found["metadata"]["title"],
        call("get_knowledge_file", filename="old")["document"]["metadata"]["title"],
        call("list_chapters", filename="old")["title"],
    ]
    assert titles == ["Mooring lines"] * 4


# --- chapters and sections -------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-081")
def test_chapters_are_added_removed_listed_and_read_in_sequence(call: Call) -> None:
    write(call)
    call("add_chapter", filename="guide", chapter_title="Middle", content="m", position="after", reference_index=0)
    call("add_chapter", filename="guide", chapter_title="Last", content="l", summary="In short.")
    call("remove_chapter", filename="guide", chapter_title="First")

    listed = call("list_chapters", filename="guide")
    assert [chapter["title"] for chapter in listed["chapters"]] == ["Middle", "Second", "Last"]
    found = call("get_chapter", filename="guide", chapter_title="Middle")
    read = [found["chapter"]["title"]]
    while found["chapter"]["index"] + 1 < found["count"]:
        found = call("get_chapter", filename="guide", chapter_index=found["chapter"]["index"] + 1)
        read.append(found["chapter"]["title"])
    assert read == ["Middle", "Second", "Last"]
    assert found["chapter"]["content"] == "In short.\n\nl"
    repeated = failed(call, "add_chapter", filename="guide", chapter_title="Last", content="")
    assert repeated["code"] == "SECTION_ALREADY_EXISTS"


@pytest.mark.requirement("KB-080")
def test_sections_of_the_main_document_are_changed_one_by_one(call: Call) -> None:
    call("update_project_main", content="# App\n\n## Build\n\nmake\n")
    call("add_project_section", section_header="## Test", content="make test")
    call("add_project_section", section_header="## First", content="1", position="before", reference_header="## Build")
    call("update_project_section", section_header="## Build", new_content="make all")
    call("remove_project_section", section_header="## First")

    assert call("get_project_main")["content"] == "# App\n\n## Build\n\nmake all\n\n## Test\n\nmake test\n"
    assert failed(call, "update_project_section", section_header="## No", new_content="")["code"] == "SECTION_NOT_FOUND"
    assert failed(call, "update_project_section", section_header="Build", new_content="")["code"] == "INVALID_INPUT"


# --- history ---------------------------------------------------------------------------------------------------------


def test_history_names_the_author_of_each_change_and_a_commit_can_be_reverted(call: Call, home: Path) -> None:
    write(call, author="claude", session="s-1")
    call("delete_knowledge_file", filename="guide", author="ann")
    history = call("get_knowledge_history", filename="guide")["commits"]
    deletion = history[0]

    assert [(request["author"], request["session"]) for request in history] == [("ann", ""), ("claude", "s-1")]
    shown = call("get_knowledge_history", commit=deletion["id"])
    assert shown["paths"] == ["projects/my-app/knowledge/guide.md"]
    assert "-Text of First." in shown["patch"]
    since = call("get_knowledge_history", since=history[1]["id"], everything=True)
    assert "-Text of First." in since["patch"]
    assert call("revert_knowledge", commit=deletion["id"])["paths"] == shown["paths"]
    assert call("get_knowledge_file", filename="guide")["document"]["chapters"][0]["content"] == "Text of First."
    assert_sound(home)


@pytest.mark.requirement("KB-032")
def test_a_deleted_project_can_be_restored_completely(call: Call) -> None:
    write(call)
    call("update_project_main", content="x")
    done = call("delete_project", project_id="My App")

    assert done["message"] == "Project 'My App' successfully deleted"
    assert call("list_projects")["count"] == 0
    call("revert_knowledge", commit=done["commit"])
    assert call("get_project_main")["content"] == "x"
    assert call("list_knowledge_files")["count"] == 1


# --- errors ----------------------------------------------------------------------------------------------------------


def test_a_document_of_an_earlier_version_keeps_its_name(call: Call, home: Path) -> None:
    write(call, "日本語")
    folder = home / "projects" / "my-app" / "knowledge"
    assert [path.name for path in folder.iterdir()] == ["日本語.md"]
    (folder / "日本語.md").rename(folder / "x-77710aed.md")

    assert call("get_knowledge_file", filename="日本語")["document"]["filename"] == "x-77710aed.md"
    assert call("update_chapter", filename="日本語", chapter_index=0, new_content="y")["filename"] == "x-77710aed.md"
    assert failed(call, "create_knowledge_file", filename="日本語", title="x")["code"] == "FILE_ALREADY_EXISTS"
    assert [path.name for path in folder.iterdir()] == ["x-77710aed.md"]


@pytest.mark.requirement("KB-006", "KB-047")
def test_hostile_project_ids_are_rejected_and_any_other_id_has_its_own_folder(call: Call, home: Path) -> None:
    codes = {name: failed(call, "update_project_main", project_id=name, content="x")["code"] for name in HOSTILE_IDS}
    assert {name for name, code in codes.items() if code not in ("INVALID_PROJECT_ID", "INVALID_INPUT")} == set()
    assert not list(home.rglob("*.md"))

    names = ["team/app", "a/b", "C: x", "con", "--help", "日本語", "🎉", "a" * 200]
    for name in names:
        call("update_project_main", project_id=name, content=f"Of {name}.")
    assert [call("get_project_main", project_id=name)["content"] for name in names] == [f"Of {name}." for name in names]
    assert [path.parent.parent for path in home.rglob("main.md")] == [home / "projects"] * len(names)


@pytest.mark.requirement("KB-064")
def test_an_alias_bomb_in_front_matter_is_reported_and_the_document_is_still_found(call: Call, home: Path) -> None:
    write(call)
    bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\n---\n\n## Here\n\nneedle\n"
    (home / "projects" / "my-app" / "knowledge" / "bomb.md").write_text(bomb)

    found = call("search_knowledge", query="needle")["results"][0]
    assert "aliases are not allowed" in found["metadata"]["problem"]
    assert call("get_knowledge_file", filename="bomb")["document"]["full_content"] == bomb


OF_A_CHAPTER: JSON = {"filename": "guide", "chapter_index": 0}
OF_NO_PROJECT: list[tuple[str, JSON]] = [
    ("get_knowledge_history", {}),
    ("remove_project_section", {"section_header": "## X"}),
    ("get_knowledge_file", {"filename": "guide"}),
    ("list_chapters", {"filename": "guide"}),
    ("get_chapter", OF_A_CHAPTER),
    ("write_knowledge_file", {"filename": "guide", "content": "x"}),
    ("delete_knowledge_file", {"filename": "guide"}),
    ("update_chapter", {**OF_A_CHAPTER, "new_content": "x"}),
    ("remove_chapter", OF_A_CHAPTER),
]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("create_knowledge_file", {"filename": "guide", "title": "x"}, "FILE_ALREADY_EXISTS"),
        ("create_knowledge_file", {"filename": "x", "title": ""}, "INVALID_CONTENT"),
        ("create_knowledge_file", {"filename": "x", "title": "x", "keywords": ["k" * 51]}, "INVALID_CONTENT"),
        ("create_knowledge_file", {"filename": "x"}, "INVALID_INPUT"),
        ("update_project_main", {"content": "x" * 10_000_001}, "INVALID_CONTENT"),
        ("update_project_main", {"content": 5}, "INVALID_INPUT"),
        ("get_chapter", {"filename": "guide"}, "INVALID_INPUT"),
        ("get_chapter", {"filename": "guide", "chapter_index": 9}, "CHAPTER_NOT_FOUND"),
        ("search_knowledge", {"query": " "}, "INVALID_SEARCH_QUERY"),
        ("search_knowledge", {"query": "x" * 201}, "INVALID_SEARCH_QUERY"),
        ("search_knowledge", {"query": " ".join(map(str, range(21)))}, "INVALID_SEARCH_QUERY"),
        ("delete_project", {}, "INVALID_INPUT"),
        ("get_knowledge_history", {"commit": "--all"}, "COMMIT_NOT_FOUND"),
        ("get_knowledge_file", {"filename": "nope"}, "DOCUMENT_NOT_FOUND"),
        ("get_knowledge_file", {"filename": "nope" * 200, "project_id": "p"}, "INVALID_FILENAME"),
        ("get_knowledge_file", {"filename": "\ud800"}, "INVALID_INPUT"),
        ("revert_knowledge", {"commit": "abc"}, "COMMIT_NOT_FOUND"),
        ("create_knowledge_file", {}, "INVALID_INPUT"),
        *((name, {**arguments, "project_id": "nobody"}, "PROJECT_NOT_FOUND") for name, arguments in OF_NO_PROJECT),
    ],
)
@pytest.mark.requirement("KB-022", "KB-044", "KB-046", "KB-050", "KB-055", "KB-083")
def test_errors_have_the_code_and_schema_of_the_original(
    app: App, call: Call, name: str, arguments: JSON, code: str
) -> None:
    write(call)
    record = failed(call, name, **arguments)

    assert (record["code"], record["success"]) == (code, False)
    assert record["error"] == record["message"] != ""
    assert set(record) == {"success", "error", "code", "context", "message", "hint", "trace_id"}
    jsonschema.validate(record, app.contract.document["components"]["schemas"]["KnowledgeError"])
    json.dumps(record).encode()


@pytest.mark.requirement("KB-053")
def test_an_unusable_knowledge_folder_is_reported(root: Path, tmp_path: Path, open_app: Opener) -> None:
    (tmp_path / "file").write_text("")
    app = open_app(root, home=tmp_path / "file" / "home")

    assert failed(calling(app), "update_project_main", content="x")["code"] == "INVALID_PATH"


# --- search ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-016")
def test_titles_and_keywords_weigh_more_than_text(call: Call) -> None:
    call("create_knowledge_file", filename="c", title="C", introduction="About retry, retry and retry.")
    call("create_knowledge_file", filename="b", title="B", keywords=["retry"])
    call("create_knowledge_file", filename="a", title="Retry")
    call("create_knowledge_file", filename="d", title="Nothing")

    found = call("search_knowledge", query="retry")
    assert [result["file"] for result in found["results"]] == ["a.md", "b.md", "c.md"]
    assert found["results"][2]["matching_chapters"][0]["chapter"] == "(Document Introduction)"


@pytest.mark.requirement("UQ-019")
def test_documents_with_more_words_of_the_query_come_first_and_rare_words_weigh_more(call: Call) -> None:
    for number in range(5):
        call("create_knowledge_file", filename=f"n{number}", title="N", introduction="common common common")
    call("create_knowledge_file", filename="both", title="N", introduction="common rare")

    assert call("search_knowledge", query="common rare")["results"][0]["file"] == "both.md"


def test_context_is_about_sixty_characters_on_each_side_of_a_few_matches(call: Call) -> None:
    text = " ".join(f"{'word ' * 30}needle" for _ in range(9))
    call("create_knowledge_file", filename="x", title="X", chapters=[{"title": "T", "content": text}])

    contexts = call("search_knowledge", query="needle")["results"][0]["matching_chapters"][0]["match_context"]["needle"]
    assert len(contexts) == 2
    assert all(len(context) <= 130 and context.startswith("…") and context.endswith("…") for context in contexts)


def test_each_change_is_visible_to_the_next_search(call: Call, home: Path) -> None:
    write(call, "one", "Alpha")
    assert call("search_knowledge", query="alpha")["total_documents"] == 1
    path = home / "projects" / "my-app" / "knowledge" / "one.md"
    path.write_text(path.read_text().replace("Alpha", "Omega"))
    os.utime(path, ns=(1, 1))
    assert call("search_knowledge", query="omega")["total_documents"] == 1
    call("update_chapter", filename="one", chapter_index=0, new_content="beta")
    assert call("search_knowledge", query="beta")["total_documents"] == 1
    call("delete_knowledge_file", filename="one")
    assert call("search_knowledge", query="alpha omega beta")["total_documents"] == 0


@pytest.mark.requirement("KB-019")
def test_all_documents_of_the_project_are_counted_and_the_limit_is_respected(call: Call) -> None:
    for number in range(4):
        write(call, f"n{number}", "Same")
    found = call("search_knowledge", query="same", limit=2)

    assert (found["total_documents"], found["total_matches"], len(found["results"])) == (4, 4, 2)
    assert call("search_knowledge", query="same", project_id="other")["total_documents"] == 0


# --- the activity log ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-057", "KB-060", "KB-061")
def test_every_call_is_logged_with_its_trace_id_and_without_content(call: Call, home: Path) -> None:
    call("create_knowledge_file", filename="guide", title=SECRET, introduction=SECRET)
    call("search_knowledge", query=SECRET)
    missing = failed(call, "get_chapter", filename="guide", chapter_title="Nope")
    wrong = failed(call, "update_project_main", content={"a": SECRET})
    fence = failed(call, "update_project_main", content=f"{SECRET}\0")

    text = (home / "activity.log").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert SECRET not in text
    assert [row["method"] for row in rows] == [
        "create_knowledge_file", "search_knowledge", "get_chapter", "update_project_main", "update_project_main",
    ]  # fmt: skip
    assert [row["success"] for row in rows] == [True, True, False, False, False]
    assert [row["traceId"] for row in rows[2:]] == [error["trace_id"] for error in (missing, wrong, fence)]
    assert len({row["traceId"] for row in rows}) == len(rows)
    assert (rows[2]["chapter_title"], rows[2]["errorCode"]) == ("Nope", "CHAPTER_NOT_FOUND")
    context = {"project_id": "My App", "filename": "guide", "chapter_title": "Nope"}
    assert [row.get("errorContext") for row in rows[:3]] == [None, None, context]
    assert context.items() <= missing["context"].items()
    assert all(row["duration"] >= 0 and row["project_id"] == "My App" for row in rows)


@pytest.mark.promise(16)
def test_an_unwritable_log_does_not_fail_a_call(call: Call, home: Path) -> None:
    write(call)
    (home / "activity.log").unlink()
    os.mkfifo(home / "activity.log")

    assert call("list_knowledge_files")["count"] == 1
