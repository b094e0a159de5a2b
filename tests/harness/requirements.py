"""Read the list of requirements and the ids that tests name, and write the table of docs/compatibility.md from them."""

import tomllib
from typing import NamedTuple

from tests.harness.marked import marked, with_section
from tests.harness.projects import ROOT

LIST = ROOT / "tests" / "requirements.toml"
PAGE = ROOT / "docs" / "compatibility.md"
TITLES = {
    "KB": "Knowledge MCP Server (002)",
    "NEO": "Knowledge base of Neo.mjs (004)",
    "UQ": "Unified query, PRP-29.2 (001)",
    "KM": "Knowledge management, PRP-29.3 (000)",
    "HOOK": "Sync hook (003)",
}


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
    """Return the tests that name an id in a marker, by id."""
    return {id_: [test.test for test in tests] for id_, tests in marked("requirement").items()}


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
    return with_section(PAGE, section())
