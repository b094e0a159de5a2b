"""Compile a model to ONNX: `python -m lore_etl.models.export KIND MODEL FOLDER`; KIND is `embedder` or `reranker`.

Importing sentence-transformers takes seconds and hundreds of megabytes, so this runs once, in a separate process.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from torch.export import Dim

from lore_etl.models.model_cache import UNFIT, read_model
from lore_etl.models.onnx_models import OnnxCrossEncoder, OnnxEmbedder

TOLERANCE = 1e-4
SAMPLES = ["x", "How does a worker shut down?", "def run(self): return self._jobs.pop()", "word " * 600]
PAIRS = [(SAMPLES[1], passage) for passage in (*SAMPLES, "")]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
ONE_FILE_BYTES = 1_500_000_000  # protobuf is limited to 2 GB; the weights of larger models are in a separate file
INFO = "info.json"  # its presence marks a model as complete, so it is written last
MAX_TOKENS = 8192  # for cross-encoders without a stated limit


class Unfit(Exception):
    """The model is not a cross-encoder with a single score."""


def export_embedder(origin: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `info.json`, checked against the original's vectors."""
    model = SentenceTransformer(origin, device="cpu")
    model.eval()
    limit = int(model.max_seq_length or 512)
    sample = model.tokenizer(["one text", "another and longer text"], padding=True, return_tensors="pt")
    with _building(folder) as files:
        names = _write_graph(model, sample, _vector, "vector", limit, files)
        info = {
            "dimension": int(model.encode(["x"]).shape[1]),
            "max_tokens": limit,
            "inputs": names,
            "pad_id": int(model.tokenizer.pad_token_id or 0),
            "pad_token": str(model.tokenizer.pad_token or "[PAD]"),
            "query_prompt": (model.prompts or {}).get("query") or "",
            "digest": _digest(model, files / "tokenizer.json"),
        }
        (files / INFO).write_text(json.dumps(info), encoding="utf-8")
        served = OnnxEmbedder(read_model(files), threads=1).embed(SAMPLES)
        difference = float(np.abs(served - model.encode(SAMPLES, normalize_embeddings=True)).max())
        if not difference <= TOLERANCE:
            raise SystemExit(f"the compiled model differs from the original by {difference:.1e}")


def export_reranker(origin: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `info.json`, checked against the original's scores. Raises Unfit."""
    model = _trained(origin)
    limit = min(int(model.max_seq_length or MAX_TOKENS), MAX_TOKENS)
    activation = model.activation_fn

    def score(features: dict[str, Any]) -> torch.Tensor:
        scores: torch.Tensor = activation(features["scores"])
        return scores.flatten()

    with _building(folder) as files:
        _write_graph(model, model.preprocess(PAIRS[:2]), score, "score", limit, files)
        tokenizer = model.tokenizer
        info = {
            "prompt": model.prompts.get(model.default_prompt_name) or "",
            "truncation": {"max_length": limit, "strategy": "longest_first", "direction": tokenizer.truncation_side},
            "padding": {
                "direction": tokenizer.padding_side,
                "pad_id": int(tokenizer.pad_token_id or 0),
                "pad_type_id": int(tokenizer.pad_token_type_id),
                "pad_token": str(tokenizer.pad_token or "[PAD]"),
            },
        }
        (files / INFO).write_text(json.dumps(info), encoding="utf-8")
        served, expected = OnnxCrossEncoder("check", files, threads=1), model.predict(PAIRS)
        found = np.concatenate([served.score(query, [passage]) for query, passage in PAIRS])
        if not np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
            raise SystemExit(f"the compiled model differs from the original by {np.abs(found - expected).max():.1e}")


class _Steps(torch.nn.Module):  # type: ignore[misc]
    """A model's modules in sequence, from token ids to the output of `finish`."""

    def __init__(
        self, model: torch.nn.Module, names: list[str], finish: Callable[[dict[str, Any]], torch.Tensor]
    ) -> None:
        super().__init__()
        self.steps = torch.nn.ModuleList(model.children())
        self.names = names
        self.finish = finish

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        features: dict[str, Any] = dict(zip(self.names, inputs, strict=True))
        for step in self.steps:
            features = step(features)
        return self.finish(features)


@contextmanager
def _building(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `folder` at the end, or removed after an error."""
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_graph(
    model: torch.nn.Module,
    sample: Mapping[str, object],
    finish: Callable[[dict[str, Any]], torch.Tensor],
    output: str,
    max_tokens: int,
    folder: Path,
) -> list[str]:
    """Write the tokenizer and a graph for batches and texts of any length up to `max_tokens`; return its inputs."""
    model.tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    names = [name for name in INPUTS if name in sample]
    shape = {0: Dim("batch", min=1, max=4096), 1: Dim("length", min=2, max=max_tokens)}
    torch.onnx.export(
        _Steps(model, names, finish),
        tuple(sample[name] for name in names),
        str(folder / "model.onnx"),
        input_names=names,
        output_names=[output],
        dynamic_shapes=(tuple(shape for _ in names),),
        dynamo=True,
        external_data=sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
        > ONE_FILE_BYTES,
    )
    return names


def _vector(features: dict[str, Any]) -> torch.Tensor:
    vector: torch.Tensor = features["sentence_embedding"]
    return torch.nn.functional.normalize(vector, p=2, dim=1)


def _digest(model: SentenceTransformer, tokenizer: Path) -> str:
    """Return a digest of the weights and the tokenizer, because compiled files differ between compilations."""
    digest = hashlib.sha256(tokenizer.read_bytes())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(torch.atleast_1d(tensor.detach().cpu()).contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _trained(origin: str) -> CrossEncoder:
    """Return the model if its files contain every weight, because missing weights would be random."""
    first = _load_cross_encoder(origin, seed=0).predict(PAIRS)
    model = _load_cross_encoder(origin, seed=1)
    if not np.allclose(first, model.predict(PAIRS), rtol=TOLERANCE, atol=TOLERANCE):
        raise Unfit("the model was not trained to score pairs: its files contain no weights for that")
    return model


def _load_cross_encoder(origin: str, seed: int) -> CrossEncoder:
    torch.manual_seed(seed)
    try:
        model = CrossEncoder(origin, device="cpu").float()
    except (OSError, ValueError) as error:
        raise Unfit(f"{origin} cannot be loaded: {' '.join(str(error).split())[:240]}") from error
    if "message" in model.modalities:
        raise Unfit("the model reads a conversation, not a pair of texts")
    if model.num_labels != 1:
        raise Unfit(f"the model gives {model.num_labels} labels, not a single score")
    model.eval()
    return model


if __name__ == "__main__":
    export = {"embedder": export_embedder, "reranker": export_reranker}[sys.argv[1]]
    try:
        export(sys.argv[2], Path(sys.argv[3]))
    except Unfit as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNFIT)
