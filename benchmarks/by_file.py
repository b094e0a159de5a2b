"""Measure a set whose documents are fragments of files in two ways: by fragment, and with each file as one document.

    python -m benchmarks.by_file SET

SET is a folder in BEIR's format whose documents have a `metadata.path`. If the figure by file is high and the figure by
fragment is not, the ranking finds the right file, but chooses the wrong fragment.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from lore_etl.config.settings import Settings
from lore_server.evaluation.bench import open_bench
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import Judgements, read_set

MEASURE = "ndcg@10"
Paths = Mapping[str, str]
"""Document id -> path of its file."""


def judged_files(judgements: Judgements, paths: Paths) -> Judgements:
    """Return the judgements of files; a file has the highest grade of its fragments."""
    found: Judgements = {}
    for question, grades in judgements.items():
        files = found.setdefault(question, {})
        for document, grade in grades.items():
            files[paths[document]] = max(grade, files.get(paths[document], 0))
    return found


def ranked_files(run: Sequence[str], paths: Paths) -> list[str]:
    """Return the files of a run, each at the rank of its best fragment."""
    return list(dict.fromkeys(paths[document] for document in run))


def wrong_first(judgements: Judgements, runs: Mapping[str, Sequence[str]], paths: Paths) -> tuple[int, int]:
    """Return how many first results are not relevant, and how many of these are in the file of a relevant fragment."""
    wrong = in_file = 0
    for question, grades in judgements.items():
        relevant = {document for document, grade in grades.items() if grade > 0}
        first = next(iter(runs[question]), None)
        if first not in relevant:
            wrong += 1
            in_file += first is not None and paths[first] in {paths[document] for document in relevant}
    return wrong, in_file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    folder = parser.parse_args().set
    chosen = read_set(folder)
    paths = {record.id: record.path or record.id for record in chosen.records or ()}
    with open_bench(chosen, folder, Settings()) as (bench, _):
        ranked = bench.rank(bench.retrieve(chosen.questions), "hybrid")
        runs = bench.runs(ranked)
    by_fragment = per_question(chosen.judgements, runs)[MEASURE]
    files = {question: ranked_files(run, paths) for question, run in runs.items()}
    by_file = per_question(judged_files(chosen.judgements, paths), files)[MEASURE]
    wrong, in_file = wrong_first(chosen.judgements, runs, paths)
    print(f"{MEASURE} by fragment: {fmean(by_fragment.values()):.3f}, by file: {fmean(by_file.values()):.3f}")
    print(f"first result not relevant: {wrong} of {len(runs)}, of these in the right file: {in_file}")


if __name__ == "__main__":
    main()
