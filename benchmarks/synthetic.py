"""Projects of any size for benchmarks: files of Lore's own words, and vectors around those of Lore's own documentation.

No model is needed for the vectors of chunks, so that a large index is built in minutes. A vector depends only on the
hash of its text: its direction is that of a paragraph of the documentation, with noise.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.before_after import SETTLED_SECONDS
from benchmarks.unified import vocabulary
from lore_etl.config.settings import Settings
from lore_etl.index import Index
from lore_etl.models.embedder import Vectors
from lore_etl.pipeline.sync import create_only
from tests.harness.models import own_cache
from tests.harness.projects import ROOT

CHUNKS = 10  # of a file
SENTENCES, WORDS = 5, 14
CENTRES, NOISE = 300, 0.9  # the noise has .9 times the length of the vector: the cosine to the centre is about .74
PORTION = 10_000  # vectors in memory at once
SHORTEST = 80  # characters of a paragraph


def write_tree(root: Path, files: range) -> None:
    """Write these files of the project: half Markdown, half Python, ten chunks each."""
    words = vocabulary()
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    tree = {}
    for number in files:
        chance = random.Random(number)
        folder = f"area{number % 40}"
        texts = [_sentences(chance, words, weights) for _ in range(CHUNKS)]
        if number % 2:
            methods = (f'    def method{n}(self) -> None:\n        """{text}"""\n' for n, text in enumerate(texts))
            base = f"part{number // 4 * 2 + 1}"
            is_child = base != f"part{number}"
            head = f"from parts import {base.title()}\n\n\n" if is_child else ""
            bases = f"({base.title()})" if is_child else ""
            tree[f"{folder}/part{number}.py"] = f"{head}class Part{number}{bases}:\n" + "\n".join(methods)
        else:
            parts = (f"## Section {n}\n\n{text}\n" for n, text in enumerate(texts))
            tree[f"{folder}/page{number}.md"] = f"# Page {number}\n\n" + "\n".join(parts)
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    time.sleep(SETTLED_SECONDS)


def _sentences(chance: random.Random, words: list[str], weights: list[float]) -> str:
    lines = (" ".join(chance.choices(words, weights, k=WORDS)).capitalize() + "." for _ in range(SENTENCES))
    return "\n".join(lines)


def questions(count: int) -> list[str]:
    """Return different questions in the words of paragraphs of Lore's documentation."""
    chance, found = random.Random(3), []
    for paragraph in chance.choices(_paragraphs(), k=count):
        words = re.findall(r"[A-Za-z]+", paragraph)
        start = chance.randrange(max(1, len(words) - 8))
        found.append("how " + " ".join(words[start : start + 7]))
    return found


def centres(index: Index) -> Vectors:
    """Return the vectors of up to `CENTRES` paragraphs of Lore's documentation."""
    paragraphs = _paragraphs()
    return index.embedder.embed(random.Random(5).sample(paragraphs, min(CENTRES, len(paragraphs))))


def vectors(hashes: list[str], around: Vectors) -> Vectors:
    """Return the vector of each text by its hash: always the same."""
    found = np.empty((len(hashes), around.shape[1]), dtype=np.float32)
    scale = NOISE / np.sqrt(around.shape[1])
    for place, content_hash in enumerate(hashes):
        chance = np.random.default_rng(int(content_hash[:16], 16))
        found[place] = around[chance.integers(len(around))] + scale * chance.standard_normal(around.shape[1])
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def extract(index: Index, around: Vectors) -> tuple[float, float]:
    """Read the project, and give each new chunk a vector in the cache; return wall and processor time of reading."""
    wall, processor = time.perf_counter(), time.process_time()
    create_only(index)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    keys = index.catalogue.chunk_keys()
    hashes = {key.content_hash for key in keys} - {key.content_hash for key in keys if key.has_vector}
    for some in _portions(sorted(hashes)):
        index.cache.add(some, vectors(some, around))
    return wall, processor


def own_folders(folder: Path) -> None:
    """Keep Lore's folders of this user out of the benchmark, except for its models."""
    for name in ("LORE_HOME", "LORE_STATE", "LORE_RUNTIME"):
        os.environ[name] = str(folder / name)
    cache = folder / "cache"
    os.environ["LORE_CACHE"] = str(cache if cache.exists() else own_cache(cache))


def build(root: Path, files: int) -> None:
    """Write a project and read it, so that a sync only has to fill the stores."""
    write_tree(root, range(files))
    with closing(Index(root, Settings())) as index:
        extract(index, centres(index))


def _portions(hashes: list[str]) -> Iterator[list[str]]:
    return (hashes[start : start + PORTION] for start in range(0, len(hashes), PORTION))


def _paragraphs() -> list[str]:
    pages = (page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))
    parts = (" ".join(part.split()) for page in pages for part in page.split("\n\n"))
    return [part for part in parts if len(part) > SHORTEST and part[0].isalpha()]
