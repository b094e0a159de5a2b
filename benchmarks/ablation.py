"""Print what each term of the ranking brings: nDCG@10 of every set with and without it.

    python -m benchmarks.ablation SETS

SETS is a folder with public sets in BEIR's format. Each set is retrieved once and ranked once for each term. The last
columns show, for each term, the mean over all sets, and the largest loss of a single set without it: a term is worth
keeping if the mean falls without it on the sets that did not suggest it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

from benchmarks.retrieval import sets_in
from lore_etl.config.settings import Settings
from lore_server.evaluation.bench import opened
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import read_set
from lore_server.query.weights import HYBRID, Weights

MEASURE = "ndcg@10"
WITHOUT: dict[str, dict[str, float]] = {
    "all terms": {},
    "adapted share": {"adaptedShare": 0},
    "further passages": {"furtherPassages": 0},
    "proximity": {"proximity": 0},
    "path": {"sourcePathMatch": 0},
    "names": {"namePartMatch": 0},
    "folder": {"folderCoherence": 0},
    "wording of the question": {"intentMatch": 0},
    "types": {
        name: 0 for name in HYBRID if name.endswith("Penalty") or name in ("guideMatch", "sourceMatch", "blogMatch")
    },
    "inheritance": {"inheritanceBoost": 0, "structureMatch": 0},
    "vectors": {"vectorShare": 0, "adaptedShare": 0},
    "keywords": {"vectorShare": 0.95, "proximity": 0},
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    found = {}
    for folder, variant in sets_in(parser.parse_args().sets):
        if not (folder / "questions.jsonl").exists():  # excerpts have no documents
            found[f"{folder.name}.{variant}" if variant else folder.name] = values(folder, variant)
    print("| without | " + " | ".join(found) + " | mean | largest loss |\n|---" * (len(found) + 3) + "|")
    for name in WITHOUT:
        cells = [of_set[name] for of_set in found.values()]
        losses = [of_set["all terms"] - of_set[name] for of_set in found.values()]
        print(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in [*cells, fmean(cells), max(losses)]) + " |")


def values(folder: Path, variant: str | None) -> dict[str, float]:
    """Return the mean of the measure without each term."""
    chosen = read_set(folder, variant)
    with opened(chosen, folder, Settings()) as bench:
        retrieved = bench.retrieve(chosen.questions)

        def mean(weights: Weights) -> float:
            runs = bench.runs(chosen.questions, bench.rank(chosen.questions, retrieved, "hybrid", weights))
            return fmean(per_question(chosen.judgements, runs)[MEASURE].values())

        return {name: mean({**HYBRID, **changed}) for name, changed in WITHOUT.items()}


if __name__ == "__main__":
    main()
