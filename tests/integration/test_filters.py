"""Searching with filters, phrases, excluded words, facets and further passages, in real stores."""

import datetime
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.errors import InvalidArgument
from lore_etl.pipeline.sync import sync
from lore_etl.stores.keywords import FEW, LOOKED_AT, KeywordStore
from lore_server.app import App
from lore_server.query.parse import parse
from lore_server.query.query_service import QueryService
from tests.harness.calls import app_fixture, edit
from tests.harness.chunks import make_chunk
from tests.harness.projects import open_index, write_project

NOISE = {f"docs/noise/page{n:03}.md": f"# Page {n}\n\nA retry of the worker, number {n}.\n" * 2 for n in range(150)}
FILLER = "\n".join(f"The line {n} of this." for n in range(25))
"""Enough words for sections to be separate passages."""
FILES = {
    **NOISE,
    "docs/retries.md": f"# Retries\n\n## Backoff\n\nA retry waits exactly\nonce.\n{FILLER}\n\n"
    f"## Jitter\n\nThe retry has jitter.\n{FILLER}\n\n## Limits\n\nA retry has a limit.\n{FILLER}\n",
    "docs/adr/0001-retry.md": "---\ndate: 2024-05-01\n---\n# Retry\n\nWhy the retry is bounded.\n",
    "issues/issue-1.md": "---\ncreated: 2025-02-01\nstate: open\n---\n# Retry fails\n\nThe retry is not bounded.\n",
    "issues/issue-2.md": "---\ncreated: 2025-06-01\nstate: closed\n---\n# Retry again\n\nOnce exactly: a retry.\n",
    "src/retry.py": "def retry():\n    '''Retry a job with std::jitter.'''\n",
    "src/retry.mjs": "export function retry() { return 'a retry'; }\n",
    "my docs/retry.md": "# Spaces\n\nA retry in a folder with a space.\n",
    "README.md": "# Read me\n\nNothing of interest.\n",
}
filters_app = app_fixture(FILES)


def search(app: App, query: str, **arguments: Any) -> dict[str, Any]:
    return app.call("query_documents", {"query": query, "limit": 100, "max_tokens": 100_000, **arguments})


def found(reply: dict[str, Any]) -> set[str]:
    return {one["source"] for one in reply["results"]}


QUIET = "-path:docs/noise"


@pytest.mark.parametrize(
    ("query", "arguments", "sources"),
    [
        ("retry", {"type": ["ticket", "adr"]}, {"docs/adr/0001-retry.md", "issues/issue-1.md", "issues/issue-2.md"}),
        ("retry type:ticket", {"type": "adr"}, {"docs/adr/0001-retry.md", "issues/issue-1.md", "issues/issue-2.md"}),
        ("retry type:ticket,adr -type:adr", {}, {"issues/issue-1.md", "issues/issue-2.md"}),
        ("retry path:src", {}, {"src/retry.py", "src/retry.mjs"}),
        ("retry", {"path": ["src/*.py", "docs/adr/**"]}, {"src/retry.py", "docs/adr/0001-retry.md"}),
        ('retry path:"my docs"', {}, {"my docs/retry.md"}),
        ("retry lang:python", {}, {"src/retry.py"}),
        ("retry", {"lang": ["py", "javascript"]}, {"src/retry.py", "src/retry.mjs"}),
        (f"retry -lang:markdown {QUIET}", {}, {"src/retry.py", "src/retry.mjs"}),
        ("retry after:2025-01-01", {}, {"issues/issue-1.md", "issues/issue-2.md"}),
        ("retry after:2025-02-01 before:2025-06-01", {}, {"issues/issue-1.md"}),
        ("retry", {"after": "2024", "before": "2025"}, {"docs/adr/0001-retry.md"}),
        ('"exactly once"', {}, {"docs/retries.md"}),
        ('retry -"exactly once" path:docs/retries.md', {}, {"docs/retries.md"}),
        ('"not bounded" retry', {}, {"issues/issue-1.md"}),
        ('"std::jitter"', {}, {"src/retry.py"}),
        ('"::"', {}, {"src/retry.py"}),
        (f"retry -bounded -job -jitter -limit -exactly -space -export -nothing {QUIET}", {}, set()),
        ("retry type:blog", {}, set()),
    ],
)
def test_all_passages_that_pass_the_filters_are_found_and_no_others(
    filters_app: App, query: str, arguments: dict[str, Any], sources: set[str]
) -> None:
    assert found(search(filters_app, query, **arguments)) == sources


