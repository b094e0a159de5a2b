"""Progress on standard error: lines in a pipe, a bar on a terminal, with what was found above it."""

import io
import os
import re
import sys
import threading
from contextlib import redirect_stderr, suppress

import pytest

from lore_etl.core.progress import time_left
from lore_server.console import output
from lore_server.console.output import _Lines, progress_bar
from tests.harness.owners import wait_until

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


def test_with_json_only_slow_downloads_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(quiet=True, seconds=NEVER) as progress:
        progress("reading", 0, 3)
        progress("downloading the model", 0, 0)

    assert capsys.readouterr().err == "Downloading the model: this can take minutes.\n"


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
