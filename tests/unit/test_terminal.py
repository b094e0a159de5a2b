"""No text from a file, a name or an index can control a terminal."""

from __future__ import annotations

import ast
import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_server.console import output, terminal
from lore_server.console.logs import configure_logging
from lore_server.console.output import fail, print_json
from tests.harness.projects import ROOT
from tests.harness.texts import STEERING

WRITERS = {
    "server/lore_server/console/terminal.py": "writes",
    "server/lore_server/owner/owner_main.py": "JSON for the process that started it",
}


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


@pytest.mark.parametrize("module", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "server").rglob("*.py")))
def test_only_one_module_writes_to_standard_output_and_standard_error(module: str) -> None:
    if module in WRITERS:
        return
    names = {"sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines", "sys.stderr.writelines", "print"}
    names |= {"typer.echo", "typer.secho", "click.echo", "click.secho"}
    tree = ast.parse(Path(ROOT, module).read_text(encoding="utf-8"))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]

    assert [call for call in calls if call in names] == []
