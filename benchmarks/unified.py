"""Measure `knowledge_search` and the tools that read a path: `python -m benchmarks.unified [--prps 100]`.

The project has this many PRPs of two sections each, a tenth as many source files, and a framework.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.knowledge import percentiles
from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from lore_server.framework.view import View
from tests.harness.framework import framework
from tests.harness.projects import ROOT, write_project

SENTENCES, WORDS = 4, 14


def vocabulary() -> list[str]:
    """Return the words of Lore's documentation; later words are rarer."""
    text = " ".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    return [word for word, _ in Counter(re.findall(r"\b[a-z]{4,14}\b", text)).most_common()]


def fill(root: Path, prps: int, words: list[str]) -> None:
    chance = random.Random(7)
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def prose(sentences: int) -> str:
        return " ".join(f"{' '.join(chance.choices(words, weights, k=WORDS)).capitalize()}." for _ in range(sentences))

    files = framework()
    for number in range(prps):
        tags = ", ".join(chance.choices(words, k=3))
        head = f"---\nname: {' '.join(chance.choices(words, k=4))}\nstatus: executed\ntags: [{tags}]\n---\n"
        body = f"# PRP {number}\n\n{prose(SENTENCES)}\n\n## Goal\n\n{prose(SENTENCES)}\n\nIt follows `api-errors`.\n"
        files[f"PRPs/executed/PRP-{100 + number}-task.md"] = head + body
    for number in range(prps // 10):
        files[f"src/part{number}.py"] = f'"""{prose(2)}"""\n'
    write_project(root, files)


def measure(app: App, words: list[str], calls: int) -> None:

    def search(number: int, **arguments: Any) -> Any:
        query = f"{words[10 + number]} {words[400 + number]} {words[-1 - number]}"
        return app.call("knowledge_search", {"query": query, **arguments})

    def edit(number: int) -> None:
        file = app.index.root / f"PRPs/executed/PRP-{100 + number}-task.md"
        file.write_text(f"# New\n\n{words[number]} {time.time()}\n", encoding="utf-8")
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})

    def after_edit(act: Callable[[int], object]) -> str:
        times = []
        for number in range(5):
            edit(10 + number)
            started = time.perf_counter()
            act(number)
            times.append(1000 * (time.perf_counter() - started))
        return f"{statistics.median(times):.1f} ms"

    row(f"{app.index.catalogue.total():,} chunks: the first search", percentiles(search, 1))
    row("search, distinct questions", percentiles(search, calls))
    row("search, 100 results", percentiles(lambda n: search(n, limit=100, max_tokens=100_000), calls))
    row("search, one group of one PRP", percentiles(lambda n: search(n, sources=["system_prps"]), calls))
    row("search, with a tag", percentiles(lambda n: search(n, tags=[words[n]]), calls))
    row("search, the same question", percentiles(lambda n: search(0), calls))
    row("sync of an edit", percentiles(edit, 5))
    row("the first search after it", after_edit(search))
    view = View(app.index)
    row("the view, of an index that was just opened", percentiles(lambda _: View(app.index).entries(), 5))
    row("the view, after an edit", after_edit(lambda _: view.entries()))
    row("the view, kept", percentiles(lambda _: view.entries(), calls))
    user = {"path": "PRPs/executed/PRP-150-task.md"}
    row("get_user_doc", percentiles(lambda n: app.call("get_user_doc", user), calls))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--prps", type=int, default=100)
    options.add_argument("--calls", type=int, default=200)
    options.add_argument("--folder", type=Path, help="where the project is kept, so that another run need not index it")
    values = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root, words = (values.folder or Path(folder, "project")).resolve(), vocabulary()
        if not root.exists():
            fill(root, values.prps, words)
        app = App(root, Settings(), load_contract(), home=Path(folder, "home"))
        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 86_400})
        app.warm()
        measure(app, words, values.calls)
        app.close()


if __name__ == "__main__":
    main()
