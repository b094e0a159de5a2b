"""Measure searches for exact names: `python -m benchmarks.exact_names [PACKAGE …]`.

Of the classes and functions that a package defines once, 50 are picked at random (seeded); the bare name must rank
its defining file first.
"""

from __future__ import annotations

import ast
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.main_job import package_copy, row
from lore_etl.config.settings import Settings
from lore_etl.models.embedder import ConfiguredModel
from lore_server.app import App
from lore_server.contract import load_contract

PICKED = 50
SEED = 7


def defined_once(project: Path) -> dict[str, str]:
    """Return the file of each class and function at module level whose name is defined only once in the package."""
    places: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for file in sorted(project.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        top = set(map(id, tree.body))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                places[node.name].append((str(file.relative_to(project)), id(node) in top))
    return {name: found[0][0] for name, found in places.items() if len(found) == 1 and found[0][1]}


def measure(package: str, folder: Path, model: ConfiguredModel | None = None) -> int:
    """Return how many of the picked names rank first, with the default model or another model."""
    project = package_copy(package, folder)
    names = defined_once(project)
    picked = random.Random(SEED).sample(sorted(names), min(PICKED, len(names)))
    app = App(project, Settings(), load_contract(), model)
    try:
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})
        missed = missed_names(app, names, picked)
    finally:
        app.close()
    row(f"exact names at rank 1, `{package}`", f"{len(picked) - len(missed)} of {len(picked)}")
    for line in missed:
        print(f"  {line}", file=sys.stderr)
    return len(picked) - len(missed)


def missed_names(app: App, names: Mapping[str, str], picked: Sequence[str]) -> list[str]:
    """Return a line for each picked name that does not find its file first."""
    missed = []
    for name in picked:
        results = app.call("query_documents", {"query": name, "limit": 3})["results"]
        found = results[0]["source"] if results else "nothing"
        if found != names[name]:
            missed.append(f"{name}: {found} instead of {names[name]}")
    return missed


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for package in sys.argv[1:] or ["chromadb", "starlette"]:
            measure(package, Path(name))


if __name__ == "__main__":
    main()
