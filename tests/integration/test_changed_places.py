"""Questions for the reason of a change name a file, some of its lines, or a symbol."""

import pytest

from lore_server.answer.change_answers import ChangedPlace, changed_place
from lore_server.app import App
from tests.harness.calls import app_fixture

RETRY = """import abc


class Retry(abc.ABC):
    def delay(self):
        return 1


class Timer:
    def stop(self):
        return 2


class Clock:
    def stop(self):
        return 3


class Limit:
    pass


def wait_for(boat):
    return boat
"""
LIMITS = """export class Quota {
    reset() {
        return 4
    }
}
"""
PROJECT = {
    "src/retry.py": RETRY,
    "src/other.py": "class Limit:\n    pass\n",
    "src/limits/retry.ts": "// none\n",
    "lib/limits.ts": LIMITS,
    "Makefile": "all:\n",
}
app = app_fixture(PROJECT)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why was src/retry.py changed?", ChangedPlace("src/retry.py", "src/retry.py")),
        ("Why did `retry.py` change", ChangedPlace("src/retry.py", "src/retry.py")),
        ("why was Makefile changed", ChangedPlace("Makefile", "Makefile")),
        ("why was src/retry.py:10-20 changed", ChangedPlace("src/retry.py", "src/retry.py", (10, 20))),
        ("why was src/retry.py:20-10 changed", ChangedPlace("src/retry.py", "src/retry.py", (10, 20))),
        ("why were lines 20 to 10 of src/retry.py changed", ChangedPlace("src/retry.py", "src/retry.py", (10, 20))),
        ("why was src/retry.py:0 changed", ChangedPlace("src/retry.py", "src/retry.py", (1, 1))),
        ("why were lines 10 to 20 of src/retry.py changed", ChangedPlace("src/retry.py", "src/retry.py", (10, 20))),
        ("when was line 7 in retry.py last modified?", ChangedPlace("src/retry.py", "src/retry.py", (7, 7))),
        ("why was the class Retry changed", ChangedPlace("Retry", "src/retry.py", (4, 6))),
        ("which commit last changed Retry.delay()", ChangedPlace("Retry.delay", "src/retry.py", (5, 6))),
        ("which commit last changed Retry::delay()", ChangedPlace("Retry.delay", "src/retry.py", (5, 6))),
        ("who changed wait_for", ChangedPlace("wait_for", "src/retry.py", (23, 24))),
        ("which ticket led to reset?", ChangedPlace("reset", "lib/limits.ts", (1, 5))),
    ],
)
def test_a_question_about_the_reason_for_a_change_names_its_place(
    question: str, expected: ChangedPlace, app: App
) -> None:
    assert changed_place(question, app.index) == expected


@pytest.mark.parametrize(
    "question",
    [
        "why was SQLite chosen",
        "why was the default store changed to SQLite",
        "why was Limit changed",  # two classes
        "why was nothing.py changed",
        "why was ABC changed",  # outside the project
        "why was Retry.nothing changed",
        "what changed in 1.2.0",
        "who changed the colour of the boat",
        "who changed stop",  # two methods of one file, and what is between them
    ],
)
def test_other_questions_and_unknown_or_ambiguous_names_are_left_to_the_search(question: str, app: App) -> None:
    assert changed_place(question, app.index) is None
