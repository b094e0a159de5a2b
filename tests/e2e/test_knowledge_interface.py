"""Run the interface tests of the earlier server's specification ("Testing Strategy") with the official MCP client."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from lore_server import __version__
from tests.harness.agent import Agent, agent
from tests.harness.knowledge import assert_sound, git, messages
from tests.harness.projects import write_project

PROJECT = "test-project"
CHAPTERS = [
    {"title": "Getting Started", "content": "How to begin.\n\nCall the API with a token."},
    {"title": "Errors", "content": "What can go wrong.\n\nRetry on 503."},
]


@pytest.fixture
def me(tmp_path: Path, home: Path) -> Iterator[Agent]:
    project = write_project(tmp_path / "some-app", {"README.md": "# App\n"})
    with agent(project, home) as client:
        yield client


def guide(me: Agent, filename: str = "api-guide", project: str = PROJECT) -> str:
    """Create a document and return its version."""
    done = me.call(
        "create_knowledge_file", project_id=project, filename=filename, title="API Documentation Guide",
        introduction="How our API is used.", keywords=["api", "rest"], chapters=CHAPTERS,
    )  # fmt: skip
    return str(done["version"])


# --- project management ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-011")
def test_01_a_missing_main_document_of_an_unknown_project_is_not_an_error(me: Agent, home: Path) -> None:
    found = me.call("get_project_main", project_id="nobody")

    assert (found["exists"], found["content"], found["version"]) == (False, "", None)
    assert not home.exists()


@pytest.mark.requirement("KB-001", "KB-013", "KB-071")
def test_02_a_main_document_is_created(me: Agent, home: Path) -> None:
    done = me.call("update_project_main", project_id=PROJECT, content="# Rules\n\nBe kind.\n")

    assert done["message"] == f"Update knowledge for {PROJECT}: Updated main.md"
    assert (home / "projects" / PROJECT / "main.md").read_text() == "# Rules\n\nBe kind.\n"
    assert_sound(home)


@pytest.mark.requirement("KB-008", "KB-010")
def test_03_a_main_document_is_read_back(me: Agent) -> None:
    version = me.call("update_project_main", project_id=PROJECT, content="# Rules\r\n\nÜ")["version"]
    found = me.call("get_project_main", project_id=PROJECT)

    assert (found["exists"], found["content"], found["version"]) == (True, "# Rules\r\n\nÜ", version)


@pytest.mark.requirement("KB-012")
def test_04_a_main_document_is_replaced(me: Agent) -> None:
    me.call("update_project_main", project_id=PROJECT, content="old")
    me.call("update_project_main", project_id=PROJECT, content="new")

    assert me.call("get_project_main", project_id=PROJECT)["content"] == "new"


# --- knowledge documents ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-003", "KB-009", "KB-020", "KB-071")
def test_05_a_structured_document_is_created(me: Agent, home: Path) -> None:
    done = me.call(
        "create_knowledge_file", project_id=PROJECT, filename="api-guide", title="Guide", introduction="Intro.",
        keywords=["api"], chapters=CHAPTERS,
    )  # fmt: skip

    assert done["filepath"] == f"projects/{PROJECT}/knowledge/api-guide.md"
    assert (home / done["filepath"]).read_text().startswith("---\ntitle: Guide\nkeywords: [api]\n")
    assert messages(home) == [f"Update knowledge for {PROJECT}: Created api-guide.md"]


@pytest.mark.requirement("KB-021")
def test_06_special_characters_in_a_file_name_become_hyphens(me: Agent) -> None:
    done = me.call("create_knowledge_file", project_id=PROJECT, filename="API & Guide (v2)!.md", title="x")

    assert done["filename"] == "api-guide-v2.md"


@pytest.mark.requirement("KB-027", "KB-028", "KB-029")
def test_07_a_whole_document_is_read(me: Agent, home: Path) -> None:
    version = guide(me)
    found = me.call("get_knowledge_file", project_id=PROJECT, filename="api-guide.md")
    document = found["document"]

    assert found["version"] == version
    assert (document["filename"], document["introduction"]) == ("api-guide.md", "How our API is used.")
    assert document["metadata"]["title"] == "API Documentation Guide"
    assert document["metadata"]["keywords"] == ["api", "rest"]
    assert document["metadata"]["created"] == document["metadata"]["updated"]
    assert [chapter["title"] for chapter in document["chapters"]] == ["Getting Started", "Errors"]
    assert document["chapters"][0]["summary"] == "How to begin."
    stored = home / "projects" / PROJECT / "knowledge" / "api-guide.md"
    assert document["full_content"].encode() == stored.read_bytes()


@pytest.mark.requirement("KB-031", "KB-045", "KB-051")
def test_08_a_missing_document_is_reported(me: Agent) -> None:
    unknown = me.fail("get_knowledge_file", project_id=PROJECT, filename="nope.md")
    guide(me)
    record = me.fail("get_knowledge_file", project_id=PROJECT, filename="nope.md")

    assert (unknown["code"], record["code"]) == ("PROJECT_NOT_FOUND", "DOCUMENT_NOT_FOUND")
    assert record["context"]["project_id"] == PROJECT
    assert record["context"]["filename"] == "nope.md"


# --- search ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-015", "KB-016", "KB-017", "KB-018", "KB-019")
def test_09_words_are_found_with_chapter_context_and_summary(me: Agent) -> None:
    guide(me)
    single = me.call("search_knowledge", project_id=PROJECT, query="token")
    many = me.call("search_knowledge", project_id=PROJECT, query="token 503 nothing")

    assert (single["total_documents"], single["total_matches"]) == (1, 1)
    result = single["results"][0]
    assert (result["file"], result["match_count"]) == ("api-guide.md", 1)
    assert result["matching_chapters"] == [
        {
            "chapter": "Getting Started", "keywords_found": ["token"],
            "match_context": {"token": ["How to begin. Call the API with a token."]},
            "chapter_summary": "How to begin.",
        }
    ]  # fmt: skip
    assert [row["chapter"] for row in many["results"][0]["matching_chapters"]] == ["Getting Started", "Errors"]
    assert many["results"][0]["keywords_found"] == ["token", "503"]


@pytest.mark.requirement("KB-014")
def test_10_search_ignores_case(me: Agent) -> None:
    guide(me)

    for query in ("RETRY", "retry", "ReTrY"):
        assert me.call("search_knowledge", project_id=PROJECT, query=query)["total_documents"] == 1


# --- chapters --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-023", "KB-024", "KB-025")
def test_11_updating_a_chapter_leaves_the_others_unchanged(me: Agent) -> None:
    guide(me)
    me.call(
        "update_chapter", project_id=PROJECT, filename="api-guide.md", chapter_title="Errors",
        new_content="Never retry.", new_summary="Short.",
    )  # fmt: skip
    chapters = me.call("get_knowledge_file", project_id=PROJECT, filename="api-guide.md")["document"]["chapters"]

    assert chapters[0]["content"] == CHAPTERS[0]["content"]
    assert (chapters[1]["summary"], chapters[1]["content"]) == ("Short.", "Short.\n\nNever retry.")


@pytest.mark.requirement("KB-026")
def test_12_a_missing_chapter_is_reported(me: Agent) -> None:
    guide(me)
    record = me.fail(
        "update_chapter", project_id=PROJECT, filename="api-guide", chapter_title="errors", new_content="x"
    )

    assert record["code"] == "CHAPTER_NOT_FOUND"
    assert record["context"]["chapter_title"] == "errors"
    assert "`Errors`" in record["hint"]


# --- deletion --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-030")
def test_13_a_document_is_deleted(me: Agent, home: Path) -> None:
    guide(me)
    me.call("delete_knowledge_file", project_id=PROJECT, filename="api-guide.md")

    assert me.fail("get_knowledge_file", project_id=PROJECT, filename="api-guide.md")["code"] == "DOCUMENT_NOT_FOUND"
    assert messages(home)[-1] == f"Update knowledge for {PROJECT}: Deleted api-guide.md"


@pytest.mark.requirement("KB-031")
def test_14_deleting_a_missing_document_is_reported(me: Agent) -> None:
    assert me.fail("delete_knowledge_file", project_id=PROJECT, filename="nope")["code"] == "PROJECT_NOT_FOUND"
    guide(me)
    assert me.fail("delete_knowledge_file", project_id=PROJECT, filename="nope")["code"] == "DOCUMENT_NOT_FOUND"
    assert me.fail("delete_project", project_id="nobody")["code"] == "PROJECT_NOT_FOUND"


# --- resources -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-042", "KB-082")
def test_15_the_files_of_a_project_are_a_resource(me: Agent) -> None:
    guide(me)
    files = me.read_data(f"knowledge://projects/{PROJECT}/files")

    assert files["count"] == 1
    assert files["files"][0]["filename"] == "api-guide.md"
    assert files["files"][0]["title"] == "API Documentation Guide"
    assert files["files"][0]["keywords"] == ["api", "rest"]
    assert files["files"][0]["updated"]


@pytest.mark.requirement("KB-043")
def test_16_the_chapters_of_a_document_are_a_resource(me: Agent) -> None:
    guide(me)
    chapters = me.read_data(f"knowledge://projects/{PROJECT}/chapters/api-guide.md")

    assert (chapters["filename"], chapters["title"]) == ("api-guide.md", "API Documentation Guide")
    assert chapters["count"] == 2
    assert chapters["chapters"][1] == {"index": 1, "title": "Errors", "level": 2, "summary": "What can go wrong."}


@pytest.mark.requirement("KB-041", "KB-049")
def test_17_the_main_document_is_a_resource_and_a_missing_resource_is_reported(me: Agent) -> None:
    me.call("update_project_main", project_id="git@host:team/My App.git", content="# Rules\n")
    address = "knowledge://projects/git%40host%3Ateam%2FMy%20App.git/main"

    assert me.read(address) == ("text/markdown", "# Rules\n")
    assert me.read("knowledge://projects/git@host:team/My App.git/main")[1] == "# Rules\n"
    assert {f"knowledge://projects/{{project_id}}/{path}" for path in ("main", "files", "chapters/{filename}")} <= set(
        me.templates()
    )
    outside = ("..%2F..%2Fx/main", "../main", "git%40host%3Ateam%2FMy%20App.git/chapters/..%2F..%2F..%2Findex.json")
    for wrong in ("nobody/main", "nobody/chapters/x.md", "nobody/other", "main", *outside):
        with pytest.raises(MCPError):
            me.read(f"knowledge://projects/{wrong}")


# --- server ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KB-034")
def test_18_the_server_reports_its_version_and_the_knowledge_folder(me: Agent, home: Path) -> None:
    info = me.call("get_server_info")

    assert (info["version"], info["storage_path"]) == (__version__, str(home))
    assert info["name"] and info["description"]


@pytest.mark.requirement("KB-035", "KB-036")
def test_19_the_storage_reports_its_state(me: Agent, home: Path) -> None:
    empty = me.call("get_storage_status")
    me.call("update_project_main", project_id=PROJECT, content="x")
    (home / "projects" / PROJECT / "by-hand.md").write_text("x")
    status = me.call("get_storage_status")

    assert (empty["exists"], empty["last_commit"]) == (False, "")
    assert (status["current_branch"], status["remote_status"]) == ("main", "no remote")
    assert status["last_commit"] == f"Update knowledge for {PROJECT}: Updated main.md"
    assert (status["has_changes"], status["uncommitted_files"]) == (True, 1)
    assert status["status_details"] == f"projects/{PROJECT}/by-hand.md"


@pytest.mark.requirement("KB-037", "KB-038", "KB-040")
def test_20_the_storage_is_synchronised(me: Agent, home: Path) -> None:
    me.call("update_project_main", project_id=PROJECT, content="x")
    (home / "projects" / PROJECT / "by-hand.md").write_text("x")
    done = me.call("sync_storage", author="ann")
    again = me.call("sync_storage")

    assert (done["files_committed"], done["pushed"], again["files_committed"]) == (1, False, 0)
    assert done["message"] == "Saved here, without a remote"
    assert done["commit_message"] == "Sync storage: 1 file updated"
    assert git(home, "log", "-1", "--format=%an %s").strip() == f"ann {done['commit_message']}"
    assert_sound(home)
