"""Measure `search_knowledge` among many documents: `python -m benchmarks.knowledge_search [--documents 1000]`."""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.knowledge import PROJECT, percentiles
from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_server.app import App
from lore_server.contract import load_contract
from tests.harness.owners import wait_until
from tests.harness.projects import ROOT

CHAPTERS, WORDS_PER_CHAPTER, VOCABULARY = 5, 150, 5_000


def fill(home: Path, documents: int) -> list[str]:
    """Write documents and return their vocabulary; later words of the vocabulary are rarer."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(4, 9))) for _ in range(VOCABULARY)]
    weights = [1 / rank for rank in range(1, VOCABULARY + 1)]
    folder = home / "projects" / PROJECT / "knowledge"
    folder.mkdir(parents=True)
    (home / "index.json").write_text(f'{{"projects": {{"{PROJECT}": "{PROJECT}"}}}}', encoding="utf-8")
    for number in range(documents):
        texts = [" ".join(chance.choices(words, weights, k=WORDS_PER_CHAPTER)) for _ in range(CHAPTERS)]
        chapters = "".join(f"\n## Chapter {number}\n\n{text}\n" for number, text in enumerate(texts))
        title = " ".join(chance.choices(words, k=3))
        front = f"---\ntitle: {title}\nkeywords: [{chance.choice(words)}, {chance.choice(words)}]\n---\n\n{texts[0]}\n"
        (folder / f"doc-{number}.md").write_text(front + chapters, encoding="utf-8")
    return words


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--calls", type=int, default=200)
    values = options.parse_args()
    documents, calls = values.documents, values.calls
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "project"), Path(folder, "home")
        root.mkdir()
        words = fill(home, documents)
        app = App(root, Settings(), load_contract(), home=home)

        def search(query: str) -> Any:
            return app.call("search_knowledge", {"project_id": PROJECT, "query": query})

        def write(number: int) -> None:
            about = {"project_id": PROJECT, "filename": f"doc-{number}", "chapter_index": 1}
            app.call("update_chapter", {**about, "new_content": f"text {number}"})

        app.call("sync_storage", {})
        row("search, the first time", percentiles(lambda _: search(words[50]), 1))
        row("search, a word in nearly all", percentiles(lambda n: search(words[n % 3]), calls))
        row("search, a word in some", percentiles(lambda n: search(words[100 + n]), calls))
        row("search, a rare word", percentiles(lambda n: search(words[-1 - n]), calls))
        row("search, five words", percentiles(lambda n: search(" ".join(words[n * 7 : n * 7 + 5])), calls))
        row("search, no such word", percentiles(lambda n: search(f"{n}-nowhere"), calls))

        def written_and_searched(number: int) -> None:
            write(number % documents)
            search(words[100 + number])

        row("search after a write", percentiles(written_and_searched, calls // 4))
        row("write alone", percentiles(lambda n: write(n % documents), calls // 4))
        row("from a write to its being found by query_documents", found_after_write(app, calls // 10))
        app.close()


def found_after_write(app: App, calls: int) -> str:
    """Search until a written document is found, with Lore's documentation as the project and the real model."""
    shutil.copytree(ROOT / "docs", app.index.root / "docs")
    app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 600})

    def write_and_find(number: int) -> None:
        word = f"quux{number}zebra"
        chapters = [{"title": "New", "content": f"The word is {word}."}]
        new = {"project_id": app.index.root.name, "filename": word, "title": word, "chapters": chapters}
        app.call("create_knowledge_file", new)
        wait_until(
            lambda: any(result["title"] == word for result in app.call("query_documents", {"query": word})["results"])
        )

    return percentiles(write_and_find, calls)


if __name__ == "__main__":
    main()
