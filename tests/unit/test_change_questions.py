"""Questions for the commits of a ticket name it, and lines and tickets are found in commits."""

import pytest

from lore_server.answer.change_answers import ticket_of
from lore_server.changes.project_git import CommittedLines, located
from lore_server.changes.ticket_names import closed_by, names, names_of_file, number_of_file


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


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("issues/issue-8156.md", "8156"),
        ("issues/issue-8156-part-2.md", "8156"),
        ("todo/0042-sort-rows.md", "42"),
        ("issues/2024-05-issue-77.md", "77"),
        ("issues/2024-05-12-77-crash.md", "77"),
        ("issues/2024-05-12-crash.md", ""),
        ("issues/2024.md", "2024"),
        ("issues/0.md", "0"),
        ("issues/crash.md", ""),
    ],
)
def test_the_number_of_a_ticket_in_the_name_of_its_file_is_no_part_of_its_date(path: str, number: str) -> None:
    assert number_of_file(path) == number
    assert [name for name in names_of_file(path) if name.isdecimal()] == [number] * bool(number)
