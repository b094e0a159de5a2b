"""No text from a file, a name or an index can control a terminal."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.console import output, terminal
from lore_server.console.output import fail, print_json
from lore_server.console.terminal import configure_logging
from tests.harness.texts import STEERING


@given(st.text())
def test_a_visible_text_contains_no_control_characters_except_line_feeds_and_tabs(text: str) -> None:
    shown = terminal.visible(text)

    assert not STEERING.search(shown)
    assert shown.count("\n") == text.count("\n")
    assert shown == text or STEERING.search(text)


HOSTILE = "a\x1b]0;owned\x07b\x1b[31mc\x9bd\x7fe\rf\x08g\u202eh\u2066i"


@pytest.mark.parametrize(
    "printed", [output.line, output.note, terminal.out, terminal.err, lambda text: fail(OSError(text), False)]
)
def test_printed_text_is_visible(printed: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(printed)
    printed(HOSTILE)

    shown = "".join(capsys.readouterr())
    assert shown
    assert not STEERING.search(shown)


def test_json_has_the_same_values_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({HOSTILE: [HOSTILE, "\u2028é漢[bold]"]})

    shown = capsys.readouterr().out
    assert not STEERING.search(shown)
    assert json.loads(shown) == {HOSTILE: [HOSTILE, "\u2028é漢[bold]"]}


def test_logs_and_tracebacks_are_visible(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("server.x").exception("of %s", HOSTILE)

    shown = capsys.readouterr().err
    assert "ValueError: a" in shown
    assert not STEERING.search(shown)
