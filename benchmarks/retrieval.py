"""Measure retrieval: `python -m benchmarks.retrieval SETS [--split dev] [--save DIR]`.

SETS is a folder with public sets in BEIR's format. Prints one Markdown table: every set, each ranking, and whether the
hybrid is significantly worse than the better of its legs. Lore's own mixed set uses an index of this repository.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from lore_etl.config.settings import Settings, load_settings
from lore_etl.index import Index
from lore_etl.pipeline.sync import sync
from lore_server.evaluation.bench import RANKINGS
from lore_server.evaluation.evaluate import evaluate_folder
from lore_server.evaluation.measures import ALPHA, Report, save

ROOT = Path(__file__).parents[1]
FLOORS = {
    ("scifact", "ndcg@10"): 0.735,
    ("cosqa", "ndcg@10"): 0.63,
    ("anthropic_code", "recall@10"): 0.93,
    ("anthropic_code", "ndcg@10"): 0.79,
    ("neo_tickets", "ndcg@10"): 0.73,
    ("neo_tickets.hard", "ndcg@10"): 0.64,
    ("neo_tickets.title", "ndcg@10"): 0.60,
    ("chroma_chunking", "recall@5"): 0.85,
    ("chroma_chunking", "iou@5"): 0.06,
    ("evaluation", "right_type@3"): 0.90,
    ("evaluation", "name@1"): 0.95,
    ("evaluation", "structural_recall@10"): 0.95,
    ("evaluation", "unanswerable_recognised"): 0.80,
    ("evaluation", "answerable_accepted"): 0.95,
}
MAIN = ("ndcg@10", "recall@10", "mrr@10", "recall@5", "precision@5", "iou@5")


def sets_in(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """Yield every set below a folder, with its variants that have their own judgements."""
    for entry in sorted(folder.iterdir()):
        if (entry / "questions.jsonl").exists() or (entry / "qrels.tsv").exists():
            yield entry, None
            for variant in sorted(entry.glob("qrels.*.tsv")):
                yield entry, variant.name.split(".")[1]


def rows(report: Report) -> Iterator[str]:
    """Yield a line of the table for each measure that has a minimum or is commonly used."""
    summary = report.summary()
    for measure in report.values["hybrid"]:
        floor = FLOORS.get((report.name, measure))
        if floor is None and measure not in MAIN:
            continue
        low, high = summary["hybrid"]["intervals"][measure]
        ours = summary["hybrid"][measure]
        others = [f"{summary[ranking][measure]:.3f}" if ranking in summary else "–" for ranking in RANKINGS[1:]]
        wanted = "–" if floor is None else f"{floor:.3g} {'reached' if ours >= floor else '**missed**'}"
        cells = [report.name, measure, f"**{ours:.3f}** [{low:.3f}, {high:.3f}]", *others, wanted]
        yield "| " + " | ".join(cells) + " |"


def against_better_leg(report: Report) -> str:
    """Compare the hybrid with the better of its two legs."""
    summary = report.summary()
    measure = next(iter(report.values["hybrid"]))
    leg = max(("vectors", "keywords"), key=lambda value: summary[value][measure])
    comparison = report.between("hybrid", leg, measure)
    verdict = "significantly worse" if comparison.is_loss else "no different" if comparison.p >= ALPHA else "better"
    bounds = f"{comparison.difference:+.3f} [{comparison.interval[0]:+.3f}, {comparison.interval[1]:+.3f}]"
    return f"| {report.name} | {leg} | {bounds} | {comparison.p:.3f} | {verdict} |"


def own_report() -> Report:
    """Evaluate Lore's own set on a fresh index of this repository."""
    settings = load_settings(ROOT, ROOT / "data" / "evaluation" / "index.toml")
    index = Index(ROOT, settings)
    try:
        sync(index, allow_mass_delete=True)
    finally:
        index.close()
    return evaluate_folder(ROOT / "data" / "evaluation", None, ROOT, settings, RANKINGS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    reports = []
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit.stdout.strip()}\n")
    print("| set | measure | hybrid [95 %] | vectors | keywords | classic | floor |\n|---|---|---|---|---|---|---|")
    for folder, variant in [*sets_in(options.sets), (None, None)]:
        split = variant or options.split
        report = evaluate_folder(folder, split, ROOT, Settings(), RANKINGS) if folder else own_report()
        reports.append(report)
        for line in rows(report):
            print(line, flush=True)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            save(report, options.save / f"{report.name}.json")
    print("\n| set | better leg | hybrid − leg [95 %] | p | the hybrid is |\n|---|---|---|---|---|")
    for report in reports:
        print(against_better_leg(report))


if __name__ == "__main__":
    main()
