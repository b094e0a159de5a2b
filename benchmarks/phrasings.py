"""Measure several phrasings of one question: `python -m benchmarks.phrasings ../shared/benchmarks/code`.

`phrasings.json` has three rewordings of each question of two sets, as an agent would write them: names, and other
words. Prints nDCG@10 of the question, of each rewording, and of all of them in one search.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

from lore_etl.config.settings import Settings
from lore_server.evaluation.bench import open_bench
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import read_set
from lore_server.services.search_service import fused

MEASURE = "ndcg@10"


def measured(folder: Path, phrasings: dict[str, list[str]]) -> dict[str, list[float]]:
    """Return column -> values of the questions of a set that have rewordings."""
    chosen = read_set(folder)
    questions = [question for question in chosen.questions if question.id in phrasings]
    with open_bench(chosen, folder, Settings()) as (bench, _):
        outcomes = {
            question.id: [bench.service.find(text) for text in (question.text, *phrasings[question.id])]
            for question in questions
        }
        rankings = {f"rewording {number}": number for number in range(len(outcomes[questions[0].id]))}
        found = {
            name: {id_: all_[number].ranked for id_, all_ in outcomes.items()} for name, number in rankings.items()
        }
        found["all in one search"] = {id_: fused(all_).ranked for id_, all_ in outcomes.items()}
        values = {}
        for name, ranked in found.items():
            by_question = per_question(chosen.judgements, bench.runs(ranked))[MEASURE]
            values[name] = [by_question[question.id] for question in questions]
    values["question"] = values.pop("rewording 0")
    return values


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    sets = parser.parse_args().sets
    phrasings = json.loads((Path(__file__).parent / "phrasings.json").read_text(encoding="utf-8"))
    print(f"| {MEASURE} | question | rewordings | all in one search | better, worse |\n|---|---|---|---|---|")
    for name in dict.fromkeys(id_.rpartition("-")[0] for id_ in phrasings):
        values = measured(sets / name, phrasings)
        alone, fused_ = values.pop("question"), values.pop("all in one search")
        better = sum(new > old for old, new in zip(alone, fused_, strict=True))
        worse = sum(new < old for old, new in zip(alone, fused_, strict=True))
        rewordings = ", ".join(f"{fmean(one):.3f}" for one in values.values())
        print(f"| {name} | {fmean(alone):.3f} | {rewordings} | {fmean(fused_):.3f} | {better}, {worse} |")


if __name__ == "__main__":
    main()
