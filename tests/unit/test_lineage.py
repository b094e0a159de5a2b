"""Ancestors accompany the classes that a query finds, below the results."""

import pytest

from lore_etl.core.model import Chunk
from lore_server.query.hybrid import rank, score
from lore_server.query.lineage import FOUND, LAST_PLACE, MAX_ADDED, wanted_ancestors
from lore_server.query.parse import parse
from lore_server.query.ranking import HYBRID, Ranked, weights
from lore_server.query.retrieve import Candidate, Candidates
from tests.harness.chunks import candidate, make_chunk

CHAIN = [("Neo.component.Base", "src/component/Base.mjs"), ("Neo.core.Base", "src/core/Base.mjs")]


def class_chunk(name: str, chain: list[tuple[str, str]], type_: str = "src") -> Chunk:
    source = f"src/{name.partition('.')[2].replace('.', '/')}.mjs"
    return make_chunk(
        source, type_, kind="class", symbols=(name.rpartition(".")[2],), class_name=name, chain=chain, title=name
    )


BUTTON = class_chunk("Neo.button.Base", CHAIN)
SPLIT = class_chunk("Neo.button.Split", CHAIN)
COMPONENT = class_chunk("Neo.component.Base", CHAIN[1:])
CORE = class_chunk("Neo.core.Base", [])
HEADS = {chunk.class_name: chunk for chunk in (BUTTON, COMPONENT, CORE)}


def ranked(query: str, *candidates: Candidate, type_: str | None = None, boost: float = 1) -> list[Ranked]:
    asked, weighed = parse(query), weights("hybrid", {"inheritanceBoost": boost})
    passages = score(asked, Candidates(list(candidates)), type_, weighed)
    heads = {name: HEADS[name] for name in wanted_ancestors(asked, passages) if name in HEADS}
    return rank(asked, passages, type_, weighed, parents=heads)


def sources(found: list[Ranked]) -> list[str]:
    return [result.source for result in found]


def others(count: int, best: float = 0.9) -> list[Candidate]:
    return [candidate(make_chunk(f"docs/{n}/a.md"), best - n / 100, 10 * best - n / 10) for n in range(count)]


@pytest.mark.parametrize(
    "query", ["Neo.button.Base", "button.Base", "neo.button.base", "where is Neo.button.Base defined"]
)
def test_the_ancestors_of_a_named_class_come_directly_below_it(query: str) -> None:
    found = ranked(query, candidate(BUTTON, 0.9, 9.0), *others(12, 0.89))
    at = sources(found).index(BUTTON.source)

    assert sources(found)[at : at + 3] == [BUTTON.source, COMPONENT.source, CORE.source]


def test_an_ancestor_found_by_the_search_also_moves_below_its_class_and_two_named_classes_keep_their_ranks() -> None:
    both = candidate(BUTTON, 0.7, 9.0), candidate(COMPONENT, 0.9, 9.9)
    one_is_named, both_are_named = "Neo.button.Base", "Neo.component.Base or Neo.button.Base"

    assert sources(ranked(one_is_named, *both, *others(5, 0.8)))[:3] == [BUTTON.source, COMPONENT.source, CORE.source]
    assert sources(ranked(both_are_named, *both)) == [COMPONENT.source, CORE.source, BUTTON.source]


@pytest.mark.parametrize("query", ["base", "button", "split"])
def test_a_word_that_is_not_written_as_the_class_brings_no_ancestors(query: str) -> None:
    found = ranked(query, candidate(BUTTON, 0.9, 9.0), candidate(SPLIT, 0.8, 8.0), *others(12, 0.89))

    assert CORE.source not in sources(found)[:FOUND]


def test_a_text_that_mentions_a_class_in_passing_gets_no_ancestors() -> None:
    found = ranked("Neo.button.Base loses its badge when a menu closes", candidate(BUTTON, 0.9, 9.0), *others(5, 0.8))

    assert {COMPONENT.source, CORE.source}.isdisjoint(sources(found))


def test_a_name_shared_by_classes_adds_only_the_ancestors_of_the_best() -> None:
    many = [class_chunk(f"Neo.kind{n}.Thing", [(f"Neo.parent{n}.P", f"src/parent{n}/P.mjs")]) for n in range(4)]
    asked = parse("Thing")
    passages = score(
        asked, Candidates([candidate(chunk, 0.9 - n / 50, 9.0 - n) for n, chunk in enumerate(many)]), None, HYBRID
    )
    heads = {f"Neo.parent{n}.P": class_chunk(f"Neo.parent{n}.P", []) for n in range(4)}

    found = sources(rank(asked, passages, None, HYBRID, parents=heads))

    assert found[:3] == ["src/kind0/Thing.mjs", "src/parent0/P.mjs", "src/kind1/Thing.mjs"]


BUTTONS = candidate(BUTTON, 0.9, 9.0), candidate(SPLIT, 0.89, 8.9)


def test_ancestors_of_two_unnamed_classes_take_the_last_of_the_first_ten_ranks() -> None:
    pressed = "buttons that can be pressed"
    found = sources(ranked(pressed, *BUTTONS, *others(20, 0.8)))
    without = sources(ranked(pressed, *BUTTONS, *others(20, 0.8), boost=0))
    single = sources(ranked(pressed, candidate(BUTTON, 0.9, 9.0), *others(20, 0.8)))

    assert found[LAST_PLACE - MAX_ADDED : LAST_PLACE] == [COMPONENT.source, CORE.source]
    assert found[: LAST_PLACE - MAX_ADDED] == without[: LAST_PLACE - MAX_ADDED]
    assert COMPONENT.source not in without
    assert {COMPONENT.source, CORE.source}.isdisjoint(single)


def test_an_ancestor_among_the_first_ten_keeps_its_rank_and_a_short_list_gets_its_ancestors_at_the_end() -> None:
    pressed = "buttons that can be pressed"
    found = sources(ranked(pressed, *BUTTONS, candidate(COMPONENT, 0.85, 8.5), *others(20, 0.8)))
    short = sources(ranked(pressed, *BUTTONS, *others(2, 0.8)))

    assert found.index(COMPONENT.source) < FOUND
    assert found[LAST_PLACE - 1] == CORE.source
    assert short == [BUTTON.source, SPLIT.source, "docs/0/a.md", "docs/1/a.md", COMPONENT.source, CORE.source]


def test_low_ranked_classes_and_test_classes_add_no_ancestors() -> None:
    late = sources(ranked("pressed", *others(12, 0.9), candidate(BUTTON, 0.2, 1.0), candidate(SPLIT, 0.2, 1.0)))
    tests = [class_chunk(f"Neo.button.{name}", CHAIN, "test") for name in ("Base", "Split")]
    tested = sources(ranked("pressed", *(candidate(one, 0.9, 9.0) for one in tests), *others(2, 0.8)))

    assert COMPONENT.source not in late + tested


def test_only_ancestors_of_the_requested_type_are_added_and_their_terms_add_up_to_their_scores() -> None:
    found = ranked("Neo.button.Base", candidate(BUTTON, 0.9, 9.0), candidate(COMPONENT, 0.95, 9.5), *others(3))
    guides = sources(ranked("Neo.button.Base", candidate(BUTTON, 0.9, 9.0), type_="guide"))

    assert guides == [BUTTON.source]
    assert all(result.score == pytest.approx(sum(value for _, value in result.why)) for result in found)
