"""Every reply stays within its token budget, and its cursors return every remaining item exactly once."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.chunking import SCOPE
from lore_etl.core.errors import InvalidArgument, StaleCursor
from lore_etl.core.model import Ancestor, chunk_id
from lore_etl.stores.catalogue_rows import ChunkRecord
from lore_server.app import App
from lore_server.operations.table import render
from lore_server.replies import budget
from tests.harness.calls import Opener, app_fixture, edit
from tests.harness.chunks import make_chunk
from tests.harness.projects import write_project
from tests.harness.refusals import refused
from tests.harness.trying import trying

JSON = dict[str, Any]
BUDGETS = st.one_of(st.integers(200, 700), st.integers(200, 20_000))
LONG_LINE = 'word "quoted" \\ back\tslash é ' * 1500
METHODS = "\n".join(f"    def method_number_{n}_of_many(self) -> int:\n        return {n}\n" for n in range(300))
FILES = {
    "docs/long-line.md": f"# One line\n\nbefore\n\n{LONG_LINE}\n\nafter\n",
    "docs/ein-ü-\"name\".md": "# Odd name\n\nworker\n",
    "docs/" + "deep/" * 12 + "page.md": f"# {'A very long title ' * 30}\n\n## {'And a heading ' * 30}\n\nworker text\n",
    "pkg/__init__.py": "",
    "pkg/huge.py": f"class Huge:\n    size = 1\n\n{METHODS}",
    "pkg/many.py": "from pkg.huge import Huge\n\n\n" + "\n\n".join(f"class Sub{n}(Huge):\n    pass" for n in range(80)),
    "src/quotes.py": "TEXT = '''\n" + '"\\\\"\n' * 400 + "'''\n\n\ndef worker() -> None:\n    pass\n",
    **{f"docs/pages/{n}.md": f"# Page {n}\n\nThe worker {n} does its work.\n\n## More\n\nText.\n" for n in range(60)},
}  # fmt: skip
PAGED: list[tuple[str, JSON]] = [
    ("list_documents", {}),
    ("list_sources", {}),
    ("get_class_hierarchy", {"root": "Huge"}),
    ("query_documents", {"query": "other words"}),
    ("get_source", {"path": "pkg/huge.py"}),
]
LONG_CHUNK = make_chunk(
    "docs/pages/1.md",
    text="\n".join(f'line {n} of "many"' for n in range(400)),
    symbols=tuple(f"package.module.Class.attribute_{n}" for n in range(600)),
    tags=tuple(f"tag-{n}" for n in range(200)),
    chain=[(f"package.Base{n}", None) for n in range(60)],
    lines=(5, 404),
    anchor="long",
)
app = app_fixture(FILES)


def parts(app: App, operation: str, max_tokens: int, **arguments: Any) -> Iterator[JSON]:
    """Return all replies of a call, following its cursors and raising the budget if a reply requests it."""
    given: JSON = arguments
    while True:
        try:
            reply = app.call(operation, {**given, "max_tokens": max_tokens})
        except InvalidArgument as error:
            enough = re.search(r"max_tokens=(\d+)", error.hint)
            assert enough, error.message
            assert int(enough.group(1)) > max_tokens
            max_tokens = int(enough.group(1))
            continue
        assert budget.size(reply) <= max_tokens * budget.CHARACTERS_PER_TOKEN
        assert len(render(operation, reply).whole()) <= max_tokens * budget.CHARACTERS_PER_TOKEN
        assert "next_cursor" in reply or "truncated" not in reply
        yield reply
        if "next_cursor" not in reply:
            return
        given = {**arguments, "cursor": reply["next_cursor"]}


def joined(replies: Iterator[JSON], *names: str) -> list[Any]:
    """Return the items of a list, or of several lists, from all replies."""
    return [row for reply in replies for name in names for row in reply[name]]


PROPERTY = trying(5)


@PROPERTY
@given(BUDGETS, st.integers(1, 200))
def test_all_documents_files_and_classes_are_listed_once(app: App, max_tokens: int, limit: int) -> None:
    ids = [document["id"] for document in joined(parts(app, "list_documents", max_tokens, limit=limit), "documents")]
    files = [source["source"] for source in joined(parts(app, "list_sources", max_tokens), "sources")]
    classes = [class_["class"] for class_ in joined(parts(app, "get_class_hierarchy", max_tokens), "classes")]

    assert len(ids) == len(set(ids)) == app.call("list_documents", {"limit": 1})["total"]
    assert files == sorted(path for path, text in FILES.items() if text)
    assert len(classes) == len(set(classes)) == 81


@PROPERTY
@given(BUDGETS, st.sampled_from([path for path, text in FILES.items() if text]))
def test_a_whole_file_is_returned_with_each_of_its_chunks_once(app: App, max_tokens: int, path: str) -> None:
    replies = list(parts(app, "get_source", max_tokens, path=path))
    ids = [chunk["id"] for reply in replies for chunk in reply["chunks"]]
    listed = joined(parts(app, "list_documents", 20_000, source=path), "documents")

    assert "".join(reply["text"] for reply in replies) == FILES[path].rstrip()
    assert sorted(ids) == sorted(document["id"] for document in listed)
    for reply, after in itertools.pairwise(replies):
        assert after["lines"][0] - reply["lines"][1] in (0, 1)


@PROPERTY
@given(BUDGETS)
def test_a_huge_class_is_returned_with_each_subclass_and_member_once(app: App, max_tokens: int) -> None:
    replies = list(parts(app, "get_class_hierarchy", max_tokens, root="pkg.huge.Huge"))
    classes = [class_["class"] for class_ in joined(iter(replies), "classes")]
    members = [member["name"] for member in joined(iter(replies), "members")]

    assert sorted(classes) == sorted(["pkg.huge.Huge", *(f"pkg.many.Sub{n}" for n in range(80))])
    assert len(members) == len(set(members)) >= 300


@PROPERTY
@given(BUDGETS, st.sampled_from(["worker", "word quoted slash", "class Huge", '"' * 1500 + " text"]), st.booleans())
def test_a_search_returns_every_file_once(app: App, max_tokens: int, query: str, explain: bool) -> None:
    replies = list(parts(app, "query_documents", max_tokens, query=query, explain=explain))
    found = [result["source"] for result in joined(iter(replies), "results")]

    whole = joined(parts(app, "query_documents", 1_000_000, query=query, limit=100), "results")
    assert found == [result["source"] for result in whole]
    assert len(found) == len(set(found)) > 0


@PROPERTY
@given(BUDGETS)
def test_a_long_passage_is_returned_in_full_with_each_symbol_tag_and_ancestor_once(app: App, max_tokens: int) -> None:
    app.index.catalogue.apply([(ChunkRecord.of(LONG_CHUNK), False)], [])
    try:
        replies = list(parts(app, "get_document_by_id", max_tokens, id=LONG_CHUNK.id))
    finally:
        app.index.catalogue.apply([], [LONG_CHUNK.id])

    assert "".join(reply["text"] for reply in replies) == LONG_CHUNK.text
    assert joined(iter(replies), "symbols") == list(LONG_CHUNK.symbols)
    assert joined(iter(replies), "tags") == list(LONG_CHUNK.tags)
    assert [Ancestor(**ancestor) for ancestor in joined(iter(replies), "chain")] == list(LONG_CHUNK.chain)


def test_an_answer_and_its_text_fit_their_budget(app: App) -> None:
    for max_tokens in (500, 700, 800, 1000, 3000):
        reply = app.call("ask_knowledge_base", {"query": "what does the worker do", "max_tokens": max_tokens})

        assert budget.size(reply) <= max_tokens * budget.CHARACTERS_PER_TOKEN
        assert len(render("ask_knowledge_base", reply).whole()) <= max_tokens * budget.CHARACTERS_PER_TOKEN
        assert reply["citations"]


@PROPERTY
@given(BUDGETS, st.integers(1, 161), st.integers(0, 40))
def test_a_range_of_lines_is_returned_as_it_is_in_the_file_with_its_numbers(
    app: App, max_tokens: int, start: int, more: int
) -> None:
    lines = FILES["pkg/many.py"].rstrip().split("\n")
    start = min(start, len(lines))
    replies = list(parts(app, "get_source", max_tokens, path="pkg/many.py", start=start, end=start + more))

    assert "".join(reply["text"] for reply in replies) == "\n".join(lines[start - 1 : start + more])
    assert replies[0]["lines"][0] == start
    for reply in replies:
        first, last = reply["lines"]
        assert reply["text"].removesuffix("\n") == "\n".join(lines[first - 1 : last])


@pytest.mark.parametrize("wrong", [{"start": 100_000}, {"start": 9, "end": 3}], ids=["after the end", "reversed"])
def test_lines_that_do_not_exist_are_an_error_that_names_the_number_of_lines(app: App, wrong: JSON) -> None:
    with refused(InvalidArgument, hint="1 to 242"):
        app.call("get_source", {"path": "pkg/many.py", **wrong})


def test_a_class_tree_ends_at_its_depth_and_counts_what_is_below(synced_app_of: Opener) -> None:
    app = synced_app_of({"a.py": "class A: ...\nclass B(A): ...\nclass C(B): ...\nclass D(B): ...\n"})
    below = app.call("get_class_hierarchy", {"root": "A", "depth": 1})
    every = app.call("get_class_hierarchy", {"depth": 1})

    assert [(row["class"], row.get("deeper")) for row in below["classes"]] == [("a.A", None), ("a.B", 2)]
    assert every["classes"] == below["classes"]
    assert "a.B  a.py:2  (+2 below)" in render("get_class_hierarchy", below).body


def test_lists_and_files_report_the_last_sync_and_what_changed_since(synced_app_of: Opener) -> None:
    calls: dict[str, JSON] = {
        "list_documents": {},
        "list_sources": {},
        "get_source": {"path": "a.py"},
        "get_document_by_id": {"id": chunk_id(SCOPE, "a.py", "A")},
        "get_class_hierarchy": {},
    }
    app = synced_app_of({"a.py": "class A: ...\n"})
    before = {operation: app.call(operation, arguments) for operation, arguments in calls.items()}
    write_project(app.index.root, {"b.py": "class B: ...\n"})
    app.freshness.notice()

    for operation, fresh in before.items():
        stale = app.call(operation, calls[operation])
        synced_at = fresh["freshness"]["synced_at"]
        assert fresh["freshness"] == {"state": "fresh", "synced_at": synced_at}
        assert stale["freshness"] == {"state": "stale", "synced_at": synced_at, "changed_files": 1}
        assert f"fresh, synced {synced_at}" in render(operation, fresh).whole()
        assert "stale: 1 file changed since the last sync" in render(operation, stale).whole()


def test_only_a_chunk_of_a_file_that_changed_or_was_deleted_is_marked(synced_app_of: Opener) -> None:
    app = synced_app_of({"a.py": "class A: ...\n", "b.py": "class A: ...\n"})
    write_project(app.index.root, {"a.py": "class A: pass  # changed\n"})
    app.freshness.notice()

    for path in ("a.py", "b.py"):
        chunk = app.call("get_document_by_id", {"id": chunk_id(SCOPE, path, "A")})
        assert chunk["freshness"]["state"] == "stale"
        assert chunk.get("changed", False) is (path == "a.py")
        shown = render("get_document_by_id", chunk).body
        assert ("(changed or deleted since the last sync)" in shown) is (path == "a.py")

    (app.index.root / "a.py").unlink()
    lines = render("query_documents", app.call("query_documents", {"query": "class A"})).body.split("\n")
    assert [line for line in lines if "a.py" in line and "(changed or deleted since the last sync)" in line]
    assert [line for line in lines if "b.py" in line and "deleted" not in line]


def test_a_brief_reply_has_places_and_ids_without_text(app: App) -> None:
    found = app.call("query_documents", {"query": "worker", "brief": True, "passages": 1})
    answer = app.call("ask_knowledge_base", {"query": "what does the worker do", "brief": True})
    shown = render("query_documents", found).body.split("\n")

    assert {row["excerpt"] for row in found["results"]} == {""}
    assert not any(row.get("cut") for row in found["results"])
    assert {citation["quote"] for citation in answer["citations"]} == {""}
    assert len([line for line in shown if line[0].isdigit()]) == len(found["results"])
    assert all(row["id"] in "".join(shown) for row in found["results"])


def test_each_member_of_a_class_has_its_kind_and_lines(hash_app: App) -> None:
    files = {
        "a.py": "class Small:\n    size = len(())\n\n    # runs\n    @wrapped\n    async def run(self) -> int:\n"
        "        return self.size\n\n    class Inner:\n        depth: int = 1\n",
        "b.mjs": "export class Other {\n  static config = {\n    className: 'My.other-thing.Other',\n"
        "    /** how many */\n    count_: {\n      a: 1\n    }\n  }\n  total = make();\n"
        "  static async go(x) {\n    return 1;\n  }\n  pick = () => 1;\n}\n",
        "c.ts": "export abstract class Typed {\n  private size: number = 1;\n\n  abstract run(): void;\n}\n",
    }
    edit(hash_app, files)
    found = {
        root: {
            member["name"]: (member["kind"], member["lines"])
            for member in hash_app.call("get_class_hierarchy", {"root": root})["members"]
        }
        for root in ("Small", "Small.Inner", "My.other-thing.Other", "Typed")
    }

    assert found["Small"] == {"size": ("attribute", [2, 2]), "run": ("method", [5, 7])}
    assert found["Small.Inner"] == {"depth": ("attribute", [10, 10])}
    assert found["My.other-thing.Other"] == {
        "config": ("attribute", [2, 8]),
        "className": ("config", [3, 3]),
        "count_": ("config", [5, 7]),
        "total": ("attribute", [9, 9]),
        "go": ("method", [10, 12]),
        "pick": ("method", [13, 13]),
    }
    assert found["Typed"] == {"size": ("attribute", [2, 2]), "run": ("method", [4, 4])}


def test_a_reply_that_its_budget_cuts_tells_how_to_get_the_rest_and_a_page_is_not_marked(app: App) -> None:
    cut = app.call("list_documents", {"max_tokens": 300})
    page = app.call("list_documents", {"limit": 2})

    told = r"[\d,]+ of the documents omitted to stay within max_tokens: pass next_cursor as cursor\."
    assert re.fullmatch(told, cut["truncated"])
    assert ("truncated" in page, "next_cursor" in page) == (False, True)


@pytest.mark.parametrize("cursor", ["x", "!!", "MTA", "LTE6YQ", "MTphYmM", "é", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OmE"])
def test_an_invalid_cursor_is_rejected(app: App, cursor: str) -> None:
    for operation, arguments in PAGED:
        with pytest.raises(InvalidArgument):
            app.call(operation, {**arguments, "cursor": cursor})


def test_a_cursor_of_another_query_is_rejected(app: App) -> None:
    given = app.call("query_documents", {"query": "worker", "limit": 1})["next_cursor"]

    for operation, arguments in PAGED:
        with pytest.raises(StaleCursor) as caught:
            app.call(operation, {**arguments, "cursor": given})
        assert (caught.value.code, caught.value.http_status) == ("STALE_CURSOR", 409)
        assert "without cursor" in caught.value.hint


def test_a_cursor_to_an_earlier_state_of_the_index_is_stale(synced_app_of: Opener) -> None:
    code = "class Huge:\n" + "\n".join(f"    def method_{n}(self) -> int:\n        return {n}\n" for n in range(100))
    files = {"pkg/huge.py": code, **{f"docs/{n}.md": f"# Other words {n}\n\nText {n}.\n" for n in range(40)}}
    app = synced_app_of(files)
    asked = [(operation, {**arguments, "max_tokens": 400}) for operation, arguments in PAGED]
    cursors = [app.call(operation, arguments)["next_cursor"] for operation, arguments in asked]

    edit(app, {"pkg/huge.py": code.replace("return 0", "return 1000"), "docs/new.md": "# New\n"})

    for (operation, arguments), cursor in zip(asked, cursors, strict=True):
        with pytest.raises(StaleCursor):
            app.call(operation, {**arguments, "cursor": cursor})
