"""A person at a terminal sees an answer while it is written, and can press Ctrl-C at any moment."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import model_server
from tests.harness.commands import LORE, SECONDS, run_lore, synced_project
from tests.harness.model_server import GEMINI, honest

ANSWER = "`Boat.loads` returns a list[int] of the loads, and the ferry counts every one of them, even at night."
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
INTERRUPTED_START = """
import typer.main

def interrupt(*_):
    raise KeyboardInterrupt

typer.main.get_command = interrupt
from lore_server.cli.main import main
main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"docs/loads.md": "# Loads\n\nThe ferry counts the loads.\n"}
    return synced_project(tmp_path_factory.mktemp("terminal") / "depot", files)


def shown_on_a_terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """Return what a command prints on a terminal, without control sequences."""
    terminal, its_end = os.openpty()
    with subprocess.Popen(
        [LORE, *arguments], cwd=cwd, stdin=its_end, stdout=its_end, stderr=its_end,
        env={**os.environ, "TERM": "xterm", "LORE_PAGER": "", **environment},
    ) as process:  # fmt: skip
        os.close(its_end)
        shown = b""
        try:
            while part := os.read(terminal, 4096):
                shown += part
        except OSError:  # on Linux, the end
            pass
        finally:
            os.close(terminal)
        assert process.wait(SECONDS) == 0, shown
    return re.sub(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\]8;[^\x1b]*\x1b\\)|\r", "", shown.decode())


def test_an_answer_is_shown_while_it_is_written_without_a_change(project: Path) -> None:
    with model_server.serving(GEMINI.stream(honest(ANSWER))) as fake:
        keys = {"GEMINI_API_KEY": "played", "GOOGLE_GEMINI_BASE_URL": fake.url}
        shown = shown_on_a_terminal("ask", "what does the ferry count?", cwd=project, **keys)
        run_lore("stop", cwd=project, **keys)

    assert f"{ANSWER} [1]\n\n[1] docs/loads.md" in shown


def test_an_interrupted_start_has_an_exit_code_and_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_START], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert (done.returncode, done.stderr) == (130, "")


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """Let processes that a test starts receive SIGINT, also if the suite runs in the background of a script."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupted_bridge_ends_although_its_input_stays_open(project: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([LORE, "mcp"], cwd=project, text=True, **pipes) as bridge:  # type: ignore[call-overload]
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        assert bridge.stderr is not None
        bridge.stdin.write(f"{json.dumps(HELLO)}\n")
        bridge.stdin.flush()
        assert json.loads(bridge.stdout.readline())["id"] == 0

        bridge.send_signal(signal.SIGINT)
        assert bridge.wait(SECONDS) == 130
        assert "Traceback" not in bridge.stderr.read()
