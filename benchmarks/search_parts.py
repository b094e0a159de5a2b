"""Compare a search with its bare parts, and with filters: `python -m benchmarks.search_parts [--chunks 20000]`.

The bare parts are the embedding of the query, Chroma's HNSW and tantivy's search, at the depth that a search uses. The
parts, the search and the filtered searches take turns, so that other programs slow them alike. The filtered searches
have different questions, because a search keeps the records that it reads. Keep the project with `--folder` to compare
two checkouts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from benchmarks import synthetic
from benchmarks.main_job import row
from lore_etl.config.settings import Settings
from lore_etl.system.processes import keep_present_objects
from lore_server.app import App
from lore_server.contract import load_contract

QUESTIONS = 150
WARM = 10
PARTS, SEARCH, BY_TYPE, BY_PATH = "bare parts", "search", "search with a type", "search with a path"
TARGETS = {PARTS: "", SEARCH: "2, 3", BY_TYPE: "1.5", BY_PATH: "1.5"}
Times = dict[str, list[tuple[float, float]]]
"""The name of a measurement -> milliseconds of wall time and of processor time, by question."""


def measure(app: App, count: int = QUESTIONS) -> Times:
    """Return the times of each question in each form."""
    depth = app.index.settings.query.nResults

    def parts(question: str) -> None:
        vector = app.index.embedder.embed_query(question)
        app.index.vectors.search(vector, depth)
        app.index.keywords.search(question, depth)

    def search(**filters: str) -> Callable[[str], None]:
        return lambda question: void(app.call("query_documents", {"query": question, **filters}))

    forms = {PARTS: parts, SEARCH: search(), BY_TYPE: search(type="guide"), BY_PATH: search(path="area1*/**")}
    times: Times = {name: [] for name in forms}
    every = synthetic.questions(3 * (count + WARM))
    for number, asked in enumerate(zip(every[::3], every[1::3], every[2::3], strict=True)):
        for (name, form), question in zip(forms.items(), (asked[0], *asked), strict=True):
            wall, processor = time.perf_counter(), time.process_time()
            form(f"{question} {name.split()[-1]}")  # not the same text, whose vector may be kept
            if number >= WARM:
                times[name].append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    return times


def void(_: object) -> None:
    """Ignore a reply."""


def figures(times: Times) -> dict[str, dict[str, float]]:
    """Return p50 and p95 of each form, by wall and processor time."""
    found: dict[str, dict[str, float]] = {}
    for name, taken in times.items():
        found[name] = {}
        for kind, values in zip(("wall", "cpu"), map(sorted, zip(*taken, strict=True)), strict=True):
            found[name] |= {f"{kind} p50": values[len(values) // 2], f"{kind} p95": values[int(0.95 * len(values))]}
    return found


def table(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the table, with the ratios to the bare parts and to the search without a filter."""
    lines = [
        "| what | wall p50, p95 | processor p50, p95 | ratio of processor p50, p95 | target |",
        "|---|---|---|---|---|",
    ]
    for name, form in found.items():
        base, other = (PARTS, "bare parts") if name == SEARCH else (SEARCH, "search")
        ratios = [form[f"cpu {place}"] / found[base][f"cpu {place}"] for place in ("p50", "p95")]
        ratio = "" if name == PARTS else f"{ratios[0]:.2f}, {ratios[1]:.2f} × the {other}"
        times = [f"{form[f'{kind} p50']:.1f}, {form[f'{kind} p95']:.1f} ms" for kind in ("wall", "cpu")]
        lines.append(f"| {name} | {times[0]} | {times[1]} | {ratio} | {TARGETS[name]} |")
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--questions", type=int, default=QUESTIONS)
    options.add_argument("--folder", type=Path, help="where the project is kept, so that another run need not index it")
    options.add_argument("--json", type=Path, help="a file for the figures")
    values = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (values.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        synthetic.own_folders(folder)
        root = folder / "project"
        if not root.exists():
            synthetic.build(root, values.chunks // synthetic.CHUNKS)
        with closing(App(root, Settings(), load_contract())) as app:
            app.call("manage_knowledge_base", {"action": "sync", "wait_seconds": 86_400})
            app.warm()
            app.freshness.watched = True  # as in an owner
            keep_present_objects()
            found = figures(measure(app, values.questions))
            if values.json:
                values.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            row("index", f"{app.index.catalogue.total():,} chunks")
            print("\n".join(table(found)))


if __name__ == "__main__":
    main()
