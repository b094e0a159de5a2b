"""An answer reports which of its passages are outdated or state different quantities, and which of them to prefer."""

import datetime
import time
from typing import Any

import pytest

from lore_server.answer.conflicts import conflicts
from lore_server.answer.pack import Passage
from lore_server.query.confidence import share_of
from lore_server.query.proximity import stems
from tests.harness.chunks import make_chunk

TODAY = datetime.date(2026, 6, 1)
QUESTION = "How many attempts does the retry policy allow?"
NOW = "The retry policy allows five attempts."
THEN = "The retry policy allows 3 attempts."


def reported(*chunks: dict[str, Any], question: str = QUESTION) -> list[str]:
    passages = [
        Passage(number, make_chunk(**{"source": f"docs/{number}.md", **chunk}))
        for number, chunk in enumerate(chunks, start=1)
    ]
    share = share_of(stems(question), lambda words: dict.fromkeys(words, 1.0))
    return list(conflicts(question, passages, share, TODAY))


def test_outdated_passages_are_named_with_their_successor_and_its_number_or_their_last_day() -> None:
    old = {"text": "Anything.", "superseded_by": "docs/1.md"}

    assert reported({"text": "Anything else."}, old) == ["[2] is superseded by docs/1.md [1]."]
    assert reported({**old, "superseded_by": "docs/new.md"}) == ["[1] is superseded by docs/new.md."]
    assert reported({"text": "Anything.", "valid_until": "2026-05-01"}) == ["[1] was valid until 2026-05-01."]


@pytest.mark.parametrize("piece", ["1, ", "1,", "one, "])
def test_a_passage_of_numbers_is_compared_in_little_time(piece: str) -> None:
    start = time.process_time()

    assert reported({"text": piece * 10_000}, {"text": NOW}) == []
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"updated": "2026-01-02"}, {"updated": "2025-01-02"}, "[1] is newer (2026-01-02)"),
        ({"created": "2025-01-02"}, {"updated": "2026-01-02"}, "[2] is newer (2026-01-02)"),
        ({"type_": "src"}, {"type_": "ticket", "updated": "2026-01-02"}, "[2] is a ticket"),
        ({}, {"type_": "release"}, "[2] is a release note"),
    ],
    ids=["newer first", "newer second", "source over ticket", "guide over release"],
)
def test_of_two_different_quantities_one_is_preferred_for_a_reason(
    first: dict[str, Any], second: dict[str, Any], reason: str
) -> None:
    past = {"text": "Until 1.1.0 the retry policy allowed 3 attempts."}

    assert reported({"text": NOW, **first}, {"text": THEN, **second}) == [
        f'[1] and [2] differ ("five attempts", "3 attempts"); {reason}.'
    ]
    assert reported({"text": NOW}, past)[0].endswith("[2] describes the past.")


@pytest.mark.parametrize(
    ("first", "second", "question"),
    [
        (NOW, "The retry policy allows 5 attempts.", QUESTION),
        (NOW, "The retry policy waits 3 seconds.", QUESTION),
        (NOW, "A dashboard makes 3 attempts.", QUESTION),
        (NOW, THEN, "Why is there a retry policy?"),
    ],
    ids=["same number", "other unit", "other subject", "no quantity asked"],
)
def test_other_differences_are_not_reported(first: str, second: str, question: str) -> None:
    dated = [{"text": first, "updated": "2026-01-02"}, {"text": second, "updated": "2025-01-02"}]

    assert reported(*dated, question=question) == []
    assert reported({"text": NOW}, {"text": THEN}) == []  # without a reason to prefer one
