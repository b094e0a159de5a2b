"""A compiled cross-encoder, without torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lore_etl.models.graph import Graph


class OnnxCrossEncoder:
    """Scores of a cross-encoder that was compiled to ONNX, its activation included."""

    def __init__(self, name: str, folder: Path, threads: int = 0) -> None:
        self.name = name
        info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
        self._prompt = info["prompt"]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(**info["truncation"])
        self._tokenizer.no_padding()
        self._graph = Graph(folder, info["padding"], threads)

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return a number per passage, shape (len(passages),); higher is more relevant."""
        if not passages:
            return np.empty(0, dtype=np.float32)
        pairs = [(self._prompt + query, passage) for passage in passages]
        return self._graph.run(self._tokenizer.encode_batch(pairs))
