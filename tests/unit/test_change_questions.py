"""Questions for the reason of a change name a file, some of its lines, or a symbol."""

import pytest

from lore_etl.core.model import ClassNode, Member
from lore_etl.relations.classes import Hierarchy
from lore_server.answer.change_answers import ChangedPlace, changed_place, ticket_of
from lore_server.changes.project_git import CommittedLines, located
from lore_server.changes.ticket_names import closed_by, names
from tests.harness.chunks import make_chunk

PATHS = ("src/retry.py", "src/limits/retry.ts", "lib/limits.ts", "Makefile")
TREE = Hierarchy(
    [
        ClassNode("retry.Retry", (), "src/retry.py", (4, 20)),
        ClassNode("limits.Limit", (), "lib/limits.ts", (1, 9)),
        ClassNode("other.Limit", (), "src/retry.py", (30, 40)),
        ClassNode("abc.ABC", (), None, None),
    ]
)
DEFINITIONS = {
    "wait_for": [make_chunk("src/retry.py", "src", lines=(50, 60), symbols=("wait_for",))],
    "reset": [make_chunk("lib/limits.ts", "src", lines=(1, 9), symbols=("Limit.reset",))],
    "stop": [
        make_chunk("src/retry.py", "src", lines=(lines, lines + 3), symbols=(name,))
        for lines, name in ((70, "Timer.stop"), (90, "Clock.stop"))
    ],
}


def place(question: str) -> ChangedPlace | None:
    members = {"retry.Retry": [Member("delay", "method", (8, 12))]}
    members_of, chunks_of = (lambda node: members.get(node.name, [])), (lambda name: DEFINITIONS.get(name, []))
    return changed_place(question, lambda: PATHS, TREE, members_of, chunks_of)


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
        ("why was the class Retry changed", ChangedPlace("Retry", "src/retry.py", (4, 20))),
        ("which commit last changed Retry.delay()", ChangedPlace("Retry.delay", "src/retry.py", (8, 12))),
        ("which commit last changed Retry::delay()", ChangedPlace("Retry.delay", "src/retry.py", (8, 12))),
        ("who changed wait_for", ChangedPlace("wait_for", "src/retry.py", (50, 60))),
        ("which ticket led to reset?", ChangedPlace("reset", "lib/limits.ts", (1, 9))),
    ],
)
def test_a_question_about_the_reason_for_a_change_names_its_place(question: str, expected: ChangedPlace) -> None:
    assert place(question) == expected


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
def test_other_questions_and_unknown_or_ambiguous_names_are_left_to_the_search(question: str) -> None:
    assert place(question) is None


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("which commit fixed #12?", "12"),
        ("what commits close ticket 12", "12"),
        ("Which commits mention harb-7", "harb-7"),
        ("which commit fixed the build", None),
        ("why was #12 closed", None),
    ],
)
def test_a_question_about_the_commits_of_a_ticket_names_it(question: str, name: str | None) -> None:
    assert ticket_of(question) == name


@pytest.mark.parametrize(
    ("now", "first", "last", "expected"),
    [
        ("a b c d e", 2, 3, CommittedLines(2, 3, True)),
        ("a new b c d e", 4, 5, CommittedLines(3, 4, True)),
        ("a c d e", 2, 3, CommittedLines(3, 4, True)),
        ("a b X d e", 1, 2, CommittedLines(1, 2, True)),
        ("a b X d e", 3, 3, CommittedLines(3, 3, False)),
        ("a X Y Z e", 3, 3, CommittedLines(2, 4, False)),
        ("X Y", 1, 2, CommittedLines(1, 5, False)),
        ("a b c d e f", 6, 6, CommittedLines(5, 5, False)),
        ("a b c d e", 1, 99, CommittedLines(1, 5, True)),
    ],
)
def test_lines_of_an_edited_file_are_found_in_the_last_commit(
    now: str, first: int, last: int, expected: CommittedLines
) -> None:
    assert located(["a", "b", "c", "d", "e"], now.split(), first, last) == expected


@pytest.mark.parametrize(
    ("message", "named", "closed"),
    [
        ("Fix it (#7)\n\n<!--\nFor example: closes #1234, ABC-1 or !5\n-->\nFixes #8\n", {"7", "8"}, ["8"]),
        ("Fix #7 <!-- see #1 --> and close #8 <!-- closes #2", {"7", "8"}, ["7", "8"]),
        ("Fixes #7 -- <!- no comment -> and closes #8", {"7", "8"}, ["7", "8"]),
    ],
)
def test_the_instructions_of_a_template_name_no_ticket(message: str, named: set[str], closed: list[str]) -> None:
    assert (names(message), closed_by(message)) == (named, closed)
