"""A prepared model served by ONNX Runtime: no torch, ready in a fraction of a second."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from etl.chunking.tokens import TokenCounter
from etl.embedding.base import Vectors
from etl.embedding.models import PreparedModel

BATCH_TOKENS = 1024  # small batches of equal length fit the cache of a core; larger ones were slower


class OnnxEmbedder:
    """Batches of about equal length, one core each: the session runs in the calling thread."""

    def __init__(self, model: PreparedModel, threads: int = 0) -> None:
        self.name, self.fingerprint, self.dimension = model.name, model.fingerprint, model.dimension
        self._info = json.loads((model.folder / "info.json").read_text(encoding="utf-8"))
        self._file = str(model.folder / "tokenizer.json")
        self._max_tokens = model.max_tokens
        self._tokenizer = Tokenizer.from_file(self._file)
        self._tokenizer.enable_truncation(model.max_tokens)
        self._tokenizer.no_padding()
        cores = threads or len(os.sched_getaffinity(0))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        path = str(model.folder / "model.onnx")
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix="embed")

    def tokens(self) -> TokenCounter:
        """The counter of the model's own tokens."""
        return TokenCounter(Tokenizer.from_file(self._file), self._max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, shape (len(texts), dimension)."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        encodings = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(texts)), key=lambda n: len(encodings[n].ids))
        batches = list(_batches(order, encodings))
        for batch, found in zip(
            batches, self._pool.map(lambda b: self._run([encodings[n] for n in b]), batches), strict=True
        ):
            vectors[batch] = found
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dimension,)."""
        vector: Vectors = self._run([self._tokenizer.encode(self._info["query_prompt"] + text)])[0]
        return vector

    def _run(self, encodings: list[Encoding]) -> Vectors:
        length = max(2, *(len(one.ids) for one in encodings)) if encodings else 2
        ids = np.full((len(encodings), length), self._info["pad_id"], dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, one in enumerate(encodings):
            ids[row, : len(one.ids)], mask[row, : len(one.ids)] = one.ids, one.attention_mask
            types[row, : len(one.ids)] = one.type_ids
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        found: Vectors = self._session.run(None, {name: inputs[name] for name in self._info["inputs"]})[0]
        return found


def _batches(order: list[int], encodings: list[Encoding]) -> list[list[int]]:
    """Consecutive texts whose padded size stays under BATCH_TOKENS; at least one each."""
    batches: list[list[int]] = []
    for number in order:
        length = len(encodings[number].ids)
        if batches and (len(batches[-1]) + 1) * length <= BATCH_TOKENS:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches
