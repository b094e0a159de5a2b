"""The hybrid ranking considers code, types, inheritance, versions and age, and explains its scores."""

from collections.abc import Mapping

import pytest

from lore_etl.core.model import Chunk
from lore_server.query.hybrid import rank, score
from lore_server.query.parse import parse
from lore_server.query.ranking import HYBRID, Ranked, Weights, weights
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import candidate, make_chunk

LOW = candidate(make_chunk("zzz/other.py", "src", kind="function"), 0.0, 0.0)


def ranked(
    query: str,
    *candidates: Candidate,
    type_: str | None = None,
    parents: Mapping[str, Chunk] | None = None,
    weights: Weights = HYBRID,
) -> list[Ranked]:
    asked = parse(query)
    passages = score(asked, Candidates([*candidates, LOW]), type_, weights)
    return rank(asked, passages, type_, weights, parents=parents)


def sources(found: list[Ranked]) -> list[str]:
    return [result.source for result in found if result.source != LOW.chunk.source]


GUIDE, TICKET = make_chunk("docs/retries.md"), make_chunk("issues/issue-7.md", "ticket")
CODE = make_chunk("ferry/state.py", "src", kind="function")
RELEASE = make_chunk("release-notes/v2.0.0.md", "release", heading=("v2.0.0",))
MENTION = make_chunk("b/worker.py", "src", kind="method", symbols=("Worker.run",))
DEFINITIONS = {
    kind: make_chunk("a/policy.py", "src", kind=kind, symbols=("RetryPolicy",)) for kind in ("class", "function")
}
OLD = make_chunk("issues/a.md", "ticket", updated="2024-01-01")
NEW = make_chunk("issues/b.md", "ticket", updated="2026-01-01T10:00:00Z")
Found = tuple[Chunk, float | None, float]


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        pytest.param("how do retries back off", (GUIDE, 0.88, 9.8), (TICKET, 0.9, 10.0), id="a guide before a ticket"),
        pytest.param(
            "why was the failed state removed", (TICKET, 0.85, 9.0), (CODE, 0.8, 8.0), id="a ticket for a why question"
        ),
        *(
            pytest.param(
                "RetryPolicy", (definition, 0.5, 8.0), (MENTION, 0.9, 12.0), id=f"a {kind} before its mentions",
                marks=pytest.mark.requirement("NEO-023"),
            )
            for kind, definition in DEFINITIONS.items()
        ),
        pytest.param("v2.0.0", (RELEASE, 0.4, 6.0), (GUIDE, 0.9, 10.0), id="the release of an exact version"),
        pytest.param("deadlock", (NEW, 0.8, 8.0), (OLD, 0.8, 8.0), id="the newer of two equal tickets"),
        pytest.param(
            "E4711", (GUIDE, None, 9.0), (make_chunk("x.md"), 0.9, 0.0), id="a chunk that only the keyword leg found",
            marks=pytest.mark.requirement("NEO-021"),
        ),
    ],
)  # fmt: skip
def test_one_of_two_passages_comes_first_because_of_its_kind(query: str, first: Found, second: Found) -> None:
    found = ranked(query, candidate(*second), candidate(*first))

    assert sources(found) == [first[0].source, second[0].source]


@pytest.mark.parametrize(
    ("type_", "penalty", "asking", "other"),
    [
        ("ticket", "ticketPenalty", "why was the failed state removed", "how do retries back off"),
        ("ticket", "ticketPenalty", "what was the cause of the lost jobs", "where is the lost job handled"),
        ("release", "releasePenalty", "what has been released for workers", "how do workers start"),
        ("release", "releasePenalty", "list the changes in the scheduler", "Fix changes in the scheduler"),
    ],
)
@pytest.mark.requirement("NEO-024", "NEO-025")
def test_a_type_is_penalised_unless_the_question_asks_for_it(type_: str, penalty: str, asking: str, other: str) -> None:
    document = candidate(make_chunk("past/one.md", type_), 0.9, 10.0)

    assert penalty not in dict(ranked(asking, document)[0].why)
    assert penalty not in dict(ranked("retries", document, type_=type_)[0].why)
    assert penalty in dict(next(result for result in ranked(other, document) if result.source == "past/one.md").why)


def test_a_dotted_name_finds_the_class_before_its_ancestors() -> None:
    own = make_chunk(
        "src/button/Base.mjs", "src", kind="class", symbols=("Base",), class_name="Neo.button.Base",
        chain=[("Neo.component.Base", "src/component/Base.mjs")],
    )  # fmt: skip
    parent = make_chunk(
        "src/component/Base.mjs", "src", kind="class", symbols=("Base",), class_name="Neo.component.Base"
    )

    found = ranked(
        "Neo.button.Base", candidate(own, 0.6, 9.0), candidate(parent, 0.7, 9.5), parents={"Neo.component.Base": parent}
    )

    assert sources(found) == ["src/button/Base.mjs", "src/component/Base.mjs"]


@pytest.mark.requirement("NEO-026")
def test_ancestors_follow_their_class_in_order_and_explain_their_score() -> None:
    chain = [("m.Mid", "b.py"), ("m.Top", "a.py")]
    own = make_chunk("c.py", "src", kind="class", symbols=("Child",), class_name="m.Child", chain=chain)
    mid = make_chunk("b.py", "src", kind="class", symbols=("Mid",), class_name="m.Mid")
    top = make_chunk("a.py", "src", kind="class", symbols=("Top",), class_name="m.Top")

    found = ranked("Child", candidate(own, 0.9, 9.0), parents={"m.Mid": mid, "m.Top": top})
    boosted = ["inheritanceBoost" in dict(result.why) for result in found[:3]]

    assert sources(found) == ["c.py", "b.py", "a.py"]
    assert boosted == [False, True, True]


def test_chunks_with_only_imports_are_found_only_by_exact_names() -> None:
    imports = candidate(make_chunk("src/grid/Column.mjs", "src", kind="imports"), 0.9, 10.0)
    guide = candidate(make_chunk("docs/grid.md"), 0.5, 5.0)

    assert sources(ranked("how do I use the grid component", imports, guide)) == ["docs/grid.md"]
    assert "src/grid/Column.mjs" in sources(ranked("who imports GridColumn", imports, guide))


def test_a_file_that_only_passes_on_imports_is_found_by_its_name() -> None:
    passed_on = candidate(make_chunk("api/cors.py", "src", kind="imports"), 0.5, 10.0)
    imports = candidate(make_chunk("api/app.py", "src", kind="imports"), 0.5, 10.0)
    code = candidate(make_chunk("api/app.py", "src", anchor="1"), 0.4, 5.0)

    found = ranked("how does the app handle CORS", passed_on, imports, code)

    chunks = {result.source: result.chunk for result in found if result.source != LOW.chunk.source}
    assert chunks == {"api/app.py": code.chunk, "api/cors.py": passed_on.chunk}


def test_a_heading_of_a_change_log_counts_as_its_version() -> None:
    old = make_chunk("CHANGELOG.md", "release", heading=("[1.0.0] - 2026-01-01",), anchor="1", lines=(20, 30))
    new = make_chunk("CHANGELOG.md", "release", heading=("[2.0.0] - 2026-05-01",), anchor="2", lines=(5, 18))

    found = ranked("what is new in 2.0.0", candidate(old, 0.9, 10.0), candidate(new, 0.8, 9.0))

    assert found[0].chunk == new


def test_a_file_with_many_fair_chunks_does_not_outrank_the_file_with_the_best_chunk() -> None:
    crowd = [candidate(make_chunk("docs/long.md", anchor=str(n), lines=(n, n)), 0.5, 5.0) for n in range(1, 30)]
    best = candidate(make_chunk("docs/short.md"), 0.9, 10.0)

    assert sources(ranked("graceful shutdown", *crowd, best))[0] == "docs/short.md"


@pytest.mark.requirement("KM-038")
def test_the_terms_of_a_score_add_up_to_it() -> None:
    worker = make_chunk("ferry/worker.py", "src", kind="class", symbols=("Worker",), class_name="m.Worker")
    guide = candidate(make_chunk("docs/workers.md"), 0.9, 9.0)

    for result in ranked("graceful shutdown of Worker", guide, candidate(worker, 0.7, 8.0)):
        assert result.score == pytest.approx(sum(value for _, value in result.why))


@pytest.mark.requirement("NEO-053")
def test_a_changed_weight_changes_the_order() -> None:
    guide, ticket = candidate(make_chunk("g.md"), 0.9, 9.0), candidate(make_chunk("t.md", "ticket"), 0.88, 8.8)

    loud = ranked("x y", guide, ticket, weights=weights("hybrid", {"ticketPenalty": 90}))

    assert loud[0].source == "t.md"


WHY = [(make_chunk("ferry/code.py", "src"), 0.9, 10.0), (make_chunk("docs/adr/0001.md", "adr"), 0.88, 9.8)]
TESTS = [(make_chunk(f"tree{end}.go", type_, kind="function"), vector, words)
         for end, type_, vector, words in (("", "src", 0.8, 9.0), ("_test", "test", 0.9, 10.0))]  # fmt: skip
USES = [(make_chunk("a.go", "src", kind="function", symbols=("Run",)), 0.82, 10.0),
        (make_chunk("b.go", "src", kind="function", symbols=("cmd.SuggestionsFor",)), 0.8, 9.8)]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "passages", "expected"),
    [
        ("why is sqlite the default", WHY, ["docs/adr/0001.md", "ferry/code.py"]),
        ("where is sqlite the default", WHY, ["ferry/code.py", "docs/adr/0001.md"]),
        ("radix tree path matching", TESTS, ["tree.go", "tree_test.go"]),
        ("how is the radix tree tested", TESTS, ["tree_test.go", "tree.go"]),
        ("suggestions for a mistyped command", USES, ["a.go", "b.go"]),
        ("how suggestions for commands are found by SuggestionsFor", USES, ["b.go", "a.go"]),
    ],
)
def test_a_question_decides_between_code_and_decisions_code_and_its_tests_and_uses_and_the_definition_of_a_long_name(
    query: str, passages: list[Found], expected: list[str]
) -> None:
    assert sources(ranked(query, *(candidate(*passage) for passage in passages))) == expected


def test_the_definition_of_a_bare_name_is_found_by_its_words_alone() -> None:
    close = candidate(make_chunk("use.py", "src", kind="function", symbols=("other",)), 1.0, 2.0)
    defines = candidate(make_chunk("errors.py", "src", kind="class", symbols=("AFError",)), 0.2, 10.0)

    assert "vectors" not in dict(ranked("AFError", close, defines)[0].why)
    assert "vectors" in dict(ranked("AFError", close)[0].why)


def test_a_file_name_counts_unless_the_question_suggests_other_types_than_code() -> None:
    code = candidate(make_chunk("retry_policy.go", "src", kind="function"), 0.8, 9.0)
    guide = candidate(make_chunk("docs/retry-policy.md"), 0.8, 8.0)
    ticket = candidate(make_chunk("issues/retry-policy.md", "ticket"), 0.8, 9.0)

    def named(query: str) -> list[str]:
        return [result.source for result in ranked(query, code, guide, ticket) if "fileNameMatch" in dict(result.why)]

    assert named("retry policy") == ["retry_policy.go", "docs/retry-policy.md"]
    assert named("how do I set the retry policy") == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Port.Router.scope", "router.ex"),
        ("Port.Router.Scope", "router/scope.ex"),
        ("what does Port.Router.scope do", "router.ex"),
        ("port.router.scope", "router/scope.ex"),  # in small letters, it may be either
    ],
)
def test_of_two_full_names_that_differ_in_case_the_one_as_written_is_first(query: str, first: str) -> None:
    module = make_chunk("router/scope.ex", "src", kind="module", symbols=("Port.Router.Scope",), class_name="Scope")
    macro = make_chunk("router.ex", "src", kind="function", symbols=("Port.Router.scope",), class_name="Port.Router")

    found = ranked(query, candidate(module, 0.6, 5.0), candidate(macro, 0.5, 4.0))

    assert sources(found)[0] == first
