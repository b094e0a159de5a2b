"""Measure short questions about code: `python -m benchmarks.code_questions ../shared/benchmarks/code`.

The folder has one set in BEIR's format for each repository, whose documents are files and whose questions have a
`metadata.category`. With `--histories FOLDER`, the commits of a checkout `FOLDER/<set>`, or of one that it links to,
count too. Prints nDCG@10 by repository and by category for the ranking, each leg alone, and the ranking without
vectors, as in the first minutes of a large project.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from lore_etl.config.settings import Settings
from lore_server.evaluation.bench import open_bench
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import read_set
from lore_server.query.history import History
from lore_server.query.query_service import Retrieved

MEASURE = "ndcg@10"
WITHOUT = "without vectors"
COLUMNS = ("hybrid", "vectors", "keywords", WITHOUT)


def without_vectors(retrieved: Retrieved) -> Retrieved:
    """Return only what the keyword leg finds, as if no chunk had a vector yet."""
    candidates = retrieved.candidates
    hits = {id_ for id_, _ in candidates.by_word}
    found = [candidate._replace(vector=None) for candidate in candidates.found if candidate.chunk.id in hits]
    return replace(retrieved, candidates=replace(candidates, found=found, by_meaning=[]))


def values(folder: Path, checkout: Path | None) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """Return column -> question -> value of a set, and the category of each question."""
    chosen = read_set(folder)
    history = History(checkout.resolve()) if checkout else None
    if history:
        history.refresh()
    with open_bench(chosen, folder, Settings(), history=history) as (bench, _):
        retrieved = bench.retrieve(chosen.questions)
        bare = {question: without_vectors(one) for question, one in retrieved.items()}
        found = {}
        for column in COLUMNS:
            given, ranking = (bare, "hybrid") if column == WITHOUT else (retrieved, column)
            runs = bench.runs(bench.rank(given, ranking))
            found[column] = per_question(chosen.judgements, runs)[MEASURE]
    return found, {question.id: str(question.metadata.get("category", "")) for question in chosen.questions}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("--histories", type=Path)
    options = parser.parse_args()
    print(f"| {MEASURE} | questions | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}")
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for folder in sorted(entry for entry in options.sets.iterdir() if (entry / "qrels.tsv").exists()):
        found, category = values(folder, options.histories and options.histories / folder.name)
        for column, scores in found.items():
            for question, value in scores.items():
                for group in (folder.name, category[question], "**all**"):
                    groups[group][column].append(value)
    for group, columns in groups.items():
        cells = [f"{fmean(columns[column]):.3f}" for column in COLUMNS]
        print(f"| {group} | {len(columns['hybrid'])} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
