"""Tickets and releases named by number, and types the query asks for, rank first."""

import pytest

from lore_etl.core.model import Chunk, KnowledgeType
from lore_server.query.hybrid import rank, score
from lore_server.query.parse import parse, sought_types
from lore_server.query.ranking import HYBRID, Ranked
from lore_server.query.reference import Reference, asks_only_for, references, tickets, titles, written_paths
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import candidate, make_chunk

TICKET, RELEASE = KnowledgeType.TICKET, KnowledgeType.RELEASE
PATHS = {
    TICKET: ["issues/issue-8156.md", "issues/issue-81.md", "pulls/pr-8156.md", "todo/0042-sort-rows.md", "a/t-12-8.md"],
    RELEASE: ["notes/v11.20.0.md", "notes/v11.20.3.md", "notes/v11.2.0.md", "notes/v11.200.0.md", "notes/3.12.md"],
}


def ranked(query: str, *candidates: Candidate, named: tuple[Chunk, ...] = ()) -> list[Ranked]:
    asked = parse(query)
    passages = score(asked, Candidates(list(candidates)), None, HYBRID)
    return rank(asked, passages, None, HYBRID, named={result.source: result for result in named})


def named(query: str) -> list[str]:
    all_paths = [path for paths in PATHS.values() for path in paths]
    found = references(parse(query), lambda type_: PATHS[KnowledgeType(type_)] if type_ else all_paths)
    return [path for one in found for path in one.sources]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("#8156", ("8156",)),
        ("what was #8156 about, and (#81)?", ("8156", "81")),
        ("issue 8156", ("8156",)),
        ("GH-8156", ("8156",)),
        ("PR #8156", ("8156",)),
        ("error 8156 &#8156; page#3 /a#4", ()),
        ("issues 3 and up", ()),
    ],
)
def test_a_query_names_a_ticket_by_its_number(query: str, numbers: tuple[str, ...]) -> None:
    assert tickets(query) == numbers


SERIES = ["notes/v11.20.0.md", "notes/v11.20.3.md"]
NAMED = {
    "#8156": ["issues/issue-8156.md", "pulls/pr-8156.md"],
    "#42": ["todo/0042-sort-rows.md"],
    "where is todo/0042-sort-rows.md": ["todo/0042-sort-rows.md"],
    "/builds/x/A/T-12-8.md:12": ["a/t-12-8.md"],
    "ulls/pr-8156.md": [],
    **dict.fromkeys(["release 11.20", "version 11.20", "v11.20", "11.20", "what changed in v11.20"], SERIES),
    **dict.fromkeys(["what was fixed in 11.20?", "what's new with 11.20"], SERIES),
    **dict.fromkeys(["v11.20.0", "release 11.20.0", "11.20.0"], SERIES[:1]),
    "does it run on Python 3.12": [],
    **dict.fromkeys(["what changed between 11.2 and 11.20.3", "changes between v11.2 and v11.20.3"], SERIES[1:]),
    "what is new since 11.20": [],  # its own notes are not
    "what changed since version 11.20": [],
    "what did version 11.20 of the schema add": [],
    "what did version 11.20 of the library add": SERIES,
}


@pytest.mark.parametrize(("query", "paths"), NAMED.items())
def test_a_query_names_whole_file_names_ends_of_paths_versions_and_series(query: str, paths: list[str]) -> None:
    assert named(query) == paths


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("src/Parse.py", ("src/parse.py",)),
        ("./src/parse.py:12: error, see also /lib/x-1.js.", ("src/parse.py", "lib/x-1.js")),
        ("what does `docs/adr/0003-fused.md` say?", ("docs/adr/0003-fused.md",)),
        ("parse.py, and/or https://example.org", ("and/or",)),
        ("a / b // c", ()),
    ],
)
def test_a_query_names_a_file_by_its_path(query: str, paths: tuple[str, ...]) -> None:
    assert written_paths(query) == paths


def test_the_file_at_a_queried_path_ranks_first_and_also_a_release_that_no_leg_found() -> None:
    asked = candidate(make_chunk("lib/parse.py"), vector=0.1)
    other = candidate(make_chunk("docs/parse.md"), vector=1.0, keyword=1.0)
    release = make_chunk("notes/v11.20.0.md", "release")

    by_path = ranked("lib/parse.py", asked, other, named=(asked.chunk,))
    by_version = ranked("release 11.20", other, named=(release,))

    assert [result.source for result in by_path] == ["lib/parse.py", "docs/parse.md"]
    assert [result.chunk for result in by_version] == [release, other.chunk]


def test_a_ticket_shows_its_own_text_rather_than_a_mention_of_it() -> None:
    own = make_chunk("issues/issue-8156.md", "ticket", "The grid loses its focus", heading=("Grid",), anchor="1")
    line = make_chunk(own.source, "ticket", '- commit a1b2 "fix the grid (#8156)"', lines=(90, 90), anchor="2")
    notes = make_chunk("notes/v1.md", "release", "- fix the grid (#8156)")

    found = ranked("#8156", candidate(notes, 0.9, 9.0), candidate(line, 0.8, 8.0), named=(own,))

    assert [result.chunk for result in found] == [own, notes]
    assert [result.score for result in found] == pytest.approx(
        [sum(value for _, value in result.why) for result in found]
    )


