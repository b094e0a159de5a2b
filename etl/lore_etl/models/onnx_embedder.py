"""A compiled model as an embedder, without torch."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from lore_etl.chunking.tokens import TokenCounter
from lore_etl.models.embedder import Vectors
from lore_etl.models.graph import Graph
from lore_etl.models.prepared import PreparedModel


class OnnxEmbedder:
    """Vectors of a model that was compiled to ONNX."""

    def __init__(self, model: PreparedModel, threads: int = 0) -> None:
        self.name, self.fingerprint, self.dimension = model.name, model.fingerprint, model.dimension
        info = json.loads((model.folder / "info.json").read_text(encoding="utf-8"))
        self._query_prompt = info["query_prompt"]
        self._file = str(model.folder / "tokenizer.json")
        self._max_tokens = model.max_tokens
        self._tokenizer = Tokenizer.from_file(self._file)
        self._tokenizer.enable_truncation(model.max_tokens)
        self._tokenizer.no_padding()
        self._graph = Graph(model.folder, {"pad_id": info["pad_id"], "pad_token": info["pad_token"]}, threads)

    def tokens(self) -> TokenCounter:
        """Return the counter of the model's own tokens."""
        return TokenCounter(Tokenizer.from_file(self._file), self._max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of documents, shape (len(texts), dimension)."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._graph.run(self._tokenizer.encode_batch(list(texts)))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query, shape (dimension,)."""
        vector: Vectors = self._graph.run([self._tokenizer.encode(self._query_prompt + text)])[0]
        return vector
