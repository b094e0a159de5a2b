"""The table of mutations stays current: each of them still changes the source as it is today."""

from pathlib import Path

import pytest

from benchmarks.mutations import CAUGHT, STALE, SURVIVED, Mutation, is_enough, outcome, table
from tests.harness.projects import ROOT

MUTATIONS = table()


def test_each_mutation_changes_one_place_of_the_source_which_stays_valid() -> None:
    for mutation in MUTATIONS:
        mutated = mutation.applied_to((ROOT / mutation.file).read_text(encoding="utf-8"))

        assert mutated is not None, f"`{mutation.name}`: its text must occur exactly once in {mutation.file}"
        compile(mutated, mutation.file, "exec")


def test_mutations_have_different_names_at_least_forty_are_not_named_and_their_tests_exist() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
    assert sum(not mutation.named for mutation in MUTATIONS) >= 40
    named = {test for mutation in MUTATIONS for test in mutation.tests}
    for test in sorted(named):
        file, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / file).read_text(encoding="utf-8"), test


def a(name: str, named: bool = False) -> Mutation:
    return Mutation(name, "a.py", "1", "2", ("tests/unit/test_mutations.py",), named)


def test_two_of_forty_may_survive_but_none_of_the_named_ones_and_none_may_be_stale() -> None:
    caught = [(a(str(number)), CAUGHT) for number in range(38)]

    assert is_enough([*caught, (a("x"), SURVIVED), (a("y"), SURVIVED), (a("z", named=True), CAUGHT)])
    assert not is_enough([*caught, (a("x"), SURVIVED), (a("y"), SURVIVED), (a("z"), SURVIVED)])
    assert not is_enough([*caught, (a("x", named=True), SURVIVED)])
    assert not is_enough([*caught, (a("x"), STALE)])


@pytest.mark.parametrize("source", ["", "11"])
def test_a_mutation_whose_text_is_gone_or_ambiguous_is_not_applicable(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.py").write_text(source)

    assert outcome(tmp_path, a("x")).verdict == STALE
    assert (tmp_path / "a.py").read_text() == source
