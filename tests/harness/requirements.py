"""Read the list of requirements and the ids that tests name, and write the table of docs/compatibility.md from them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.harness.projects import ROOT

LIST = ROOT / "tests" / "requirements.toml"
PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- begin: written by `make golden` -->\n", "<!-- end -->\n"
TITLES = {
    "KB": "Knowledge MCP Server (002)",
    "NEO": "Knowledge base of Neo.mjs (004)",
    "UQ": "Unified query, PRP-29.2 (001)",
    "KM": "Knowledge management, PRP-29.3 (000)",
    "HOOK": "Sync hook (003)",
}
_ID = re.compile(rf"(?:{'|'.join(TITLES)})-\d{{3}}")


class Requirement(NamedTuple):
    """A requirement, how to try it, and how Lore meets it if it does so in another way; else an empty text."""

    text: str
    trial: str
    name: str = ""


def listed() -> dict[str, Requirement]:
    """Return the requirements by id."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))
    names = tables.pop("names")
    found = {f"{group}-{number}": row for group, rows in tables.items() for number, row in rows.items()}
    assert names.keys() <= found.keys(), names.keys() - found.keys()
    return {id_: Requirement(row[0], row[1], names.get(id_, "")) for id_, row in found.items()}


def proven() -> dict[str, list[str]]:
    """Return the tests that name an id in a decorator, by id."""
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for id_, test in _named_in(file):
            found.setdefault(id_, []).append(test)
    return {id_: list(dict.fromkeys(tests)) for id_, tests in found.items()}


def _named_in(file: Path) -> Iterator[tuple[str, str]]:
    text = file.read_text(encoding="utf-8")
    if "mark.requirement" not in text:
        return
    for test in ast.parse(text).body:
        if isinstance(test, ast.FunctionDef):
            for node in (part for decorator in test.decorator_list for part in ast.walk(decorator)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield from ((id_, test.name) for id_ in node.value.split() if _ID.fullmatch(id_))


def section() -> str:
    """Return the counts and a row for each requirement that is met in another way, as Markdown."""
    requirements, tests = listed(), proven()
    lines = ["| specification | requirements | met as written | met in another way |", "|---|---|---|---|"]
    for group, title in TITLES.items():
        own = [one for id_, one in requirements.items() if id_.startswith(f"{group}-")]
        other = sum(bool(one.name) for one in own)
        lines.append(f"| {title} | {len(own)} | {len(own) - other} | {other} |")
    lines += ["", "| id | requirement | in Lore | test |", "|---|---|---|---|"]
    for id_, one in requirements.items():
        if one.name:
            lines.append(f"| {id_} | {one.text} | {one.name} | `{tests[id_][0]}` |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the page with the current section."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}{section()}{END}{rest.partition(END)[2]}"
