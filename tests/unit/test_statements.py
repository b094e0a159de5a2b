"""A statement appears as soon as it is complete, and only if its quotes are in the passages it names."""

import json
import time
from collections.abc import Sequence

import pytest

from lore_server.answer.pack import Passage
from lore_server.answer.statements import Proof, StatementReader, verified
from lore_server.answer.writer_interface import ModelFailure, Statement
from tests.harness.chunks import make_chunk

TEXT = "Lore waits for\n  the lock at\nmost 30 seconds."
PASSAGES = {
    1: Passage(1, make_chunk("a.md", text=TEXT, lines=(10, 12))),
    2: Passage(2, make_chunk("b.md", text="Another passage about nothing.", lines=(5, 5))),
}


def statement(text: str = "It waits.", passages: Sequence[int] = (1,), *quotes: str) -> Statement:
    return Statement(quotes=[*(quotes or ["waits for the lock"])], passages=[*passages], text=text)


def shown(given: Statement) -> str | None:
    return verified(given, PASSAGES, [])


@pytest.mark.parametrize(
    "given",
    [
        statement("It waits.", (1,), "waits for a lock"),
        statement("It waits.", (1,), "Waits for the lock"),
        statement("It waits.", (1,), ""),
        statement("It waits.", (1,), "at"),
        statement(passages=[2]),
        statement(passages=[9, -1, 0]),
        statement(passages=[]),
        statement(text=" \n"),
        statement(text="[1]"),
        statement(text="\u200b"),
    ],
    ids=["invented", "case", "empty", "short", "other passage", "no such passage", "none", "blank", "bare", "hidden"],
)
def test_a_statement_without_a_proof_is_dropped(given: Statement) -> None:
    assert shown(given) is None


@pytest.mark.parametrize("piece", ["`", "~", " ", "` "])
def test_long_runs_in_a_statement_are_read_in_little_time(piece: str) -> None:
    start = time.process_time()

    assert shown(statement(f"It waits.{piece * 20_000}Then it ends."))
    assert time.process_time() - start < 5


def test_each_quote_is_cited_with_its_own_lines() -> None:
    cited: list[Proof] = []
    given = [
        statement("It waits.", (1,), "most 30 seconds", "Lore waits"),
        statement("It locks.", (2, 1), "the lock at", "about nothing"),
        statement("It ends.", (1,), "Lore waits", "invented words"),
        statement("So it waits.", (1,), "most 30 seconds."),
    ]

    shown = [verified(one, PASSAGES, cited) for one in given]

    assert shown == ["It waits. [1][2]", "It locks. [3][4]", None, "So it waits. [1]"]
    assert [(proof.passage.number, proof.lines) for proof in cited] == [
        (1, (12, 12)), (1, (10, 10)), (1, (11, 11)), (2, (5, 5)),
    ]  # fmt: skip


def test_only_passages_that_contain_the_quote_apart_from_its_white_space_are_cited() -> None:
    assert shown(statement("It waits.", (1,), "waits for the  lock\nat most")) == "It waits. [1]"
    assert shown(statement(passages=[2, 1, 7])) == "It waits. [1]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use `args[0]`, then\n\n```\na[1] = b[2]\n```", "Use `args[0]`, then\n\n```\na[1] = b[2]\n```\n[1]"),
        ("```\nwait()", "```\nwait()\n```\n[1]"),
        ("~~~~ python\na[0]\n~~~", "~~~~ python\na[0]\n~~~\n~~~~\n[1]"),
        ("```\nwait()\n`````", "```\nwait()\n`````\n[1]"),
        ("```\nwait()\n``` x", "```\nwait()\n``` x\n```\n[1]"),
        ("```\nwait()\n    ```", "```\nwait()\n    ```\n```\n[1]"),
        ("- Call:\n  ```\n  wait()", "- Call:\n  ```\n  wait()\n[1]"),
        ("- ```\n  wait()", "- ```\n  wait()\n[1]"),
        ("- ```\n  wait()\n\nThen stop.", "- ```\n  wait()\n\nThen stop. [1]"),
        ("> ```\n> wait()", "> ```\n> wait()\n[1]"),
        ("> ```\n> wait()\n\n```", "> ```\n> wait()\n\n```\n```\n[1]"),
        ("Call:\n\n    wait()", "Call:\n\n    wait()\n[1]"),
        ("Call:\n\n    ```", "Call:\n\n    ```\n[1]"),
        ("``` is a fence, ```a` too", "``` is a fence, ```a` too [1]"),
        ("|a|\n|-|\n|b|", "|a|\n|-|\n|b|\n\n[1]"),
        ("## Wait", "## Wait [1]"),
        ("- one\n- two", "- one\n- two [1]"),
    ],
)
def test_a_citation_is_never_in_the_code_of_its_statement(text: str, expected: str) -> None:
    assert shown(statement(text=text)) == expected


def read(text: str, size: int) -> list[tuple[int, Statement | None]]:
    """Return each statement with the number of characters that were read before it appeared."""
    reader, found = StatementReader(), []
    for start in range(0, len(text), size):
        found += [(start + size, one) for one in reader.feed(text[start : start + size])]
    reader.end()
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("```json\n", "\n```"), ('Sure: {"thought": "}",', "}")])
def test_a_statement_appears_with_its_last_character(size: int, before: str, after: str) -> None:
    first, second = (json.dumps(statement(text=text).model_dump()) for text in ('He says: "]}"', "b"))
    start = f'{before}{{"statements": [ {first}'

    found = read(f"{start},\n{second} ]}}{after}", size)

    assert [one.text for _, one in found if one] == ['He says: "]}"', "b"]
    assert len(start) <= found[0][0] < len(start) + size


def test_a_statement_in_another_format_counts_as_unverifiable() -> None:
    assert read('{"statements": [{"text": 1}, {"quotes": ["a"], "passages": "1", "text": ""}]}', 5)[0][1] is None


@pytest.mark.parametrize(
    ("text", "size", "problem"),
    [
        *((text, 4, "cannot be read")
          for text in ("It doubles [1].", "[]", '{"statements": [{"quotes": ["x"', '{"statements": "no"}', "{")),
        ('{"statements": [1]}', 99, "cannot be read"),
        ('{"statements": [' + "[" * 100_000, 200_000, "cannot be read"),
        ('{"statements": [{"text": ' + "[" * 90_000 + "]" * 90_000 + "}]}", 200_000, "cannot be read"),
        ("a" * 300_000, 1000, "too long"),
    ],
    ids=["no JSON", "a list", "an open end", "no list", "a brace", "number", "too deep", "a deep text", "endless"],
)  # fmt: skip
def test_a_reply_that_is_incomplete_too_deep_or_endless_is_refused(text: str, size: int, problem: str) -> None:
    with pytest.raises(ModelFailure, match=problem):
        read(text, size)
