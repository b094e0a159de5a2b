"""Results on a terminal are coloured and linked, and no text of a project can add an escape sequence."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from lore_server.console.output import line
from lore_server.console.terminal import styled, takes_style, visible

STYLE = re.compile(r"\x1b\[[012]m|\x1b\]8;;[^\x1b]*\x1b\\")
LINK = re.compile(r"\x1b\]8;;([^\x1b]+)\x1b\\")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a b: c.md").touch()
    return tmp_path.resolve()


@pytest.mark.parametrize(
    "text",
    [
        "1. docs/a b: c.md:3-9  [guide]  46.4  Heading  (28)\n   1. excerpt",
        "It doubles. [1]\n\n[12] docs/a b: c.md:3  [src, open]  (28)\n    quoted",
        "2. docs/a b: c.md  [guide]",
    ],
)
def test_the_place_of_a_result_is_bold_and_linked_to_its_file(root: Path, text: str) -> None:
    shown = styled(text, root)

    assert STYLE.sub("", shown) == text
    assert LINK.findall(shown) == [(root / "docs" / "a b: c.md").as_uri()]
    assert shown.count("\x1b[1mdocs/a b: c.md") == 1


@pytest.mark.parametrize("path", ["gone.md", "../outside.md", "/etc/passwd", "docs", "link.md", "@lore/guide.md"])
def test_only_files_of_the_project_are_linked(root: Path, path: str) -> None:
    (root / "link.md").symlink_to("/etc/passwd")
    (root.parent / "outside.md").touch()

    shown = styled(f"1. {path}:3  [guide]", root)

    assert "\x1b[1m" in shown
    assert LINK.findall(shown) == []


def test_text_of_a_project_adds_no_escape_sequence(root: Path) -> None:
    text = "1. \x1b]8;;http://evil\x1b\\docs/a.md:1  [\x1b[31mguide]\n\x9b31m\x1b[2J"

    assert "\x1b" not in STYLE.sub("", styled(visible(text), root))
    assert LINK.findall(styled(visible(text), root)) == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"WT_SESSION": "1"}, True),
    ],
)
def test_a_terminal_is_styled_unless_it_or_the_user_does_not_want_it(
    variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    controller, terminal = os.openpty()
    with open(controller, encoding="utf-8"), open(terminal, "w", encoding="utf-8") as stream:
        assert takes_style(stream) is expected
    assert not takes_style(io.StringIO())


def test_a_pipe_gets_plain_text(root: Path) -> None:
    with redirect_stdout(io.StringIO()) as output:
        line("1. docs/a b: c.md:3  [guide]", root)

    assert output.getvalue() == "1. docs/a b: c.md:3  [guide]\n"
