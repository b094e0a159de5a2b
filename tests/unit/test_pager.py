"""A long text goes through the user's pager on a terminal, and only there; advice names commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from lore_server.console.output import in_shell
from lore_server.contract import load_contract
from tests.harness.projects import ROOT

pty = pytest.importorskip("pty")  # not on Windows
CODE = "import sys; from lore_server.console import terminal; terminal.page('a\\n' * int(sys.argv[1]) + '\\x1b[2J\\n')"


def shown(lines: int, **variables: str) -> str:
    """Return what a terminal of 24 lines shows of a text."""
    mine, its = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS", "LORE_PAGER")}
    with subprocess.Popen(
        [sys.executable, "-c", CODE, str(lines)], stdout=its, env={**plain, "TERM": "xterm", "PAGER": "", **variables}
    ) as process:
        os.close(its)
        parts = []
        try:
            while part := os.read(mine, 65_536):
                parts.append(part)
        except OSError:  # the terminal is closed
            pass
        assert process.wait() == 0
    os.close(mine)
    return b"".join(parts).decode()


def test_only_a_text_longer_than_the_terminal_is_paged() -> None:
    assert "b\r\n" in shown(100, PAGER="sed s/a/b/")
    assert "b\r\n" not in shown(10, PAGER="sed s/a/b/")


@pytest.mark.parametrize(
    "variables",
    [{"PAGER": ""}, {"PAGER": "no-such-pager"}, {"PAGER": "rev", "LORE_PAGER": ""}, {"PAGER": "rev", "TERM": "dumb"}],
)  # fmt: skip
def test_without_a_pager_the_text_is_printed(variables: dict[str, str]) -> None:
    assert shown(100, **variables).count("a\r\n") == 100


def test_a_pager_gets_no_control_characters() -> None:
    assert "\x1b[2J" not in shown(100, PAGER="cat")


def test_a_pipe_gets_the_text_without_a_pager() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, "100"], env={**os.environ, "PAGER": "sed s/a/b/", "TERM": "xterm"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("a\na\n")


def test_advice_in_the_shell_names_no_tool() -> None:
    tools = "|".join(load_contract().operations)
    advice = set[str]()
    for file in [*(ROOT / "server/lore_server").rglob("*.py"), ROOT / "etl/lore_etl/core/errors.py"]:
        if file.parent.name in ("services", "query", "framework", "core") or file.name == "reply_text.py":
            advice |= set(
                re.findall(rf'(?<!")"([A-Z ][^"\n]*\b(?:{tools})\b[^"\n]*)"', file.read_text(encoding="utf-8"))
            )

    assert len(advice) >= 8
    assert [text for text in map(in_shell, advice) if re.search(rf"(?<!lore call )\b({tools})\b", text)] == []