@pytest.mark.parametrize("heading", ["v11.20.0", "[11.20.3] - 2025-12-01"])
def test_a_heading_of_the_series_matches_in_a_change_log(heading: str) -> None:
    ours = make_chunk("CHANGELOG.md", "release", heading=(heading,), anchor="1", lines=(50, 60))
    other = make_chunk("CHANGELOG.md", "release", heading=("v11.21.0",), anchor="2", lines=(1, 9))

    found = ranked("release 11.20", candidate(other, 0.9, 9.0), candidate(ours, 0.7, 7.0))

    assert found[0].chunk == ours


def test_a_release_whose_title_ends_a_passage_is_found_and_a_title_may_have_a_line_above_and_below() -> None:
    before = make_chunk("NEWS", text="\t* the sails since 1.2.0 are wider\n\nChanges with v1.3.0:\n\n\t* add")
    passage = make_chunk("NEWS", text="\t* the keel is lighter\n\nChanges with v1.2.0:")

    assert [Reference("release", "1.2.0").is_in(chunk) for chunk in (before, passage)] == [False, True]
    assert list(titles("****\n 3.1.0\n****\n\n- New.\n\n3.0.0\n=====\n")) == ["3.1.0", "3.0.0"]


@pytest.mark.parametrize(
    "query",
    [
        "which ticket introduced the buffered rows",
        "what ticket added sorting",
        "which closed issue fixed the focus",
        "in which pull request was sorting added",
        "the ticket that introduced sorting",
        "tickets about sorting",
        "open tickets on drag and drop",
        "is there an issue that tracks the memory leak",
    ],
)
def test_a_query_for_a_ticket_ranks_tickets_first(query: str) -> None:
    code, ticket = make_chunk("src/grid/Body.mjs", "src"), make_chunk("issues/issue-7.md", "ticket")
    other = make_chunk("issues/issue-8.md", "ticket")

    found = ranked(query, candidate(code, 0.9, 9.0), candidate(ticket, 0.4, 5.0), candidate(other, 0.1, 0.5))

    assert [result.source for result in found] == [ticket.source, code.source, other.source]


@pytest.mark.parametrize(
    "query",
    ["what issues does the grid have", "how do I close a ticket", "which class renders the ticket view", "issue types"],
)
def test_a_query_that_only_mentions_tickets_does_not_prefer_them(query: str) -> None:
    assert sought_types(query) == frozenset()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("what is ticket #99 about?", "There is no ticket #99 in this knowledge base."),
        ("what changed in v7.1", "There is no note of release 7.1 in this knowledge base."),
        ("what does a/b.py do", "There is no file `a/b.py` in this knowledge base, which leaves out ignored files."),
        ("what does `shop close` do", "`shop close` occurs nowhere in this knowledge base."),
        ("read and/or write", None),
        ("see https://example.org/a.html", None),
        ("is it `slow`", None),
        ("in config.py", None),
        ("Add a ``quote_cookie`` option to ``CookieJar``", None),
        ("Improve the typing of `web.Request`", None),
        ("Parse errors on `\\n`. Found by `bdraco`", None),
    ],
)
def test_what_is_named_and_not_there_is_said_except_what_may_be_no_name(query: str, sentence: str | None) -> None:
    assert [one.missing for one in references(parse(query), lambda _: [])] == ([sentence] if sentence else [])


@pytest.mark.parametrize(
    ("query", "is_only"),
    [("What is ticket #42 about?", True), ("explain #42", True), ("why did #42 break the grid", False)],
)
def test_a_question_may_have_no_subject_besides_what_it_names(query: str, is_only: bool) -> None:
    asked = parse(query)

    assert asks_only_for(asked, references(asked, lambda _: [])) is is_only


def test_a_long_text_names_files_by_their_paths_only() -> None:
    text = (
        "Since the last release the focus is lost in Body.mjs " + "and nobody knows why " * 6 + "see src/grid/Row.mjs"
    )

    (one,) = references(parse(text), lambda _: ["src/grid/Body.mjs", "src/grid/Row.mjs"])

    assert one.name == "src/grid/row.mjs"


NUMBERED = [
    "kep/0007-gates.md", "kep/0012-drains.md", "kep/0021-locks.md", "src/gates.py", "peps/pep-0008.rst",
    "old-smcs/3-oil.md",
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("what does KEP 12 say", ["kep/0012-drains.md"]),
        ("why does kep-0021 lock twice", ["kep/0021-locks.md"]),
        ("keps 7", ["kep/0007-gates.md"]),
        ("summarize PEP 8", ["peps/pep-0008.rst"]),
        ("which gates have 12 locks", []),
    ],
)
def test_a_query_names_a_document_by_its_kind_and_number(query: str, paths: list[str]) -> None:
    assert [path for one in references(parse(query), lambda _: NUMBERED) for path in one.sources] == paths


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("what does KEP 99 say", 1),
        ("what does KEP 99 propose", 1),
        ("does kep-0099 exist", 1),
        ("PEP 9", 0),
        ("how are 40 gates of kep 99 drained", 0),
    ],  # about more than the document
)
def test_a_number_is_missing_only_where_several_documents_of_the_kind_have_one(query: str, count: int) -> None:
    found = references(parse(query), lambda _: NUMBERED)

    assert [one.sources for one in found] == [()] * count
