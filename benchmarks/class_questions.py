"""Measure questions about classes and components: `python -m benchmarks.class_questions PROJECT`.

PROJECT is an indexed folder with the source of Neo.mjs (`npm pack neo.mjs`). There are three figures: for how many of
38 questions with an exact class name the direct parent is in the top five, immediately below its class; how many of
the first ten results of 20 questions about components are passages that only import; and the ranks of the classes
that are relevant for an architectural question.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_etl.core.model import ClassNode
from lore_etl.relations.classes import Hierarchy
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.replies.reply_text import span

PICKED = 38
SEED = 11
ALWAYS = "Neo.button.Base"
COMPONENTS = (
    "grid", "button", "tree list", "combo box", "calendar", "date picker", "tab container", "toolbar", "form field",
    "text field", "check box", "number field", "dialog window", "menu", "carousel", "gallery", "table", "chip",
    "side navigation list", "video",
)  # fmt: skip
QUESTIONS = [
    form.format(name)
    for name, form in zip(
        COMPONENTS,
        5 * ("how do I use the {} component", "how does the {} render", "{} events and configs", "create a {}"),
        strict=True,
    )
]
ARCHITECTURE = "worker thread communication patterns", ("Neo.worker.Base", "Neo.core.Base")
_COMMENT = re.compile(r"/\*.*?\*/|^\s*(?://|\*|#).*?$", re.DOTALL | re.MULTILINE)
_IMPORT = re.compile(r"\bimport\b[^;'\"]*['\"][^'\"]*['\"]\s*;?")


def picked(tree: Hierarchy) -> list[ClassNode]:
    """Return the classes of the questions: their parent is in another file of the project."""
    named = [node for name, node in sorted(tree.nodes.items()) if "." in name and _parent_source(tree, node)]
    others = [node for node in named if node.name != ALWAYS]
    return [tree.nodes[ALWAYS], *random.Random(SEED).sample(others, PICKED - 1)]


def only_imports(text: str) -> bool:
    """Return whether a passage contains only imports and comments."""
    code = _COMMENT.sub("", text)
    return bool(code.strip()) and not _IMPORT.sub("", code).strip()


def _parent_source(tree: Hierarchy, node: ClassNode) -> str | None:
    parent = tree.nodes.get(node.parent or "")
    return parent.source if parent and node.source and parent.source != node.source else None


def _parents(app: App) -> None:
    tree, in_five, below, missed = app.index.hierarchy, 0, 0, []
    nodes = picked(tree)
    for node in nodes:
        found = [result["source"] for result in _ask(app, node.name, 60)]
        parent = _parent_source(tree, node)
        at = found.index(parent) + 1 if parent in found else 0
        in_five += 0 < at <= 5
        below += at > 1 and found[at - 2] == node.source
        if not 0 < at <= 5:
            missed.append(f"{node.name} ({node.parent}): {at or 'not in the top 60'}")
    row("parent in the top five", f"{in_five} of {len(nodes)}")
    row("parent directly below its class", f"{below} of {len(nodes)}")
    for line in missed:
        print(f"  {line}", file=sys.stderr)


def _imports(app: App) -> None:
    hits = [(question, result) for question in QUESTIONS for result in _ask(app, question, 10)]
    bare = [
        (question, hit)
        for question, hit in hits
        if only_imports(app.index.catalogue.chunks([hit["id"]])[hit["id"]].text)
    ]
    row("places taken by passages that only import", f"{len(bare)} of {len(hits)}")
    for question, result in bare:
        print(f"  {question}: {result['source']}:{span(result['lines'])}", file=sys.stderr)


def _architecture(app: App) -> None:
    question, wanted = ARCHITECTURE
    for type_ in ("src", "all"):
        found = [result["source"] for result in _ask(app, question, 60, type_)]
        for name in wanted:
            source = app.index.hierarchy.nodes[name].source
            row(f"place of {name}, type {type_}", str(found.index(source) + 1 if source in found else "–"))


def _ask(app: App, question: str, limit: int, type_: str = "all") -> list[dict[str, Any]]:
    arguments = {"query": question, "limit": limit, "type": type_, "max_tokens": 20_000}
    return list(app.call("query_documents", arguments)["results"])


def main() -> None:
    app = App(Path(sys.argv[1]).resolve(), Settings(), load_contract())
    try:
        _parents(app)
        _imports(app)
        _architecture(app)
    finally:
        app.close()


if __name__ == "__main__":
    main()
