"""Compare `implements` and `uses` with a language's own tool: `python -m benchmarks.relations FOLDER FOUND.json`.

FOUND.json is what the tool finds: {"implements": {"file:Type": [name]}, "uses": {"file:name": [file]}}, as
`benchmarks/relations.cjs` writes it with TypeScript's compiler. Names are compared by their last part, uses by file and
without the file of the definition. Prints Markdown: precision and recall of 50 random types, and of all.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lore_etl.chunking import parse
from lore_etl.core.model import Document, KnowledgeType
from lore_etl.relations.classes import resolve
from lore_etl.sources.source import syntax_of

SEED, SAMPLE, LARGEST_BYTES = 29, 50, 1_000_000
MANIFESTS = ("package.json", "tsconfig.json")
Found = Mapping[str, set[str]]


def last(name: str) -> str:
    return re.split(r"[.:/\\]", name)[-1]


def lore_finds(folder: Path) -> dict[str, dict[str, set[str]]]:
    """Return what Lore finds in the source files of a git checkout, in the form of a tool's file."""
    facts = {}
    listed = subprocess.run(["git", "-C", folder, "ls-files"], capture_output=True, text=True, check=True).stdout
    for path in listed.splitlines():
        file = folder / path
        is_code = file.suffix in (".ts", ".tsx", ".mts", ".java", ".py", ".php", ".rs", ".go", ".kt")
        if (is_code or file.name in MANIFESTS) and file.is_file() and file.stat().st_size < LARGEST_BYTES:
            text = file.read_text(encoding="utf-8", errors="replace")
            facts[path] = parse(Document(path, KnowledgeType.SRC, text, path, syntax_of(path))).facts
    found = resolve(facts, facts)
    nodes = [node for node in found.hierarchy.nodes.values() if node.source]
    places = {node.name: f"{node.source}:{last(node.name)}" for node in nodes}
    implements = {places[node.name]: {last(one) for one in node.implements} for node in nodes}
    uses: dict[str, set[str]] = {}
    for path, one in facts.items():
        for target in filter(None, (found.target(path, name) for name in one.uses)):
            place = places.get(target) or f"{target.rpartition(':')[0]}:{last(target)}"
            uses.setdefault(place, set()).add(path)
    return {"implements": implements, "uses": uses}


def row(relation: str, names: list[str], ours: Found, theirs: Found) -> str:
    """Return the row of a table: how many pairs of a relation agree."""
    pairs = [(name, one) for name in names for one in ours.get(name, ()) if one != name.rpartition(":")[0]]
    expected = {(name, one) for name in names for one in theirs.get(name, ()) if one != name.rpartition(":")[0]}
    right = sum(pair in expected for pair in pairs)
    shares = [right / len(all_) if all_ else 1.0 for all_ in (pairs, expected)]
    return f"| {relation} | {len(names)} | {shares[0]:.3f} of {len(pairs)} | {shares[1]:.3f} of {len(expected)} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("found", type=Path)
    given = options.parse_args()
    tool = json.loads(given.found.read_text(encoding="utf-8"))
    print("| relation | types | precision | recall |\n|---|---|---|---|")
    for relation, ours in lore_finds(given.folder).items():
        theirs = {name: set(ones) for name, ones in tool[relation].items()}
        judged = theirs if relation == "uses" else {**ours, **theirs}  # variables are not listed, so not judged
        names = sorted(name for name in judged if ours.get(name) or theirs.get(name))
        random.Random(SEED).shuffle(names)
        for some in (names[:SAMPLE], names):
            print(row(relation, some, ours, theirs))


if __name__ == "__main__":
    main()
