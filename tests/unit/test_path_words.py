"""A path counts by the number of words that it shares with the question."""

from __future__ import annotations

from lore_server.query import hybrid
from lore_server.query.parse import parse
from lore_server.query.path_words import path_sureness
from lore_server.query.retrieve import Candidate, Candidates
from lore_server.query.weights import HYBRID
from tests.harness.chunks import make_chunk

LONG = "the dbshell command now supports the optional authority setting of the database for certificates"


def sureness(question: str, source: str) -> float:
    return path_sureness(question, [source])[source]


def test_one_word_of_a_short_question_is_enough() -> None:
    assert sureness("settings", "docs/ref/settings.txt") == 1
    assert sureness("how are settings read from files", "docs/ref/setting.txt") == 1


def test_one_word_of_a_long_question_counts_less_than_several() -> None:
    one, two = sureness(LONG, "docs/settings.txt"), sureness(LONG, "docs/command/settings.txt")

    assert 0 < one < two < sureness(LONG, "docs/database/command/settings.txt") == 1


def test_words_are_compared_as_the_index_has_them() -> None:
    assert sureness("Fix RetryPolicy", "ferry/retries/policy.py") == 1
    assert sureness("the of a to", "docs/of.md") == 1
    assert sureness("schedules", "docs/retry.md") == 0
    assert path_sureness("", ["a.md"]) == {"a.md": 0}


def test_the_best_path_of_a_long_question_has_all_points_only_if_it_has_several_of_its_words() -> None:
    def points(question: str, source: str) -> float:
        candidate = Candidate(make_chunk(source, text="x"), 0.5, 1.0, 3.0)
        [passage] = hybrid.score(parse(question), Candidates([candidate]), None, HYBRID)
        return dict(passage.why)["sourcePathMatch"]

    assert points("settings", "docs/settings.md") == HYBRID["sourcePathMatch"]
    assert points(LONG, "docs/settings.md") < HYBRID["sourcePathMatch"] / 2
