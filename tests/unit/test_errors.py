"""Every error has a code, a status, an exit code and a hint."""

from __future__ import annotations

from collections.abc import Iterator

from lore_etl.core.errors import Busy, LoreError
from lore_server.replies.problem import problem


def _all(kind: type[LoreError]) -> Iterator[type[LoreError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == "lore_etl.core.errors":
            yield from _all(child)


def test_codes_are_unique_and_every_error_has_a_hint() -> None:
    kinds = list(_all(LoreError))

    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(kind.default_hint for kind in kinds)


def test_exit_codes_match_the_documentation() -> None:
    assert {kind.exit_code for kind in _all(LoreError)} == {1, 2, 70, 74, 75}


def test_an_unexpected_error_is_logged_but_its_text_is_not_shown() -> None:
    record = problem(ValueError("the secret text"))

    assert record["code"] == "INTERNAL_ERROR"
    assert "secret" not in str(record)


def test_a_known_error_is_shown_with_its_hint() -> None:
    record = problem(Busy("Somebody else has it.", "Wait."))

    assert {**record, "trace_id": ""} == {
        "error": True, "code": "BUSY", "message": "Somebody else has it.", "hint": "Wait.", "trace_id": "",
    }  # fmt: skip
