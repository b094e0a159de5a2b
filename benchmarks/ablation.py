"""Measure the contribution of each term of the ranking: nDCG@10 of every set with and without it.

    python -m benchmarks.ablation SETS [--write]

SETS is a folder with public sets in BEIR's format. Each set is retrieved once and ranked once for each term. With
`--write`, the table replaces the one in benchmarks/results.md.

A term is worth keeping if it helps on sets that did not suggest it, and if no set is significantly better without it:
for each project, the others decide whether the term is used, and the held-out gain is the mean effect of these
decisions.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.retrieval import ROOT, sets_in
from lore_etl.config.settings import Settings
from lore_server.evaluation.bench import open_bench
from lore_server.evaluation.measures import ALPHA, compare, per_question
from lore_server.evaluation.sets import read_set
from lore_server.query.ranking import HYBRID

MEASURE = "ndcg@10"
ALL = "all terms"
REPORT = ROOT / "benchmarks" / "results.md"
HEADING = "### Contribution of each term"
TYPES = [name for name in HYBRID if name.endswith("Penalty") or name in ("guideMatch", "sourceMatch")]
WITHOUT: dict[str, dict[str, float]] = {
    ALL: {},
    "adaptedShare": {"adaptedShare": 0},
    "furtherPassages": {"furtherPassages": 0, "furtherCode": 0},
    "furtherCode": {"furtherCode": HYBRID["furtherPassages"]},
    "proximity": {"proximity": 0},
    "sourcePathMatch": {"sourcePathMatch": 0},
    "fileNameMatch": {"fileNameMatch": 0},
    "symbolMatch": {"symbolMatch": 0},
    "namePartMatch": {"namePartMatch": 0},
    "intentMatch": {"intentMatch": 0},
    **{name: {name: 0} for name in TYPES if HYBRID[name]},
    "all weights of types": dict.fromkeys(TYPES, 0),
    "releaseExactMatch": {"releaseExactMatch": 0},
    "recency": {"recency": 0},
    "inheritanceBoost": {"inheritanceBoost": 0},
    "structureMatch": {"structureMatch": 0},
}
Scores = Mapping[str, float]
"""Question -> value of the measure."""


def values(folder: Path, variant: str | None) -> Mapping[str, Scores]:
    """Return the scores of a set without each term."""
    chosen = read_set(folder, variant)
    with open_bench(chosen, folder, Settings()) as (bench, _):
        retrieved = bench.retrieve(chosen.questions)
        found = {}
        for name, changed in WITHOUT.items():
            ranked = bench.rank(retrieved, "hybrid", {**HYBRID, **changed})
            found[name] = per_question(chosen.judgements, bench.runs(ranked))[MEASURE]
        return found


def held_out_gain(gains: Mapping[str, float]) -> float:
    """Return the mean gain of a term on sets whose project did not decide whether it is used."""
    kept = []
    for name, gain in gains.items():
        others = [other for each, other in gains.items() if _project(each) != _project(name)]
        kept.append(gain if fmean(others) > 0 else 0.0)
    return fmean(kept)


def table(found: Mapping[str, Mapping[str, Scores]]) -> list[str]:
    """Return the lines of the table; a value is bold if it differs significantly from that with all terms."""
    lines = [_row(["without", *found, "mean", "held-out gain", "worth keeping"]), _row(["---"] * (len(found) + 4))]
    for term in WITHOUT:
        compared = {name: compare(scores[ALL], scores[term]) for name, scores in found.items()}
        means = [fmean(scores[term].values()) for scores in found.values()]
        cells = [
            f"**{mean:.3f}**" if one.p < ALPHA else f"{mean:.3f}"
            for mean, one in zip(means, compared.values(), strict=True)
        ]
        gain = held_out_gain({name: one.difference for name, one in compared.items()})
        loses = [name for name, one in compared.items() if one.is_loss]
        verdict = f"no: {', '.join(loses)}" if loses else "yes" if gain > 0 else "no gain"
        lines.append(
            _row([term, *cells, f"{fmean(means):.4f}", *(["", ""] if term == ALL else [f"{gain:+.4f}", verdict])])
        )
    return lines


def replaced(text: str, heading: str, section: Sequence[str]) -> str:
    """Return the text with the content of the section of this heading replaced."""
    pattern = re.compile(rf"(^{re.escape(heading)}\n).*?(?=^#{{1,3}} |\Z)", re.MULTILINE | re.DOTALL)
    return pattern.sub(lambda match: "\n".join((match[1], *section, "", "")), text)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _project(name: str) -> str:
    return name.partition(".")[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = {}
    for folder, variant in sets_in(options.sets):
        if not (folder / "questions.jsonl").exists():  # excerpts have no documents
            found[f"{folder.name}.{variant}" if variant else folder.name] = values(folder, variant)
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    intro = f"{time.strftime('%Y-%m-%d')}, commit {commit}, `python -m benchmarks.ablation SETS --write`: {MEASURE}."
    section = [intro, "", *table(found)]
    print("\n".join(section))
    if options.write:
        REPORT.write_text(replaced(REPORT.read_text(encoding="utf-8"), HEADING, section), encoding="utf-8")


if __name__ == "__main__":
    main()
