"""The package metadata, the code and the documentation name the same dependencies."""

from __future__ import annotations

import ast
import importlib.metadata as metadata
import re
import sys
import tomllib
from collections.abc import Iterator

from tests.harness.projects import ROOT

PACKAGES = {"lore_etl": ROOT / "etl" / "lore_etl", "lore_server": ROOT / "server" / "lore_server"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = {re.split(r"[<>=!~ \[]", row)[0]: row for row in PROJECT["dependencies"]}


def imported() -> Iterator[str]:
    """Return the top-level names of the packages that the code imports, including imports inside functions."""
    for folder in PACKAGES.values():
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name.split(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module.split(".")[0]


def test_every_imported_package_is_declared() -> None:
    distributions = metadata.packages_distributions()
    others = set(imported()) - sys.stdlib_module_names - PACKAGES.keys()
    undeclared = {
        name
        for name in others
        if not DECLARED.keys() & {found.lower().replace("_", "-") for found in distributions.get(name, [])}
    }

    assert undeclared == set()


def test_the_metadata_pins_no_exact_version() -> None:
    assert [row for row in PROJECT["dependencies"] if "==" in row] == []


def test_every_dependency_has_a_reason_and_a_size() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")][1:]
    named = {
        name: size
        for names, sizes, _, _ in rows
        for name, size in zip(names.split(", "), sizes.split(", "), strict=True)
    }

    assert named.keys() == DECLARED.keys()
    assert all(float(size) > 0 for size in named.values())
    assert all(why for _, _, _, why in rows)
