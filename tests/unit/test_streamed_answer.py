"""An answer on a terminal is printed while it is written; the rest follows with the reply."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from lore_etl.core.progress import ignore
from lore_server.console.output import StreamedAnswer, print_result

REPLY: dict[str, Any] = {
    "id": "0" * 12, "answer": "It doubles.", "found": True, "mode": "synthesized", "confidence": 0.9, "citations": [],
    "references": [], "freshness": {"state": "fresh"},
}  # fmt: skip
CITED = {
    "n": 1, "id": "1", "source": "a.md", "type": "guide", "origin": "project", "heading": "", "lines": [1, 1],
    "quote": "doubles",
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


class Screen:
    """A terminal that is read from its other end."""

    def __init__(self, controller: int) -> None:
        self._controller = controller

    def read(self, ending: str) -> str:
        """Return what was printed up to an ending, which is awaited; a terminal prints CR LF for a line break."""
        shown = ""
        while not shown.endswith(ending):
            shown += os.read(self._controller, 1000).decode().replace("\r\n", "\n")
        return shown


@contextmanager
def on_terminal() -> Iterator[Screen]:
    """Make standard output a terminal."""
    controller, terminal = os.openpty()
    with open(terminal, "w", encoding="utf-8") as output, redirect_stdout(output):
        yield Screen(controller)
    os.close(controller)


def finish(streamed: StreamedAnswer, **more: Any) -> None:
    print_result("ask_knowledge_base", {**REPLY, **more}, Path("/"), streamed.printed)


def test_each_part_appears_at_once_and_the_reply_only_adds_its_citations() -> None:
    with on_terminal() as screen:
        streamed = StreamedAnswer(as_json=False)
        streamed.on_text("It ")
        first = screen.read("It ")
        streamed.on_text("doubles.")
        second = screen.read("doubles.")
        finish(streamed, citations=[CITED])
        rest = screen.read("    doubles\n")

    assert (first, second) == ("It ", "doubles.")
    assert rest == "\n\n[1] a.md:1  [guide]  (1)\n    doubles\n"


def test_a_reply_that_differs_from_the_preview_is_printed_whole_below_it() -> None:
    with on_terminal() as screen:
        streamed = StreamedAnswer(as_json=False)
        streamed.on_text("It tri")
        finish(streamed)

        assert screen.read("It doubles.\n") == "It tri\n\nIt doubles.\n"


def test_a_preview_cannot_control_the_terminal() -> None:
    with on_terminal() as screen:
        StreamedAnswer(as_json=False).on_text("\x1b[2J.")

        assert screen.read("2J.") == "\\x1b[2J."


def test_nothing_is_streamed_into_a_pipe_or_before_json() -> None:
    with on_terminal():
        assert StreamedAnswer(as_json=True).on_text is ignore
    source, sink = os.pipe()
    with open(sink, "w", encoding="utf-8") as output, redirect_stdout(output):
        assert StreamedAnswer(as_json=False).on_text is ignore
    os.close(source)
