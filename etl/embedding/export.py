"""Compile a sentence-transformers model to ONNX: `python -m etl.embedding.export MODEL FOLDER`.

Importing sentence-transformers takes seconds and hundreds of megabytes, so this runs once, in a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.export import Dim

TOLERANCE = 1e-4
SAMPLES = ["x", "How does a worker shut down?", "def run(self): return self._jobs.pop()", "word " * 600]


class _Whole(torch.nn.Module):  # type: ignore[misc]
    """The model's modules in a row, from token ids to the sentence's vector of length 1."""

    def __init__(self, model: SentenceTransformer, names: list[str]) -> None:
        super().__init__()
        self.steps = torch.nn.ModuleList(model.children())
        self.names = names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        features: dict[str, Any] = dict(zip(self.names, inputs, strict=True))
        for step in self.steps:
            features = step(features)
        vector: torch.Tensor = features["sentence_embedding"]
        return torch.nn.functional.normalize(vector, p=2, dim=1)


def export(origin: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `info.json`, checked against the original's vectors."""
    model = SentenceTransformer(origin, device="cpu")
    model.eval()
    building = folder.with_name(f"{folder.name}.{os.getpid()}.tmp")
    building.mkdir(parents=True)
    try:
        names = _write_graph(model, building / "model.onnx")
        model.tokenizer.backend_tokenizer.save(str(building / "tokenizer.json"))
        info = {
            "dimension": int(model.encode(["x"]).shape[1]),
            "max_tokens": int(model.max_seq_length or 512),
            "inputs": names,
            "pad_id": int(model.tokenizer.pad_token_id or 0),
            "pad_token": str(model.tokenizer.pad_token or "[PAD]"),
            "query_prompt": (model.prompts or {}).get("query") or "",
            "digest": _digest(building),
        }
        (building / "info.json").write_text(json.dumps(info), encoding="utf-8")
        _check(model, building)
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _write_graph(model: SentenceTransformer, path: Path) -> list[str]:
    sample = model.tokenizer(["one text", "another and longer text"], padding=True, return_tensors="pt")
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in sample]
    shape = {0: Dim("batch", min=1, max=4096), 1: Dim("length", min=2, max=int(model.max_seq_length or 512))}
    torch.onnx.export(
        _Whole(model, names),
        tuple(sample[name] for name in names),
        str(path),
        input_names=names,
        output_names=["vector"],
        dynamic_shapes=(tuple(shape for _ in names),),
        dynamo=True,
        external_data=False,
    )
    return names


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in ("model.onnx", "tokenizer.json"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _check(model: SentenceTransformer, folder: Path) -> None:
    from etl.embedding.models import PreparedModel
    from etl.embedding.onnx import OnnxEmbedder

    info = json.loads((folder / "info.json").read_text(encoding="utf-8"))
    served = OnnxEmbedder(PreparedModel(folder, "check", info["dimension"], info["max_tokens"], "check"), threads=1)
    expected = model.encode(SAMPLES, normalize_embeddings=True)
    difference = float(np.abs(served.embed(SAMPLES) - expected).max())
    if difference > TOLERANCE:
        raise SystemExit(f"the compiled model differs from the original by {difference:.1e}")


if __name__ == "__main__":
    export(sys.argv[1], Path(sys.argv[2]))
