"""Requirements of the specifications, tried one by one on a small project with the layout of the framework."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lore_etl.config.settings import Settings
from lore_etl.core.errors import LoreError
from lore_server.app import App
from lore_server.contract import Contract
from lore_server.replies.problem import problem
from tests.harness.calls import edit
from tests.harness.framework import INDEX, framework
from tests.harness.models import HashModel
from tests.harness.projects import write_project

FILES: dict[str, str | bytes] = {
    **framework(),
    "docs/guide.md": "# Sails\n\nA sail catches the wind.\n",
    "issues/issue-7.md": "---\ntitle: It leaks\nstate: closed\n---\n# It leaks\n\nThe sail leaks.\n",
    "release-notes/v1.0.0.md": "# v1.0.0\n\nThe sail is new.\n",
    "learn/blog/story.md": "# A story\n\nThe sail of a story.\n",
    "examples/hoist.py": '"""How a sail is hoisted."""\n',
    "src/boat.py": 'class Boat:\n    """Moves under sail."""\n\n\nclass Yacht(Boat):\n    """A sail for pleasure."""\n',
    "PRPs/executed/PRP-29.3-query.md": "---\nname: Query\n---\n# Query\n\nText of the query.\n",
    ".ce/RULES.md": f"# Rules\n\n- MANDATORY: {'name the reason ' * 20}\n- ✅ a\n- FORBIDDEN: silent errors\n",
    "examples/picture.png": b"\x89PNG\r\n\x1a\n\0\0sail",
    "node_modules/x/PRP-99-x.md": "# Foreign\n\nThe pattern api-errors is followed.\n",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, contract: Contract) -> Iterator[App]:
    """Return a synced project; tests may add files of their own."""
    root = write_project(tmp_path_factory.mktemp("use") / "project", FILES)
    app = App(root.resolve(), Settings(), contract, HashModel(), home=root.parent / "home")
    app.call("init_project", {"wait_seconds": 600})
    yield app
    app.close()


@pytest.mark.requirement("NEO-012", "NEO-013", "NEO-014", "NEO-015", "NEO-016", "NEO-017", "NEO-018", "NEO-061")
def test_each_type_of_document_can_be_asked_for_alone_and_the_best_result_is_the_first(app: App) -> None:
    everything = app.call("query_documents", {"query": "sail", "limit": 50})["results"]
    scores = [row["score"] for row in everything]
    assert scores == sorted(scores, reverse=True)

    for kind in ("guide", "src", "ticket", "blog", "release", "example"):
        found = app.call("query_documents", {"query": "sail", "type": kind})["results"]
        answer = app.call("ask_knowledge_base", {"query": "what is the sail", "type": kind})

        assert kind in {row["type"] for row in everything}
        assert {row["type"] for row in (*found, *answer["references"])} == {kind}


@pytest.mark.requirement("NEO-035", "NEO-036")
def test_the_chunks_are_listed_in_pages_and_each_can_be_read(app: App) -> None:
    whole = app.call("list_documents", {"max_tokens": 100_000})
    pages = [app.call("list_documents", {"limit": 5, "offset": at})["documents"] for at in range(0, whole["total"], 5)]

    assert [row["id"] for page in pages for row in page] == [row["id"] for row in whole["documents"]]
    first = whole["documents"][0]
    assert app.call("get_document_by_id", {"id": first["id"]})["source"] == first["source"]


@pytest.mark.requirement("NEO-050")
def test_a_new_comment_is_found_after_the_next_sync(app: App) -> None:
    edit(app, {"src/new.py": 'def reef() -> None:\n    """Make the canvas smaller in a gale."""\n'})

    assert app.call("query_documents", {"query": "canvas gale"})["results"][0]["source"] == "src/new.py"


@pytest.mark.parametrize(
    ("operation", "arguments", "code"),
    [
        pytest.param(*row[1:], marks=pytest.mark.requirement(*row[0].split()), id=f"{row[0]}-{number}")
        for number, row in enumerate([
            ("NEO-034", "get_class_hierarchy", {"root": "No.Such"}, "CLASS_NOT_FOUND"),
            ("NEO-037", "get_document_by_id", {"id": "x"}, "DOCUMENT_NOT_FOUND"),
            ("NEO-039", "query_documents", {"query": "x", "limit": "many"}, "INVALID_ARGUMENT"),
            ("NEO-039", "query_documents", {"query": "x", "typ": "guide"}, "INVALID_ARGUMENT"),
            ("UQ-013", "knowledge_search", {"query": "x", "limit": -1}, "INVALID_ARGUMENT"),
            ("UQ-033", "knowledge_search", {"query": "x", "project_root": "/no/such"}, "INVALID_ARGUMENT"),
            ("KB-031", "delete_knowledge_file", {"filename": "none", "project_id": "known"}, "DOCUMENT_NOT_FOUND"),
            ("KB-033", "delete_project", {"project_id": "none"}, "PROJECT_NOT_FOUND"),
            ("KB-052", "update_project_section", {"project_id": "known", "section_header": "## No", "new_content": "x"},
             "SECTION_NOT_FOUND"),
            ("KM-028", "get_system_doc", {"path": "../.ce-evil/x"}, "PATH_REFUSED"),
            ("KM-029", "get_system_doc", {"path": "none.md"}, "DOCUMENT_NOT_FOUND"),
            ("KM-029", "get_user_doc", {"path": "none.md"}, "DOCUMENT_NOT_FOUND"),
        ])
    ],
)  # fmt: skip
def test_an_error_has_its_code_and_advice(app: App, operation: str, arguments: dict[str, Any], code: str) -> None:
    app.call("update_project_main", {"project_id": "known", "content": "# A\n"})
    with pytest.raises(LoreError) as caught:
        app.call(operation, arguments)

    assert (problem(caught.value)["code"], bool(caught.value.hint)) == (code, True)


@pytest.mark.requirement("UQ-035")
@pytest.mark.parametrize("query", ["' OR 1=1 --", "(", "*", '"', "a AND (b", "sail) OR (x", "-", "path:"])
def test_signs_in_a_question_do_no_harm(app: App, query: str) -> None:
    assert app.call("knowledge_search", {"query": query})["success"] is True


@pytest.mark.requirement("KM-010", "KM-015", "KM-021", "KM-023", "KM-024", "KM-044", "KM-048")
def test_the_index_file_has_each_prp_and_each_rule_with_its_line_but_no_picture_or_dependency(app: App) -> None:
    knowledge = json.loads((app.index.root / INDEX).read_text(encoding="utf-8"))["knowledge"]
    rules = sorted(knowledge["system_rules"].values(), key=lambda rule: rule["line"])

    assert knowledge["user_prps"]["PRP-29.3"]["source"] == "PRPs/executed/PRP-29.3-query.md"
    assert [rule["line"] for rule in rules] == [3, 5]
    assert all(rule["source"] == ".ce/RULES.md" and len(rule["excerpt"]) <= 100 for rule in rules)
    assert "picture" not in str(knowledge)
    assert knowledge["user_patterns"]["api-errors"]["referenced_by"] == ["PRP-10", "PRP-11", "PRP-12"]
