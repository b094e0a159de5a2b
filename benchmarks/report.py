"""Write the first part of benchmarks/results.md: `python -m benchmarks.report [SETS] [--only NAME …]`.

Runs `search_parts`, `growth` and `alternatives`, keeps their figures in `benchmarks/figures.json`, and writes the page
and its plot from that file. SETS is the folder of the public sets, which only `alternatives` needs. With `--only`, the
other figures stay; with `--only none`, the page is only rewritten. Run it on a quiet machine: it takes over an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import alternatives, growth, search_parts
from tests.harness.projects import ROOT

FIGURES = ROOT / "benchmarks" / "figures.json"
PAGE = ROOT / "benchmarks" / "results.md"
PARTS, GROWTH, ALTERNATIVES = NAMES = ("search_parts", "growth", "alternatives")
BEGIN, END = "<!-- begin: written by `python -m benchmarks.report` -->", "<!-- end -->"
CAUTION = (
    "These times are processor time, which other programs change less than wall time. With a load average above 1,\n"
    "other programs were running, and wall times are not meaningful."
)
GROWTH_TARGETS = (
    "This is the synthetic project: texts and vectors are synthetic, and there are no ignore rules. With\n"
    "`--checkout PATH`, a real project grows under its own ignore rules instead; this has no published figures yet.\n"
    "Query times are processor time. Targets: recall@100 of .98 at 20,000 chunks and\n"
    ".95 at 300,000, and queries at 300,000 at most three times as long as at 20,000."
)
Run = dict[str, Any]


def run(name: str, sets: Path | None) -> Run:
    """Run a benchmark and return its figures with the circumstances."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures.json")
        command = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(file)]
        if name == ALTERNATIVES:
            command.append(str(sets))
        subprocess.run(command, cwd=ROOT, check=True)
        return circumstances() | {"figures": json.loads(file.read_text(encoding="utf-8"))}


def circumstances() -> Run:
    """Return day, commit, machine and load of a run."""
    described = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(described, cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "day": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "load": round(os.getloadavg()[0], 1),
    }


def page(runs: Mapping[str, Run]) -> str:
    """Return the first part of the page."""
    lines = [BEGIN, "", "## In short", "", "| | figure |", "|---|---|", *(f"| {a} | {b} |" for a, b in summary(runs))]
    lines += ["", CAUTION, ""]
    if GROWTH in runs:
        lines += ["![Query time, memory and disk by the number of chunks](../docs/images/growth.svg)", ""]
        last = runs[GROWTH]["figures"][-1]["chunks"]
        missing = "" if last >= max(growth.SIZES) else f" {max(growth.SIZES):,} chunks have not been measured yet."
        lines += ["## Growth", "", _about(runs[GROWTH], GROWTH), GROWTH_TARGETS + missing, ""]
        lines += [*growth.table(runs[GROWTH]["figures"]), ""]
    if PARTS in runs:
        lines += ["## A search and its bare parts", "", _about(runs[PARTS], PARTS), ""]
        lines += ["The bare parts are the embedding of the query, HNSW and tantivy. 20,000 chunks.", ""]
        lines += [*search_parts.table(runs[PARTS]["figures"]), ""]
    if ALTERNATIVES in runs:
        lines += ["## Alternatives on the same chunks", "", _about(runs[ALTERNATIVES], ALTERNATIVES)]
        lines += ["The same chunks, model and texts; only the times of Lore include reading and chunking.", ""]
        lines += [*alternatives.table(runs[ALTERNATIVES]["figures"]), ""]
    return "\n".join([*lines, END])


def summary(runs: Mapping[str, Run]) -> Iterator[tuple[str, str]]:
    """Yield the figures for the summary, with their names."""
    if PARTS in runs:
        found = runs[PARTS]["figures"]
        search, parts = found[search_parts.SEARCH]["cpu p50"], found[search_parts.PARTS]["cpu p50"]
        yield "A search of 20,000 chunks", f"{search:.0f} ms, {parts:.0f} ms of it for the model and both indexes"
    if GROWTH in runs:
        last, base = runs[GROWTH]["figures"][-1], _at(runs[GROWTH]["figures"], 20_000)
        ratio = last["query cpu p50"] / base["query cpu p50"]
        yield f"The same with {last['chunks']:,.0f} chunks", f"{ratio:.1f} times as long"
        yield "Memory and disk for 20,000 chunks", f"{base['memory']:.0f} MB and {base['disk']:.0f} MB"
    if ALTERNATIVES in runs:
        for name, found in runs[ALTERNATIVES]["figures"].items():
            ours, others = (
                found[alternatives.LORE],
                [values for label, values in found.items() if label != alternatives.LORE],
            )
            best, fastest = max(other["ndcg"] for other in others), min(other["cpu"] for other in others)
            yield f"Quality (nDCG@10) on {name}", f"{ours['ndcg']:.3f}; the best alternative {best:.3f}"
            yield f"Indexing {name}", f"{ours['cpu']:.0f} s; the fastest alternative {fastest:.0f} s"


def _at(every: list[growth.Figures], chunks: int) -> growth.Figures:
    return min(every, key=lambda one: abs(one["chunks"] - chunks))


def _about(made: Run, name: str) -> str:
    place = f"{made['machine']}, load average {made['load']}"
    return f"{made['day']}, commit {made['commit']}, {place}, `python -m benchmarks.{name}`."


def write(runs: Mapping[str, Run]) -> None:
    """Replace the first part of the page, and draw the plot."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(before + page(runs) + rest.partition(END)[2], encoding="utf-8")
    if GROWTH in runs:
        growth.PICTURE.write_text(growth.draw(runs[GROWTH]["figures"]), encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sets", type=Path, nargs="?")
    options.add_argument("--only", nargs="+", choices=(*NAMES, "none"), default=NAMES)
    values = options.parse_args()
    runs: dict[str, Run] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in NAMES:
        if name in values.only and (name != ALTERNATIVES or values.sets is not None):
            runs[name] = run(name, values.sets and values.sets.resolve())
            FIGURES.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    write(runs)


if __name__ == "__main__":
    main()
