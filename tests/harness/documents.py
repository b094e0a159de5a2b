"""Read the documentation as data: code blocks, their commands, and the output shown for each command."""

import html
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from markdown_it import MarkdownIt

from tests.harness.projects import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RECORDING = ROOT / "docs" / "images" / "terminal.svg"
COMMANDS = {"sh", "console"}
"""Languages of blocks with commands: without a prompt, or after `$ ` and followed by their output."""

_SCORE = r"(?<![\d.])(\d+\.\d+)(?![\d.])"
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_PLACEHOLDERS = str.maketrans("[]|…", "    ")


@dataclass(frozen=True)
class Block:
    """A code block; the language of an indented block is empty."""

    page: Path
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Step:
    """A command with the output that the page shows for it, if any."""

    page: Path
    line: int
    command: str
    output: tuple[str, ...] | None

    @property
    def words(self) -> list[str]:
        """Return the words of the command, without a comment."""
        return shlex.split(self.command, comments=True)

    @property
    def place(self) -> str:
        """Return page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Return the code blocks of a page, in order."""
    for token in _MARKDOWN.parse(page.read_text(encoding="utf-8")):
        if token.type in {"fence", "code_block"} and token.map is not None:
            yield Block(page, token.map[0] + 1, token.info, token.content)


def steps(page: Path) -> Iterator[Step]:
    """Return the commands of a page in order, including those of CI recipes."""
    for block in blocks(page):
        if block.language == "console":
            yield from _transcript(page, block.line, block.text)
        elif block.language == "sh":
            yield from _script(page, block.line, block.text)
        elif block.language == "yaml":
            for script in _runs(yaml.safe_load(block.text)):
                yield from _script(page, block.line, script)


def recorded() -> Iterator[Step]:
    """Return the commands of the terminal recording with their output."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", RECORDING.read_text(encoding="utf-8"))
    text = "\n".join(html.unescape(re.sub(r"<[^>]+>", "", line)).replace("\xa0", " ").rstrip() for line in lines)
    yield from _transcript(RECORDING, 1, text)


def spans(page: Path) -> Iterator[str]:
    """Return the inline code of a page that begins with `lore `, without the brackets of a synopsis."""
    for token in _MARKDOWN.parse(page.read_text(encoding="utf-8")):
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith("lore "):
                yield child.content.translate(_PLACEHOLDERS)


def matches(shown: tuple[str, ...], real: str, errors: str) -> bool:
    """Return whether the output shown on a page matches the command's output.

    Times, sizes, ids and dates may differ, and scores by 2 %, because processors round differently. A line `…` matches
    any lines, and `…` at the end of a line matches its rest. Lines of standard error may appear anywhere or be omitted.
    """
    output, notes = ("".join(f"{_general(line)}\n" for line in text.splitlines()) for text in (real, errors))
    is_note = {line: _has(notes, line) and not _has(output, line) for line in map(_general, shown)}  # some are in both
    wanted = [line for line in map(_general, shown) if line == "…" or not is_note[line]]
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else _pattern(line) for line in wanted)
    found = re.fullmatch(pattern, output)
    scores = [float(score) for line in wanted for score in re.findall(_SCORE, line)]
    return found is not None and np.allclose(scores, [float(score) for score in found.groups()], rtol=0.02)


def _has(text: str, line: str) -> bool:
    return re.search(f"^{_pattern(line)}", text, re.MULTILINE) is not None


def _pattern(line: str) -> str:
    exact = re.split(_SCORE, line.removesuffix("…"))[::2]
    return _SCORE.join(map(re.escape, exact)) + (".*\n" if line.endswith("…") else "\n")


def _general(line: str) -> str:
    """Return the line without the values that differ from run to run."""
    line = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:?\d\d)?", "<time>", line.rstrip())
    line = re.sub(r"\b[0-9a-f]{10,64}\b", "<id>", line)
    line = re.sub(r"\b\d+(\.\d+)? (s|ms|GB|MB)\b", "<size>", line)
    return re.sub(r"\b\d+ embedded\b", "<number> embedded", line)


def _transcript(page: Path, line: int, text: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield Step(page, line, command, tuple(output.strip("\n").splitlines()))


def _script(page: Path, line: int, text: str) -> Iterator[Step]:
    for command in text.replace("\\\n", " ").splitlines():
        if shlex.split(command, comments=True):
            yield Step(page, line, command.strip(), None)


def _runs(node: Any) -> Iterator[str]:
    """Return the values of all keys `run`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            else:
                yield from _runs(value)
    elif isinstance(node, list):
        for value in node:
            yield from _runs(value)
