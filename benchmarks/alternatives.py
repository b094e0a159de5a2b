"""Compare Lore with alternatives on the same chunks, model and run: `python -m benchmarks.alternatives SETS [NAME …]`.

SETS is a folder with public sets in BEIR's format, NAME the sets to use (default: aiohttp and kit). The script installs
the alternatives in a separate environment, in the versions of `alternatives.txt`; `--environment DIR` keeps it for the
next run. Lore runs first, with nothing cached, and the others index its chunks, with their exact input for the model.
The times of Lore include reading, chunking and searching for secrets; those of the others do not. No time includes
imports or loading the model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.synthetic import own_folders
from lore_etl.chunking.fit import embedding_input
from lore_etl.config.settings import Settings
from lore_etl.core.progress import silent
from lore_etl.files.redaction import redact
from lore_etl.index import Index
from lore_etl.pipeline.corpus import load_records
from lore_server.evaluation.measures import per_question
from lore_server.evaluation.sets import EvaluationSet, read_set
from lore_server.query.query_service import QueryService

CHILD = Path(__file__).with_name("alternatives_child.py")
REQUIREMENTS = Path(__file__).with_name("alternatives.txt")
SETS = ("aiohttp", "kit")
LORE = "Lore"
LABELS = {
    "plain": "sentence-transformers and Chroma, a plain loop",
    "llama_index": "LlamaIndex, Chroma and BM25 fused by ranks",
    "txtai": "txtai, hybrid",
}
Measured = dict[str, Any]


def environment(folder: Path, requirements: Path = REQUIREMENTS) -> Path:
    """Install the required packages, unless the folder has them, and return their interpreter."""
    interpreter = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    mark = folder / "installed"
    if not mark.exists() or mark.read_text(encoding="utf-8") != requirements.read_text(encoding="utf-8"):
        venv.create(folder, with_pip=True)
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "--requirement", requirements], check=True)
        mark.write_text(requirements.read_text(encoding="utf-8"), encoding="utf-8")
    return interpreter


def lore(chosen: EvaluationSet, folder: Path) -> tuple[Measured, list[tuple[str, str]], dict[str, str]]:
    """Measure Lore; also return its chunks with their input for the model, and the document of each chunk."""
    settings = Settings()
    database = settings.database.in_this_process()
    index_settings = settings.index.model_copy(update={"path": "index"})
    own = settings.model_copy(update={"index": index_settings, "database": database})
    with closing(Index(folder / chosen.name, own)) as index:
        index.own()
        index.prepare_model(silent)
        index.embedder.embed([redact("warm up")[0]])
        wall, processor = time.perf_counter(), time.process_time()
        sources, _ = load_records(index, chosen.records or ())
        found: Measured = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - processor}
        ids = {source: document for document, source in sources.items()}
        queries = QueryService(index)
        queries.find("warm up")
        runs, walls, processors = {}, [], []
        for question in chosen.questions:
            wall, processor = time.perf_counter(), time.process_time()
            ranked = queries.find(question.text).ranked
            walls.append(1000 * (time.perf_counter() - wall))
            processors.append(1000 * (time.process_time() - processor))
            runs[question.id] = list(dict.fromkeys(ids[result.source] for result in ranked if result.source in ids))
        chunks = list(index.catalogue.every_chunk())
    found |= {"runs": runs, "query_wall": walls, "query_cpu": processors}
    return found, [(chunk.id, embedding_input(chunk)) for chunk in chunks], {c.id: ids[c.source] for c in chunks}


def alternative(name: str, interpreter: Path, given: Path, documents: dict[str, str]) -> Measured:
    """Measure an alternative in a child process."""
    output = given.with_name(f"{name}.json")
    subprocess.run([interpreter, CHILD, name, given, output], check=True, stdout=sys.stderr)
    found: Measured = json.loads(output.read_text(encoding="utf-8"))
    found["runs"] = {
        question: list(dict.fromkeys(documents[id_] for id_ in chunks)) for question, chunks in found["runs"].items()
    }
    return found


def figures(found: Measured, chosen: EvaluationSet, chunks: int) -> dict[str, float]:
    """Return the figures of a measurement that the table shows."""
    ndcg = per_question(chosen.judgements, found["runs"])["ndcg@10"]
    middle = len(found["query_wall"]) // 2
    return {
        "chunks": chunks,
        "wall": found["wall"],
        "cpu": found["cpu"],
        "query": sorted(found["query_wall"])[middle],
        "query_cpu": sorted(found["query_cpu"])[middle],
        "ndcg": mean(ndcg.values()),
    }


def compare(folder: Path, interpreter: Path, temporary: Path) -> dict[str, dict[str, float]]:
    """Return the figures of Lore and of each alternative on a set."""
    chosen = read_set(folder)
    measured, chunks, documents = lore(chosen, temporary)
    found = {LORE: figures(measured, chosen, len(chunks))}
    given = temporary / f"{chosen.name}.json"
    questions = [(question.id, question.text) for question in chosen.questions]
    given.write_text(json.dumps({"chunks": chunks, "questions": questions}), encoding="utf-8")
    for name, label in LABELS.items():
        measured = alternative(name, interpreter, given, documents)
        found[label] = figures(measured, chosen, len(chunks))
    return found


def table(every: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """Return the table of all sets."""
    lines = [
        "| set | system | indexing: wall, processor | query p50: wall, processor | nDCG@10 |",
        "|---|---|---|---|---|",
    ]
    for name, found in every.items():
        for label, values in found.items():
            lines.append(
                f"| {name}, {values['chunks']:,.0f} chunks | {label} | {values['wall']:.0f} s, {values['cpu']:.0f} s "
                f"| {values['query']:.0f}, {values['query_cpu']:.0f} ms | {values['ndcg']:.3f} |"
            )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sets", type=Path)
    options.add_argument("names", nargs="*", default=SETS)
    options.add_argument("--environment", type=Path, help="where the environment of the alternatives is kept")
    options.add_argument("--json", type=Path, help="a file for the figures")
    values = options.parse_args()
    every = {}
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name)
        own_folders(temporary)
        interpreter = environment((values.environment or temporary / "environment").resolve())
        for set_name in values.names:
            every[set_name] = compare(values.sets / set_name, interpreter, temporary)
            if values.json:
                values.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(every)))


if __name__ == "__main__":
    main()
