"""Compare sizes of the batches of the default model: `python -m benchmarks.model_batches [--package starlette]`.

Each size is measured in a separate process, on the same chunks. On a busy machine, only processor time and memory are
meaningful.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.main_job import package_copy, row
from benchmarks.synthetic import own_folders
from lore_etl.chunking.fit import embedding_input
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.models import onnx_models
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.pipeline.sync import create_only
from tests.harness.projects import ROOT

SIZES = (1024, 512, 384, 256)


def texts_of(package: str, folder: Path) -> list[str]:
    """Return the input of the model for every chunk of an installed package."""
    with closing(Index(package_copy(package, folder), Settings())) as index:
        create_only(index)
        return list({chunk.content_hash: embedding_input(chunk) for chunk in index.catalogue.every_chunk()}.values())


def embed(size: int, file: Path) -> None:
    """Embed the texts in batches of this size, and print processor time and memory."""
    onnx_models.BATCH_TOKENS = size
    texts = json.loads(file.read_text(encoding="utf-8"))
    model = ConfiguredModel(Settings().embedding).open()
    model.embed(["warm up"])
    before, processor = _peak(), time.process_time()
    model.embed(texts)
    print(json.dumps([time.process_time() - processor, _peak() - before]))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--package", default="starlette")
    options.add_argument("--limit", type=int, default=256, help="the number of chunks")
    options.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    values = options.parse_args()
    if values.size:
        embed(values.size, values.texts)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        own_folders(folder)
        file = folder / "texts.json"
        file.write_text(json.dumps(texts_of(values.package, folder)[: values.limit]), encoding="utf-8")
        for size in SIZES:
            command = [sys.executable, "-m", "benchmarks.model_batches", "--size", str(size), "--texts", str(file)]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
            seconds, memory = json.loads(done.stdout)
            row(f"{size} tokens", f"{seconds:.2f} s of processor time, {memory:.0f} MB above the peak of loading it")


if __name__ == "__main__":
    main()
