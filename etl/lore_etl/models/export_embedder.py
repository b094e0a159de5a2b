"""Compile a sentence-transformers model to ONNX: `python -m lore_etl.models.export_embedder MODEL FOLDER`.

Importing sentence-transformers takes seconds and hundreds of megabytes, so this runs once, in a separate process.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from lore_etl.models.export import SAMPLES, TOLERANCE, building, write_graph, write_info
from lore_etl.models.model_cache import described
from lore_etl.models.onnx_models import OnnxEmbedder


def export(origin: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `info.json`, checked against the original's vectors."""
    model = SentenceTransformer(origin, device="cpu")
    model.eval()
    limit = int(model.max_seq_length or 512)
    sample = model.tokenizer(["one text", "another and longer text"], padding=True, return_tensors="pt")
    with building(folder) as files:
        names = write_graph(model, sample, _vector, "vector", limit, files)
        model.tokenizer.backend_tokenizer.save(str(files / "tokenizer.json"))
        info = {
            "dimension": int(model.encode(["x"]).shape[1]),
            "max_tokens": limit,
            "inputs": names,
            "pad_id": int(model.tokenizer.pad_token_id or 0),
            "pad_token": str(model.tokenizer.pad_token or "[PAD]"),
            "query_prompt": (model.prompts or {}).get("query") or "",
            "digest": _digest(model, files / "tokenizer.json"),
        }
        write_info(info, files)
        _check(model, files)


def _vector(features: dict[str, Any]) -> torch.Tensor:
    """Return the sentence's vector of length 1."""
    vector: torch.Tensor = features["sentence_embedding"]
    return torch.nn.functional.normalize(vector, p=2, dim=1)


def _digest(model: SentenceTransformer, tokenizer: Path) -> str:
    """Return a digest of the weights and the tokenizer, because compiled files differ between compilations."""
    digest = hashlib.sha256(tokenizer.read_bytes())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(torch.atleast_1d(tensor.detach().cpu()).contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _check(model: SentenceTransformer, folder: Path) -> None:
    served = OnnxEmbedder(described(folder), threads=1)
    expected = model.encode(SAMPLES, normalize_embeddings=True)
    difference = float(np.abs(served.embed(SAMPLES) - expected).max())
    if not difference <= TOLERANCE:
        raise SystemExit(f"the compiled model differs from the original by {difference:.1e}")


if __name__ == "__main__":
    export(sys.argv[1], Path(sys.argv[2]))
