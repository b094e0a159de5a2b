"""Fragments of a file can be judged as one document."""

from benchmarks.by_file import judged_files, ranked_files, wrong_first

PATHS = {"a1": "a.rs", "a2": "a.rs", "b1": "b.rs"}


def test_a_file_has_the_highest_grade_and_the_place_of_its_best_fragment() -> None:
    judgements = {"one": {"a1": 0, "a2": 2, "b1": 0}, "other": {"a2": 2, "a1": 1}}

    assert judged_files(judgements, PATHS) == {"one": {"a.rs": 2, "b.rs": 0}, "other": {"a.rs": 2}}
    assert ranked_files(["b1", "a2", "a1"], PATHS) == ["b.rs", "a.rs"]


def test_a_wrong_first_result_may_be_in_the_right_file() -> None:
    judgements = {"right": {"a1": 1}, "fragment": {"a1": 1, "b1": 0}, "file": {"a1": 1}, "nothing": {"a1": 1}}
    runs = {"right": ["a1", "b1"], "fragment": ["a2", "a1"], "file": ["b1", "a1"], "nothing": []}

    assert wrong_first(judgements, runs, PATHS) == (3, 1)