@pytest.mark.parametrize(
    ("query", "path", "sources"),
    [
        *(
            ("worker retry of interest", path, {path})
            for path in ("docs/noise/page007.md", "docs/noise/page149.md", "README.md")
        ),
        (
            f"retry of the worker, number {QUIET}",
            "**",
            FILES.keys() - NOISE.keys(),
        ),  # of both legs, it removes the best
        ('retry of the worker "in a folder"', "**", {"my docs/retry.md"}),
    ],
    ids=["a page", "another page", "a file with other words", "what a large filter leaves", "an unusual phrase"],
)
def test_what_passes_a_filter_or_has_a_phrase_is_found_however_deep_it_ranks(
    filters_app: App, query: str, path: str, sources: set[str]
) -> None:
    reply = search(filters_app, query, path=path)

    assert found(reply) == sources
    assert reply["total"] == len(sources)


def test_an_excluded_word_leaves_out_passages_but_not_their_file_whose_further_passages_have_their_lines(
    filters_app: App,
) -> None:
    reply = search(filters_app, "retry -jitter path:docs/retries.md", passages=5)
    (result,) = reply["results"]
    excerpts = [result["excerpt"], *(one["excerpt"] for one in result["passages"])]
    assert len(excerpts) == 2
    assert not any("jitter" in one for one in excerpts)

    reply = search(filters_app, "retry limit", path="docs/retries.md", passages=2)
    (result,) = reply["results"]
    text = FILES["docs/retries.md"].split("\n")
    assert len(result["passages"]) == 2
    assert len({result["id"], *(one["id"] for one in result["passages"])}) == 3
    for one in result["passages"]:
        first, last = one["lines"]
        assert set(one["excerpt"].split("\n")) - {"…"} <= set(text[first - 1 : last])


@pytest.mark.parametrize(
    "query",
    ["retry", "retry path:docs/noise", "retry type:ticket", '"exactly once"', "nowhere", f"number {QUIET}", "a -retry"],
)
def test_the_total_is_the_number_of_files_that_all_pages_show(filters_app: App, query: str) -> None:
    page = search(filters_app, query, limit=50, brief=True)
    total, shown = page["total"], [*page["results"]]
    while "next_cursor" in page:
        page = search(filters_app, query, limit=50, brief=True, cursor=page["next_cursor"])
        shown += page["results"]

    assert len({result["source"] for result in shown}) == len(shown) == total


def test_all_hits_are_read_if_too_few_of_the_best_ones_pass_a_filter(tmp_path: Path) -> None:
    store = KeywordStore(tmp_path)
    chunks = [make_chunk(f"{n}.md", text="A retry." if n % 3 else "A retry, a retry.") for n in range(2 * LOOKED_AT)]
    store.replace(chunks, ())
    store.publish()
    weak = {chunk.id for n, chunk in enumerate(chunks) if n % 3}
    some = set(sorted(weak)[: FEW + 100])

    found = store.search("retry", len(some), only=some)

    assert {id_ for id_, _ in found} == some


