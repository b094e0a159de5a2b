"""A log message is one line; its level comes from the command line, the environment or the default."""

import logging

import pytest

from lore_server.console.terminal import LEVEL_VARIABLES, OneLine, configure_logging

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


@pytest.fixture(autouse=True)
def no_level_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LEVEL_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "verbose", "level"),
    [
        ({}, False, logging.WARNING),
        ({}, True, logging.INFO),
        ({"LORE_LOG_LEVEL": "debug"}, False, logging.DEBUG),
        ({"KNOWLEDGE_MCP_LOG_LEVEL": "ERROR"}, False, logging.ERROR),
        ({"KNOWLEDGE_MCP_LOG_LEVEL": "ERROR", "LORE_LOG_LEVEL": "info"}, False, logging.INFO),
        ({"LORE_LOG_LEVEL": "ERROR"}, True, logging.INFO),
        ({"LORE_LOG_LEVEL": "debug"}, True, logging.DEBUG),
    ],
)
@pytest.mark.requirement("KB-077")
def test_the_log_level_can_be_set_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], verbose: bool, level: int
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    configure_logging(verbose)

    assert logging.getLogger("lore_server").level == logging.getLogger("lore_etl").level == level
    assert logging.getLogger().level == logging.WARNING  # libraries


def test_an_unknown_level_is_reported_with_the_valid_levels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LORE_LOG_LEVEL", "loud")

    configure_logging(verbose=False)

    assert "loud is not a log level. Set LORE_LOG_LEVEL to one of DEBUG, INFO" in capsys.readouterr().err
