"""A log message is a single line without control characters."""

import logging

import pytest

from lore_server.console.terminal import OneLine

CRAFTED = "key `touch x`\n$(touch y)\r\x1b[31mred\x9b\x07"


@pytest.mark.parametrize("place", ["message", "error"])
def test_text_from_a_project_is_escaped(place: str) -> None:
    try:
        raise ValueError(CRAFTED if place == "error" else "plain")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("etl", logging.WARNING, "", 0, CRAFTED if place == "message" else "it", None, info)

    first, *rest = OneLine("%(levelname)s %(name)s %(message)s").format(record).split("\n")

    assert first.startswith("WARNING etl ")
    assert all(line.startswith("  | ") for line in rest)
    assert not any(character in "".join((first, *rest)) for character in "`\x1b\r\x9b\x07")
