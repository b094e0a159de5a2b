"""Compile a sentence-transformers cross-encoder to ONNX: `python -m lore_etl.models.export_reranker MODEL FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder

from lore_etl.models.export import SAMPLES, TOLERANCE, building, write_graph, write_info
from lore_etl.models.model_cache import UNFIT
from lore_etl.models.onnx_models import OnnxCrossEncoder

MAX_TOKENS = 8192  # for models without a stated limit
PAIRS = [(SAMPLES[1], passage) for passage in (*SAMPLES, "")]


class Unfit(Exception):
    """The model is not a cross-encoder with a single score."""


def export(origin: str, folder: Path) -> None:
    """Write `model.onnx`, `tokenizer.json` and `info.json`, checked against the original's scores. Raises Unfit."""
    model = _trained(origin)
    limit = min(int(model.max_seq_length or MAX_TOKENS), MAX_TOKENS)
    activation = model.activation_fn

    def score(features: dict[str, Any]) -> torch.Tensor:
        scores: torch.Tensor = activation(features["scores"])
        return scores.flatten()

    with building(folder) as files:
        write_graph(model, model.preprocess(PAIRS[:2]), score, "score", limit, files)
        tokenizer = model.tokenizer
        tokenizer.backend_tokenizer.save(str(files / "tokenizer.json"))
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
        write_info(info, files)
        _check(model, files)


def _trained(origin: str) -> CrossEncoder:
    """Return the model if its files contain every weight, because missing weights would be random."""
    first = _loaded(origin, seed=0).predict(PAIRS)
    model = _loaded(origin, seed=1)
    if not np.allclose(first, model.predict(PAIRS), rtol=TOLERANCE, atol=TOLERANCE):
        raise Unfit("the model was not trained to score pairs: its files contain no weights for that")
    return model


def _loaded(origin: str, seed: int) -> CrossEncoder:
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


def _check(model: CrossEncoder, folder: Path) -> None:
    served, expected = OnnxCrossEncoder("check", folder, threads=1), model.predict(PAIRS)
    found = np.concatenate([served.score(query, [passage]) for query, passage in PAIRS])
    if not np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
        raise SystemExit(f"the compiled model differs from the original by {np.abs(found - expected).max():.1e}")


if __name__ == "__main__":
    try:
        export(sys.argv[1], Path(sys.argv[2]))
    except Unfit as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNFIT)
