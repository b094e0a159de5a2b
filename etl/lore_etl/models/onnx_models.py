"""Compiled models served by ONNX Runtime: no torch, ready in a fraction of a second."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from lore_etl.chunking.tokens import TokenCounter, token_counter
from lore_etl.models.model_cache import RERANKER, PreparedModel, compile_once
from lore_etl.system.processes import cpu_count

BATCH_TOKENS = 512  # larger batches were slower, since a core cannot cache them, and took more memory


class OnnxEmbedder:
    """Vectors of a model that was compiled to ONNX."""

    def __init__(self, model: PreparedModel, threads: int = 0) -> None:
        self.name, self.fingerprint, self.dimension = model.name, model.fingerprint, model.dimension
        info = json.loads((model.folder / "info.json").read_text(encoding="utf-8"))
        self._query_prompt = info["query_prompt"]
        self._model = model
        self._tokenizer = Tokenizer.from_file(str(model.tokenizer))
        self._tokenizer.enable_truncation(model.max_tokens)
        self._tokenizer.no_padding()
        padding = {"pad_id": info["pad_id"], "pad_token": info["pad_token"]}
        self._graph = Graph(model.folder, padding, threads, model.data)

    def tokens(self) -> TokenCounter:
        return token_counter(self._model.tokenizer, self._model.max_tokens)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._graph.run(self._tokenizer.encode_batch(list(texts)))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._graph.run([self._tokenizer.encode(self._query_prompt + text)])[0]
        return vector


class OnnxCrossEncoder:
    """Scores of a cross-encoder that was compiled to ONNX, including its activation."""

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


def open_cross_encoder(name: str, threads: int = 0) -> OnnxCrossEncoder:
    """Open `query.reranker`, compiled if necessary; 0 threads means one per core. Raises ConfigError, ProviderError."""
    return OnnxCrossEncoder(name, compile_once(name, RERANKER), threads)


class Graph:
    """Runs batches of similar length, one core each: the session runs in the calling thread."""

    def __init__(
        self, folder: Path, padding: Mapping[str, object], threads: int = 0, weights: Path | None = None
    ) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        graph: Path | bytes = folder / "model.onnx"
        if weights not in (None, folder):
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(weights))
            graph = (folder / "model.onnx").read_bytes()
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self._padding = dict(padding)
        self._pool = ThreadPoolExecutor(threads or cpu_count(), thread_name_prefix="onnx")

    def run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        """Return the graph's output for each text; there must be at least one."""
        order = sorted(range(len(encodings)), key=lambda n: len(encodings[n].ids))
        batches = [[encodings[n] for n in batch] for batch in _batches(order, encodings)]
        found = list(self._pool.map(self._run, batches)) if len(batches) > 1 else [self._run(batches[0])]
        outputs = np.empty((len(encodings), *found[0].shape[1:]), dtype=np.float32)
        outputs[order] = np.concatenate(found)
        return outputs

    def _run(self, batch: list[Encoding]) -> NDArray[np.float32]:
        length = max(2, *(len(encoding.ids) for encoding in batch))
        for encoding in batch:
            encoding.pad(length, **self._padding)
        inputs = {
            "input_ids": [encoding.ids for encoding in batch],
            "attention_mask": [encoding.attention_mask for encoding in batch],
            "token_type_ids": [encoding.type_ids for encoding in batch],
        }
        feed = {name: np.array(inputs[name], dtype=np.int64) for name in self._inputs}
        found: NDArray[np.float32] = self._session.run(None, feed)[0]
        return found


def _batches(order: list[int], encodings: Sequence[Encoding]) -> list[list[int]]:
    """Group consecutive texts into batches whose padded size stays under BATCH_TOKENS."""
    batches: list[list[int]] = []
    for number in order:
        length = len(encodings[number].ids)
        if batches and (len(batches[-1]) + 1) * length <= BATCH_TOKENS:
            batches[-1].append(number)
        else:
            batches.append([number])
    return batches