def test_facets_count_the_files_by_type_folder_language_and_age_as_their_filters_select_them(filters_app: App) -> None:
    folders = search(filters_app, "retry type:ticket,adr", facets=True)
    below = search(filters_app, "retry path:docs -path:docs/noise", facets=True)["facets"]["folders"]
    assert folders["total"] == 3
    counts = {one["type"]: one["files"] for one in folders["facets"]["types"]}
    assert counts.keys() == {"guide", "ticket", "src", "adr"}
    assert (counts["ticket"], counts["src"], counts["adr"]) == (2, 2, 1)
    assert folders["facets"]["folders"] == [{"path": "issues/**", "files": 2}, {"path": "docs/**", "files": 1}]
    assert below == [{"path": "docs/adr/**", "files": 1}, {"path": "docs/retries.md", "files": 1}]

    today = datetime.date.today()
    reply = search(filters_app, "retry", facets=True)
    langs, ages = reply["facets"]["langs"], reply["facets"]["ages"]
    assert {one["lang"] for one in langs} >= {"md", "py"}
    assert sum(one["files"] for one in langs) == reply["total"]
    for one in langs:
        assert search(filters_app, f"retry lang:{one['lang']}")["total"] >= one["files"]
    assert [one["after"] for one in ages] == [str(today - datetime.timedelta(days=age)) for age in (0, 6, 30, 365)]
    for one in ages:
        assert search(filters_app, f"retry after:{one['after']}")["total"] >= one["files"]
    shown, plain = (search(filters_app, "retry of interest", facets=facets) for facets in (True, False))
    assert sum(one["files"] for one in shown["facets"]["folders"]) == shown["total"]
    assert "facets" not in plain
    assert not any("passages" in one for one in plain["results"])


@pytest.mark.parametrize(
    ("query", "arguments", "message"),
    [
        ("retry", {"after": "soon"}, "`after` cannot be 'soon': this is not a date."),
        ("retry", {"lang": "pyhton"}, "`lang` cannot be 'pyhton'."),
        ("retry", {"type": "gide"}, "`type` cannot be 'gide'."),
        ("retry", {"type": ["guide", "gide"]}, "`type.1` cannot be 'gide'."),
        ("retry", {"path": ""}, "`path` is empty."),
        ('retry "unclosed', {}, 'The quote in `"unclosed` is not closed.'),
    ],
)
def test_a_wrong_filter_is_an_error_that_names_it(
    filters_app: App, query: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        search(filters_app, query, **arguments)

    assert caught.value.message == message


def test_an_answer_uses_only_passages_that_pass_the_filters(filters_app: App) -> None:
    reply = filters_app.call(
        "ask_knowledge_base", {"query": "is the retry bounded? after:2025", "type": ["ticket", "adr"]}
    )

    assert {one["source"] for one in reply["references"]} == {"issues/issue-1.md", "issues/issue-2.md"}


def test_filters_apply_to_the_changes_of_a_sync(hash_app: App) -> None:
    edit(hash_app, {"docs/a.md": "# A\n\nThe zebra runs.\n"})
    before = [search(hash_app, query)["total"] for query in ('"zebra runs"', "zebra path:docs", "zebra path:src")]
    edit(hash_app, {"docs/a.md": "# A\n\nThe zebra walks.\n", "src/b.md": "# B\n\nThe zebra runs.\n"})
    after = [search(hash_app, query)["total"] for query in ('"zebra runs"', "zebra path:docs", "zebra path:src")]

    assert (before, after) == ([1, 1, 0], [1, 1, 1])


@pytest.mark.later
def test_a_search_for_a_type_hardly_costs_more_than_one_for_all(tmp_path: Path) -> None:
    """Chroma's own filter reads every row of the type."""
    pages = {
        f"docs/{n}.md": "".join(f"## Part {m}\n\nThe lighthouse {n * m} flashes.\n{FILLER}\n\n" for m in range(60))
        for n in range(200)
    }
    with closing(open_index(write_project(tmp_path / "project", pages))) as index:
        assert sync(index).created > 10_000
        service = QueryService(index)

        def cost(type_: str | None) -> float:
            started = time.process_time()
            for n in range(20):
                assert service.candidates(parse(f"lighthouse {n}"), type_).candidates.by_meaning
            return time.process_time() - started

        cost("guide")
        assert min(cost("guide") / cost(None) for _ in range(4)) < 4
