"""Measure searches while an index fills: `python -m benchmarks.partial_vectors SETS [NAME …] [--questions 200]`.

SETS is a folder with public sets in BEIR's format. The chunks of each set are embedded in the order of a sync, up to a
share of all chunks. At every share, the hybrid must be at least as good as keywords alone, within a tolerance.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from lore_etl.config.settings import Settings
from lore_etl.core.model import SyncReport
from lore_etl.core.progress import silent
from lore_etl.index import Index
from lore_etl.pipeline.corpus import load_records
from lore_etl.pipeline.embed import Filler
from lore_etl.pipeline.extraction import most_useful_first
from lore_etl.stores.chroma.local import EmbeddedChroma
from lore_etl.stores.chroma.vector_store import VectorStore
from lore_server.evaluation.bench import Bench, scratch_index
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import EvaluationSet, Question, read_set
from lore_server.query.query_service import QueryService

SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 1.0)
TOLERANCE = 0.005
MEASURE = "ndcg@10"


def filling(index: Index, folder: Path) -> Iterator[float]:
    """Yield each share once the index has the vectors of that many chunks, in a temporary store."""
    chunks = most_useful_first(index.catalogue.chunk_keys(), index.catalogue.users_by_file())
    store = VectorStore(EmbeddedChroma(folder, index.settings.database))
    index.use(store)
    index.catalogue.mark_vectors([chunk.id for chunk in chunks], present=False)
    filler = Filler(index, SyncReport(), silent)
    done = 0
    for share in SHARES:
        some = chunks[done : int(share * len(chunks))]
        filler.fill(store, some, mark=True)
        done += len(some)
        yield share


def values(folder: Path, number: int) -> tuple[float, dict[float, float]]:
    """Return the value of keywords alone, and that of the hybrid at each share."""
    chosen = read_set(folder, None)
    questions = chosen.questions[:number]
    with tempfile.TemporaryDirectory() as place, scratch_index(chosen.name, Settings()) as index:
        sources, _ = load_records(index, chosen.records or ())
        ids = {source: id_ for id_, source in sources.items()}
        bench = Bench(QueryService(index), index.settings, lambda result: ids.get(result.source))
        found = {share: _mean(bench, chosen, questions, "hybrid") for share in filling(index, Path(place) / "vectors")}
        return _mean(bench, chosen, questions, "keywords"), found


def _mean(bench: Bench, chosen: EvaluationSet, questions: Sequence[Question], ranking: str) -> float:
    runs = bench.runs(bench.rank(bench.retrieve(questions), ranking))
    judged = {question.id: chosen.judgements[question.id] for question in questions}
    return fmean(per_question(judged, runs)[MEASURE].values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", type=Path)
    parser.add_argument("names", nargs="*", default=["aiohttp", "kit", "cosqa"])
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    print("| set | keywords | " + " | ".join(f"{share:.0%}" for share in SHARES) + " | worse than keywords |")
    print("|---" * (len(SHARES) + 3) + "|")
    for name in options.names:
        keywords, found = values(options.sets / name, options.questions)
        worse = [f"{share:.0%}" for share, value in found.items() if value < keywords - TOLERANCE]
        cells = [f"{keywords:.3f}", *(f"{value:.3f}" for value in found.values()), ", ".join(worse) or "nowhere"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
