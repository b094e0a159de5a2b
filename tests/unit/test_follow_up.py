"""A follow-up question is completed with the words of the earlier question if it lacks its own."""

import pytest

from lore_server.answer.kept_answers import completed, depends_on_earlier

WATCHING = "How does Lore watch the files of a project?"
ALONE = (
    "What is the default port of the server?",
    "Which database stores the vectors?",
    "How does RetryPolicy decide when it gives up?",
    "What does this project do about secrets in documents?",
    "where is SearchOutcome defined",
)


@pytest.mark.parametrize(
    ("earlier", "question", "expected"),
    [
        (WATCHING, "and how do I turn it off?", "and how do I turn it off? (Lore watch files project)"),
        (WATCHING, "Why?", "Why? (Lore watch files project)"),
        (WATCHING, "Is there a limit?", "Is there a limit? (Lore watch files project)"),
        (WATCHING, "What about symlinks?", "What about symlinks? (Lore watch files project)"),
        (WATCHING, "Does that work on Windows too?", "Does that work on Windows too? (Lore watch files project)"),
        ("What is RetryPolicy?", "Which classes extend it?", "Which classes extend RetryPolicy?"),
        ("What is RetryPolicy?", "List its subclasses", "List subclasses of RetryPolicy"),
        ("What is ferry.pool.PoolWorker?", "and where is it defined?", "and where is ferry.pool.PoolWorker defined?"),
        ("What is RetryPolicy?", "And in tests?", "And in tests? (RetryPolicy)"),
        ("What does `lore serve` print?", "how do I stop it", "how do I stop it (lore serve print)"),
        ("重试策略是什么", "为什么?", "为什么? (重试策略是什么)"),
        (WATCHING, "and the files of other projects?", "and the files of other projects? (Lore watch project)"),
        *((WATCHING, question, question) for question in ALONE),
    ],
)
def test_a_question_with_too_few_words_gets_those_of_the_earlier_question_and_one_that_stands_alone_is_unchanged(
    earlier: str, question: str, expected: str
) -> None:
    assert completed(question, earlier) == expected


def test_only_a_few_words_are_borrowed_from_a_long_question() -> None:
    borrowed = completed("why?", " ".join(f"word{n}" for n in range(500)))

    assert borrowed.count("word") == 12


def test_the_words_of_a_chain_of_questions_are_kept() -> None:
    second = completed("and how do I turn it off?", WATCHING)
    third = completed("and on Windows?", second)

    assert "watch" in third
    assert depends_on_earlier("and on Windows?")
