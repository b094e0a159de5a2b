"""The names in a question, which an answer must contain."""

import pytest

from lore_server.query.subjects import nouns


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("how do I deploy Crane to Heroku", ["Crane", "Heroku"]),
        ("Kafka: how do I read it?", []),
        ("How do I use IE 11 with PostgreSQL?", ["IE", "PostgreSQL"]),
        ("where is retry_worker_pool used", ["retry_worker_pool"]),
        ("How is the day's file written? With Rust?", ["Rust"]),
    ],
)
def test_names_are_known_by_their_spelling_except_at_the_beginning(question: str, names: list[str]) -> None:
    assert [noun.text for noun in nouns(question) if noun.is_name] == names


def test_contractions_are_no_subjects() -> None:
    found = nouns("Why doesn't the dashboard’s page poll? It isn’t new")

    assert [noun.text for noun in found] == ["dashboard", "page", "poll"]


def test_other_words_are_no_names() -> None:
    assert [noun for noun in nouns("how do I deploy to heroku") if not noun.is_name] == nouns("deploy, heroku?")


def test_what_was_looked_up_is_no_name() -> None:
    assert nouns("what is in src/Retry.py", ["src/retry.py"]) == []
