"""What `knowledge_search` and the tools by path cost: `python -m benchmarks.unified [--prps 100]`.

The project has so many PRPs of its own, each of several sections, as many source files again, and a framework.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.knowledge import percentiles
from benchmarks.main_job import row
from etl.settings import Settings
from server.app import App
from server.contract import load_contract
from tests.harness.framework import framework
from tests.harness.projects import ROOT, write_project

SENTENCES, WORDS = 4, 14


def fill(root: Path, prps: int) -> list[str]:
    """Write the project; its words, those of our own documentation, rarer the later they stand."""
    chance = random.Random(7)
    text = " ".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    words = [word for word, _ in Counter(re.findall(r"\b[a-z]{4,14}\b", text)).most_common()]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def said(sentences: int) -> str:
        return " ".join(f"{' '.join(chance.choices(words, weights, k=WORDS)).capitalize()}." for _ in range(sentences))

    files = framework()
    for number in range(prps):
        tags = ", ".join(chance.choices(words, k=3))
        head = f"---\nname: {' '.join(chance.choices(words, k=4))}\nstatus: executed\ntags: [{tags}]\n---\n"
        body = f"# PRP {number}\n\n{said(SENTENCES)}\n\n## Goal\n\n{said(SENTENCES)}\n\nIt follows `api-errors`.\n"
        files[f"PRPs/executed/PRP-{100 + number}-task.md"] = head + body
        files[f"src/part{number}.py"] = f'"""{said(2)}"""\n'
    write_project(root, files)
    return words


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--prps", type=int, default=100)
    options.add_argument("--calls", type=int, default=200)
    values = options.parse_args()
    prps, calls = values.prps, values.calls
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project").resolve()
        words = fill(root, prps)
        app = App(root, Settings(), load_contract(), home=Path(folder, "home"))

        def search(number: int, **arguments: Any) -> Any:
            query = f"{words[10 + number]} {words[400 + number]} {words[-1 - number]}"
            return app.call("knowledge_search", {"query": query, **arguments})

        def edit(number: int) -> None:
            (root / f"PRPs/executed/PRP-{100 + number}-task.md").write_text(f"# New\n\n{words[number]}\n", "utf-8")
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})

        app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 86_400})
        app.warm()
        row(f"{prps:,} PRPs, {app.index.catalogue.total():,} chunks: search, the first time", percentiles(search, 1))
        row("search, distinct questions", percentiles(search, calls))
        row("search, 100 results", percentiles(lambda n: search(n, limit=100, max_tokens=100_000), calls))
        row("search, six PRPs of the framework only", percentiles(lambda n: search(n, sources=["system_prps"]), calls))
        row("search, a tag", percentiles(lambda n: search(n, tags=[words[n]]), calls))
        row("search, the same question", percentiles(lambda n: search(0), calls))
        row("sync of an edit", percentiles(edit, 5))
        row("search after an edit", _after(edit, search))
        user = {"path": "PRPs/executed/PRP-150-task.md"}
        row("get_user_doc", percentiles(lambda n: app.call("get_user_doc", user), calls))
        app.close()


def _after(edit: Any, search: Any) -> str:
    times = []
    for number in range(5):
        edit(10 + number)
        times.append(percentiles(lambda _, n=number: search(n), 1))
    return times[len(times) // 2]


if __name__ == "__main__":
    main()
