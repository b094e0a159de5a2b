"""Results and progress on a terminal: coloured, linked, a bar, and no text from a file or an index can control it."""

import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lore_etl.core.progress import time_left
from lore_server.console import output, terminal
from lore_server.console.output import _Lines, fail, in_shell, line, print_json, progress_bar
from lore_server.console.terminal import configure_logging, styled, takes_style, visible
from lore_server.contract import load_contract
from lore_server.replies.budget import rest
from tests.harness.owners import wait_until
from tests.harness.projects import ROOT
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


def test_only_a_text_longer_than_the_terminal_is_paged_without_control_characters_and_none_in_a_pipe() -> None:
    variables = {**os.environ, "PAGER": "sed s/a/b/", "TERM": "xterm"}
    piped = subprocess.run([sys.executable, "-c", CODE, "100"], env=variables, capture_output=True, check=True)

    assert "b\r\n" in shown(100, PAGER="sed s/a/b/")
    assert "b\r\n" not in shown(10, PAGER="sed s/a/b/")
    assert "\x1b[2J" not in shown(100, PAGER="cat")
    assert piped.stdout.startswith(b"a\na\n")


@pytest.mark.parametrize(
    "variables",
    [{"PAGER": ""}, {"PAGER": "no-such-pager"}, {"PAGER": "rev", "LORE_PAGER": ""}, {"PAGER": "rev", "TERM": "dumb"}],
)  # fmt: skip
def test_without_a_pager_the_text_is_printed(variables: dict[str, str]) -> None:
    assert shown(100, **variables).count("a\r\n") == 100


def test_advice_in_the_shell_names_options_and_no_tool() -> None:
    tools = "|".join(load_contract().operations)
    advice = set[str]()
    for file in [*(ROOT / "server/lore_server").rglob("*.py"), ROOT / "etl/lore_etl/core/errors.py"]:
        if file.parent.name in ("services", "query", "framework", "core") or file.name == "reply_text.py":
            advice |= set(
                re.findall(rf'(?<!")"([A-Z ][^"\n]*\b(?:{tools})\b[^"\n]*)"', file.read_text(encoding="utf-8"))
            )

    cut = in_shell(rest(1200, "results"))
    assert cut == "1,200 of the results omitted to stay within max_tokens: use a larger `--max-tokens`."
    assert len(advice) >= 8
    assert [text for text in map(in_shell, advice) if re.search(rf"(?<!lore call )\b({tools})\b", text)] == []


NEVER = 3600.0


def test_a_pipe_gets_a_line_at_each_stage_and_none_for_the_steps_between(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(quiet=False, seconds=NEVER) as progress:
        for step in (("looking for files", 0, 0), ("reading", 0, 7_876), ("reading", 9, 7_876), ("embedding", 0, 5)):
            progress(*step)
        progress("downloading the model", 0, 0)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "Looking for files.",
        "Reading: 0 of 7,876.",
        "Embedding: 0 of 5.",
        "Downloading the model: this can take minutes.",
    ]

    with progress_bar(quiet=True, seconds=NEVER) as progress:  # beside JSON, only slow downloads are announced
        progress("reading", 0, 3)
        progress("downloading the model", 0, 0)
    assert capsys.readouterr().err == "Downloading the model: this can take minutes.\n"


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (("embedding", 10, 100), r"Embedding: 10 of 100, [\d.,]+/s, .+ left\."),
        (("embedding", 0, 100), r"Embedding: 0 of 100, for 0 s\."),
        (("preparing the model", 31, 0), r"Preparing the model, for 0 s\."),
    ],
)
def test_a_pipe_gets_the_last_step_again_after_each_interval(step: tuple[str, int, int], line: str) -> None:
    heard = io.StringIO()
    with redirect_stderr(heard), progress_bar(quiet=False, seconds=0.001) as progress:
        progress(step[0], 0, step[2])
        progress(*step)
        wait_until(lambda: len(re.findall(line, heard.getvalue())) > 1)
    written = heard.getvalue()

    assert not any(thread.name == "progress" for thread in threading.enumerate())
    assert heard.getvalue() == written


def test_the_time_left_is_named_once_early_in_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(quiet=False, seconds=NEVER) as progress:
        for done in (0, 32, 64):
            progress("embedding", done, 15_000)
    assert "left" not in capsys.readouterr().err  # before anything is known about the pace

    lines = _Lines(quiet=False, estimate_seconds=0)
    for done in (0, 32, 64):
        lines.report("embedding", done, 15_000)
    assert re.fullmatch(
        r"Embedding: 0 of 15,000\.\nEmbedding: 32 of 15,000, .+/s, .+ left\.\n", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("done", "elapsed", "left"), [(0, 9, ""), (1, 60, ""), (10, 2, "18 s left"), (32, 120, "4 min left"), (100, 9, "")]
)
def test_the_time_left_follows_from_the_pace(done: int, elapsed: float, left: str) -> None:
    assert time_left(done, 100, elapsed) == left


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_on_a_terminal_what_was_found_is_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = os.openpty()
    terminal = os.fdopen(writer, "w", encoding="utf-8")
    with terminal, redirect_stderr(terminal), progress_bar(quiet=False) as progress:
        progress("looking for files", 0, 0)
        output.note("found: 3 Python")
        progress("embedding", 1, 4)
    written = b""
    with suppress(OSError):  # the other end is closed; a single read may return a part
        while part := os.read(reader, 100_000):
            written += part
    os.close(reader)
    shown = written.decode()

    assert shown.index("found: 3 Python") < shown.index("embedding")
    assert "1/4" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_terminal_that_only_appends_lines_gets_progress_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    reader, writer = os.openpty()
    with os.fdopen(writer, "w", encoding="utf-8") as dumb, redirect_stderr(dumb):
        with progress_bar(quiet=False, seconds=NEVER) as progress:
            progress("reading", 0, 3)
        shown = os.read(reader, 1000).decode()
    os.close(reader)

    assert shown == "Reading: 0 of 3.\r\n"
